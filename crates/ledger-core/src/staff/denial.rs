//! Denied requests on the audit trail: at most [`DENIALS_PER_HOUR_MAX`] for each member and hour.

use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{Employer, StaffId, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::permission::Permission;
use crate::plan::Context;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};

/// The most denials of one person that are recorded in an hour (UTC). All are counted as a metric.
pub const DENIALS_PER_HOUR_MAX: i64 = 10;

const HOUR_S: i64 = 60 * 60;
/// The attribute that counts the recorded denials.
const RECORDED: &str = "recorded";

/// Records that a person lacked a permission. Fails with `LimitExceeded` if the hour's denials are recorded already.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn record_denial(
    tenant: &Tenant,
    (employer, id): (Employer, StaffId),
    permission: Permission,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let hour = cx.now.seconds().div_euclid(HOUR_S);
    let ttl = hour.saturating_add(2).saturating_mul(HOUR_S);
    let update = Update::new().add(RECORDED, "one", Value::int(1)).set(attr::TTL, "ttl", Value::int(ttl));
    let fewer = Condition::compare(RECORDED, Cmp::Lt, "max", Value::int(DENIALS_PER_HOUR_MAX));
    let clause = Clause { condition: Condition::absent(RECORDED).or(fewer), failure: Failure::LimitExceeded };
    let key = keys::denials(tenant, employer, id, hour);
    let act = Act::new(employer.actor(id), Operation::PermissionDenied, employer.subject(id))
        .with("permission", permission.name());
    Transaction::unkeyed(vec![TransactItem::update(Role::Denials, key, update, vec![clause]), act.record(tenant, cx)])
}
