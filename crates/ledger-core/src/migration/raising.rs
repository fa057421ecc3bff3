//! Raising the version of the records that a tenant's transactions write.

use crate::audit::Act;
use crate::dynamo::{Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, attr};
use crate::plan::Context;
use crate::terms::{RecordVersion, split_alone};
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};

/// Raises the version of the records that the tenant's transactions write, with an audit record. Caches see it within a
/// minute; until then writers of both versions work side by side.
///
/// Fails with `StalePlan` while the tenant migrates from a legacy model, and with `WrongState` if the tenant writes this
/// version or a later one.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn raise_records(
    tenant: &Tenant,
    to: RecordVersion,
    actor: Actor,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    // INVARIANT: the version is only ever raised. A release that does not know it reads only a part of what it writes.
    let is_lower = to.is_above_the_present();
    let clauses = vec![
        exists(),
        Clause { condition: split_alone(), failure: Failure::StalePlan },
        Clause { condition: is_lower, failure: Failure::WrongState },
    ];
    let update = to.set(Update::new()).set(attr::UPDATED_AT, "now", Value::s(cx.now));
    let act = Act {
        actor,
        action: "records",
        subject: "tenant".to_owned(),
        reason: None,
        details: Item::from([("to".to_owned(), Value::s(to.number()))]),
    };
    Transaction::unkeyed(vec![
        TransactItem::update(Role::Config, keys::config(tenant), update, clauses),
        act.record(tenant, cx),
    ])
}
