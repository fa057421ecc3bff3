//! Changing the limits of one account.

use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::limits::{self, LimitChange, LimitTerms, OwnLimits};
use crate::money::Asset;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::split_alone;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};

/// A change of an account's own limits in one asset.
#[derive(Clone, Copy, Debug)]
pub struct AccountLimitsChange<'a> {
    /// The account.
    pub account: Account,
    /// The asset.
    pub asset: &'a Asset,
    /// The limits of the tenant; `None` if it has none.
    pub of_tenant: Option<&'a LimitTerms>,
    /// The limits that were read.
    pub seen: &'a OwnLimits,
    /// The rules to change.
    pub changes: &'a [LimitChange],
}

/// What the change of an account's limits reports.
#[derive(Clone, Debug)]
pub struct AccountLimitsReceipt {
    /// The account.
    pub account: Account,
    /// The asset.
    pub asset: Asset,
    /// The account's own limits from then on.
    pub limits: OwnLimits,
    /// The time of the change.
    pub at: Timestamp,
}

/// Changes an account's own limits in an asset from those that were read, with an audit record.
///
/// The tenant's configuration says that such accounts exist, so that plans are guarded on what they assume. Caches see it
/// within a minute. Fails with `WrongState` if the tenant has no limits, with `AccountMissing` if there is no such
/// account, and with `StalePlan` if its limits have changed since, or while the tenant migrates from a legacy model.
///
/// # Errors
/// [`PlanRefusal`] if the account cannot have limits.
pub fn plan_account_limits(
    tenant: &Tenant,
    change: AccountLimitsChange<'_>,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<AccountLimitsReceipt>, PlanRefusal> {
    let AccountLimitsChange { account, asset, of_tenant, seen, changes } = change;
    let (accounts, version) =
        (format!("{}.{}", limits::ATTRIBUTE, limits::ACCOUNTS), format!("{}.{}", limits::ATTRIBUTE, limits::VERSION));
    // A version of the terms may have limits where `CONFIG` has no attribute for what accounts have of their own.
    let is_first = of_tenant.is_some_and(|limits| !limits.is_stored());
    let (config, has_limits) = if is_first {
        let first =
            Item::from([(limits::ACCOUNTS.to_owned(), Value::Bool(true)), (limits::VERSION.to_owned(), Value::int(1))]);
        let none = Clause { condition: Condition::absent(limits::ATTRIBUTE), failure: Failure::StalePlan };
        (Update::new().set(limits::ATTRIBUTE, "limits", Value::M(first)), none)
    } else {
        let update =
            Update::new().add(version.clone(), "one", Value::int(1)).set(accounts, "accounts", Value::Bool(true));
        (update, Clause { condition: Condition::exists(version), failure: Failure::WrongState })
    };
    let config = config.set(attr::UPDATED_AT, "now", Value::s(cx.now));
    // INVARIANT: an account has limits of its own only if split records alone hold the tenant's customers. The legacy model
    // has no place for them.
    let is_split = Clause { condition: split_alone(), failure: Failure::StalePlan };
    let item = limited_item(tenant, account, asset);
    let (role, key) = item.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
    let after = changes.iter().fold(seen.clone(), OwnLimits::with);
    let update = Update::new().set(attr::UPDATED_AT, "now", Value::s(cx.now));
    let update = match after.text() {
        Some(text) => update.set(limits::OWN, "limits", Value::S(text)),
        None => update.remove(limits::OWN),
    };
    let as_read = match seen.text() {
        Some(text) => Condition::compare(limits::OWN, Cmp::Eq, "seen_limits", Value::S(text)),
        None => Condition::absent(limits::OWN),
    };
    let clauses = vec![exists(), Clause { condition: as_read, failure: Failure::StalePlan }];
    let act = limits_changed(actor, account, asset, changes).because(reason);
    let items = vec![
        TransactItem::update(Role::Config, keys::config(tenant), config, vec![exists(), is_split, has_limits]),
        TransactItem::update(role, key, update, clauses),
        act.record(tenant, cx),
    ];
    let receipt = AccountLimitsReceipt { account, asset: asset.clone(), limits: after, at: cx.now };
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}

/// The item that has an account's own limits in an asset; `None` if the account has no limits.
#[must_use]
pub fn limited_item(tenant: &Tenant, account: Account, asset: &Asset) -> Option<(Role, Key)> {
    match account {
        Account::Customer(id) => Some((Role::Payer, Partition::customer(tenant, id).balance(asset))),
        Account::Card(id) => (*asset == Asset::Ecopay).then(|| (Role::Card, keys::card(tenant, id))),
        Account::Merchant(_) | Account::Tenant(_) => None,
    }
}

/// The act of changing an account's limits.
fn limits_changed<'a>(actor: Actor, account: Account, asset: &Asset, changes: &[LimitChange]) -> Act<'a> {
    let mut details = Item::from([("asset".to_owned(), Value::s(asset))]);
    details.extend(changes.iter().map(|change| (change.rule.to_string(), Value::S(change.value()))));
    Act { actor, action: Operation::AccountLimits.name(), subject: account.to_string(), reason: None, details }
}
