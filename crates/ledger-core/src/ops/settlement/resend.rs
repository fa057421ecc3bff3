//! Sending a bank's file again. Two people approve it, in one transaction that makes the settlement due once more;
//! its saga puts the file, of the same name and bytes, and writes down that it did. One at a time: while one is on
//! its way neither another is approved nor the transfer booked as returned.

use super::record::Settlement;
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{PayoutRequestId, Tenant};
use crate::keys::{self, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, TransactItem, Transaction};

/// Whose approval is on its way.
pub(super) const RESEND_ID: &str = "resend_id";
/// When a file was put last that was sent again.
pub(super) const RESENT_AT: &str = "resent_at";

/// The file is to be put once more, at once. Another run than any before: a state machine takes each once only.
pub(super) fn approved(tenant: &Tenant, settlement: &Settlement, id: PayoutRequestId, now: Timestamp) -> TransactItem {
    let update = Update::new()
        .add("runs", "one", Value::int(1))
        .set(RESEND_ID, "resend", Value::s(id))
        .set(attr::DUE_PK, "due_pk", Value::S(settlement.due_partition(tenant)))
        .set(attr::DUE_SK, "due_sk", Value::S(keys::due_from(now, settlement.id)));
    settlement.changed(tenant, update, now)
}

/// The file has been put.
///
/// # Errors
/// [`BuildError`], which this form never gives.
pub fn resent(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = Update::new()
        .set(RESENT_AT, "ua", Value::s(now))
        .remove(RESEND_ID)
        .remove("stuck_at")
        .remove(attr::DUE_PK)
        .remove(attr::DUE_SK);
    Transaction::unkeyed(vec![settlement.changed(tenant, update, now)])
}

/// Whether a file is on its way is as it was seen, of a settlement that has one.
pub(super) fn as_seen(settlement: &Settlement) -> Option<Clause> {
    let condition = match settlement.resend {
        Some(id) => Condition::compare(RESEND_ID, crate::dynamo::Cmp::Eq, "seen_resend", Value::s(id)),
        None if super::asked::is_paid_by_file(settlement) => Condition::absent(RESEND_ID),
        None => return None,
    };
    Some(Clause { condition, failure: Failure::StalePlan })
}
