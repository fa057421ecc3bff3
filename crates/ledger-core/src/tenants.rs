//! A tenant's configuration: creating it, its terms, and the staged rollout of idempotency keys.

mod account_limits;
mod terms;

pub use account_limits::{AccountLimitsChange, AccountLimitsReceipt, limited_item, plan_account_limits};
pub(crate) use terms::approved_by;
pub use terms::{TermsBy, TermsChange, TermsRecord, plan_cancel_terms, plan_terms};

use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, Shards, attr};
use crate::plan::Context;
use crate::terms::{KeyPhase, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};

/// Writes a tenant's first configuration. Fails with `AlreadyExists` if it has one.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn open(tenant: &Tenant, terms: &TenantTerms, now: Timestamp) -> Result<Transaction, BuildError> {
    first_configuration(tenant, terms.item(), now)
}

/// Writes a tenant's first configuration from its attributes.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub(crate) fn first_configuration(tenant: &Tenant, mut item: Item, now: Timestamp) -> Result<Transaction, BuildError> {
    item.insert(attr::CREATED_AT.to_owned(), Value::s(now));
    item.insert("key_phase_since".to_owned(), Value::s(now));
    let key = keys::config(tenant);
    Transaction::unkeyed(vec![TransactItem::put_new(Role::Config, key, item, Failure::AlreadyExists)])
}

/// Changes the key phase from the one that was read. Caches see it within a minute.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn set_key_phase(
    tenant: &Tenant,
    from: KeyPhase,
    to: KeyPhase,
    actor: Actor,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let update = Update::new()
        .set("key_phase", "to", Value::s(to.name()))
        .set("key_phase_since", "now", Value::s(cx.now))
        .set(attr::UPDATED_AT, "now", Value::s(cx.now));
    let seen = Clause {
        condition: Condition::compare("key_phase", Cmp::Eq, "from", Value::s(from.name())),
        failure: Failure::StalePlan,
    };
    let act = Act {
        actor,
        action: "idempotency_phase",
        subject: "tenant".to_owned(),
        reason: None,
        details: Item::from([("from".to_owned(), Value::s(from.name())), ("to".to_owned(), Value::s(to.name()))]),
    };
    Transaction::unkeyed(vec![
        TransactItem::update(Role::Config, keys::config(tenant), update, vec![exists(), seen]),
        act.record(tenant, cx),
    ])
}

/// Raises the number of shards of the tenant's due work, with an audit record. Caches see it within a minute. Fails
/// with `WrongState` if the number is not above the present one.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn raise_due_shards(tenant: &Tenant, to: Shards, actor: Actor, cx: &Context) -> Result<Transaction, BuildError> {
    let count = Value::int(to.count().into());
    // INVARIANT: shards are only ever raised. Due index entries on a shard above the count would never be found.
    let lower = Clause {
        condition: Condition::compare("due_shards", Cmp::Lt, "shards", count.clone()),
        failure: Failure::WrongState,
    };
    let update = Update::new().set("due_shards", "shards", count).set(attr::UPDATED_AT, "now", Value::s(cx.now));
    let act = Act {
        actor,
        action: "due_shards",
        subject: "tenant".to_owned(),
        reason: None,
        details: Item::from([("to".to_owned(), Value::s(to.count()))]),
    };
    Transaction::unkeyed(vec![
        TransactItem::update(Role::Config, keys::config(tenant), update, vec![exists(), lower]),
        act.record(tenant, cx),
    ])
}
