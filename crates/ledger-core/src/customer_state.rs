//! The stored state of a customer's wallet, in `PROFILE`.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::ids::JobId;

/// The attribute with the state: `active`, `frozen` or `closed`.
pub(crate) const STATUS: &str = "status";
/// The attribute with the number of the wallet's accounts.
pub(crate) const ACCOUNTS: &str = "accounts";
/// The status of a wallet that is used.
pub(crate) const ACTIVE: &str = "active";
/// The status of a wallet that the operator has frozen.
const FROZEN: &str = "frozen";
/// The status of a closed wallet. It is final.
pub const CLOSED: &str = "closed";

/// The attribute with the time at which the customer was erased.
pub(crate) const ERASED_AT: &str = "erased_at";
/// The attribute with the id of the job that erases the customer's texts.
pub(crate) const ERASURE: &str = "erasure_id";

/// The states of a wallet in which accounts are opened.
pub(crate) const OPEN: [&str; 2] = [ACTIVE, FROZEN];
/// The states of a wallet.
pub(crate) const STATES: [&str; 3] = [ACTIVE, FROZEN, CLOSED];

/// Whether a customer's `PROFILE` is that of a closed wallet.
#[must_use]
pub fn is_closed_wallet(profile: &Item) -> bool {
    closed_wallet().holds(Some(profile))
}

/// The condition that a `PROFILE` is that of a closed wallet.
pub(crate) fn closed_wallet() -> Condition {
    Condition::compare(STATUS, Cmp::Eq, "closed", Value::s(CLOSED))
}

/// Whether a customer's `PROFILE` says that the customer was erased.
#[must_use]
pub fn is_erased(profile: &Item) -> bool {
    profile.contains_key(ERASED_AT)
}

/// The job that erases the texts of an erased customer; `None` if the customer was not erased.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn erasure_of(profile: &Item) -> Result<Option<JobId>, ItemError> {
    profile.opt_parsed(ERASURE, JobId::parse)
}

/// The condition that a customer was not erased: nothing that says who the customer is, is written again.
pub(crate) fn not_erased() -> Condition {
    Condition::absent(ERASED_AT)
}

/// Whether accounts of the wallet may be opened.
pub(crate) fn is_open_wallet(profile: &Item) -> bool {
    profile.text(STATUS).is_ok_and(|status| OPEN.contains(&status))
}
