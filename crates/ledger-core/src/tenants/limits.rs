//! Changing the limits of a tenant.

use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::limits::{self, Holder, LimitChange, LimitTerms};
use crate::money::Asset;
use crate::plan::Context;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};

/// Changes rules of the tenant's limits from those that were read, and whether a merchant above its limit of a day is
/// suspended, with an audit record. Caches see it within a minute.
///
/// Fails with `StalePlan` if they have changed since.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn set_limits(
    tenant: &Tenant,
    seen: Option<&LimitTerms>,
    (holder, asset): (Holder, &Asset),
    (changes, suspends): (&[LimitChange], Option<bool>),
    actor: Actor,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let before = seen.cloned().unwrap_or_else(LimitTerms::none);
    let before = suspends.map_or(before.clone(), |suspends| before.suspending(suspends));
    let after = changes.iter().fold(before, |terms, change| terms.with(holder, asset, change));
    let update = Update::new().set(limits::ATTRIBUTE, "limits", Value::M(after.next_item())).set(
        attr::UPDATED_AT,
        "now",
        Value::s(cx.now),
    );
    let as_read = match seen {
        Some(seen) => {
            let version = format!("{}.{}", limits::ATTRIBUTE, limits::VERSION);
            Condition::compare(version, Cmp::Eq, "seen_version", Value::int(seen.version().into()))
        }
        None => Condition::absent(limits::ATTRIBUTE),
    };
    let clauses = vec![exists(), Clause { condition: as_read, failure: Failure::StalePlan }];
    let act = limits_changed(actor, format!("tenant:{}", holder.name()), asset, changes);
    let act = suspends.map_or(act.clone(), |suspends| act.with("suspends", suspends));
    Transaction::unkeyed(vec![
        TransactItem::update(Role::Config, keys::config(tenant), update, clauses),
        act.record(tenant, cx),
    ])
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

/// The act of changing limits.
pub(super) fn limits_changed<'a>(actor: Actor, subject: String, asset: &Asset, changes: &[LimitChange]) -> Act<'a> {
    let mut details = Item::from([("asset".to_owned(), Value::s(asset))]);
    details.extend(changes.iter().map(|change| (change.rule.to_string(), Value::S(change.value()))));
    Act { actor, action: "limits", subject, reason: None, details }
}
