//! Changing the limits of one account.

use super::setting::{ATTRIBUTE, CONTRACTED_AT};
use crate::account::Account;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, attr};
use crate::limits::{self, LimitChange, OwnLimits};
use crate::money::Asset;
use crate::plan::Context;
use crate::tenants::{limited_item, limits_changed};
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};

/// Changes an account's own limits in an asset from those that were read, with an audit record.
///
/// The tenant's configuration says that such accounts exist, so that plans are guarded on what they assume. Caches see it
/// within a minute. Fails with `WrongState` if the tenant has no limits, with `AccountMissing` if there is no such
/// account, and with `StalePlan` if its limits have changed since, or while the tenant migrates from a legacy model.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn set_account_limits(
    tenant: &Tenant,
    account: Account,
    asset: &Asset,
    seen: &OwnLimits,
    changes: &[LimitChange],
    actor: Actor,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let (accounts, version) =
        (format!("{}.{}", limits::ATTRIBUTE, limits::ACCOUNTS), format!("{}.{}", limits::ATTRIBUTE, limits::VERSION));
    let config = Update::new()
        .add(version.clone(), "one", Value::int(1))
        .set(accounts, "accounts", Value::Bool(true))
        .set(attr::UPDATED_AT, "now", Value::s(cx.now));
    // INVARIANT: an account has limits of its own only if split records alone hold the tenant's customers. The legacy model
    // has no place for them, and a migration that has ended never begins again.
    let is_split = Condition::absent(ATTRIBUTE).or(Condition::exists(format!("{ATTRIBUTE}.{CONTRACTED_AT}")));
    let is_split = Clause { condition: is_split, failure: Failure::StalePlan };
    let has_limits = Clause { condition: Condition::exists(version), failure: Failure::WrongState };
    let (role, key) = limited_item(tenant, account, asset).ok_or(BuildError::NoHome)?;
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
    let act = limits_changed(actor, account.to_string(), asset, changes);
    Transaction::unkeyed(vec![
        TransactItem::update(Role::Config, keys::config(tenant), config, vec![exists(), is_split, has_limits]),
        TransactItem::update(role, key, update, clauses),
        act.record(tenant, cx),
    ])
}
