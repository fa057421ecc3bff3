//! Sending a bank file again. A request that two people agreed on makes the settlement due once more. Its saga writes
//! the file, of the same name and bytes, and records that. During a resend, no other request about the file is
//! approved.

use super::record::Settlement;
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{PayoutRequestId, Tenant};
use crate::keys::attr;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, TransactItem, Transaction};

/// The attribute for the approved request whose resend is in progress.
pub(super) const RESEND_ID: &str = "resend_id";
/// The attribute for the time of the last resend.
pub(super) const RESENT_AT: &str = "resent_at";

/// Makes the file due to be written again at once. The number of runs grows, because a state machine accepts each
/// run's name once only.
pub(super) fn approved(tenant: &Tenant, settlement: &Settlement, id: PayoutRequestId, now: Timestamp) -> TransactItem {
    let update = Update::new().add("runs", "one", Value::int(1)).set(RESEND_ID, "resend", Value::s(id));
    settlement.changed(tenant, settlement.due(tenant, now).set(update), now)
}

/// Records that the file was written again.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn resent(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = Update::new()
        .set(RESENT_AT, "ua", Value::s(now))
        .remove(RESEND_ID)
        .remove("stuck_at")
        .remove(attr::DUE_PK)
        .remove(attr::DUE_SK);
    Transaction::unkeyed(vec![settlement.changed(tenant, update, now)])
}

/// Requires that the resend is as it was read, for a settlement that is paid by file.
pub(super) fn as_seen(settlement: &Settlement) -> Option<Clause> {
    let condition = match settlement.resend {
        Some(id) => Condition::compare(RESEND_ID, crate::dynamo::Cmp::Eq, "seen_resend", Value::s(id)),
        None if super::requests::is_paid_by_file(settlement) => Condition::absent(RESEND_ID),
        None => return None,
    };
    Some(Clause { condition, failure: Failure::StalePlan })
}
