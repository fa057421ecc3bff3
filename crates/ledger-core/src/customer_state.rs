//! The stored state of a customer's wallet, in `PROFILE`.

use crate::dynamo::{Attributes, Cmp, Condition, Item, Value};

/// The attribute with the state: `active`, `frozen` or `closed`.
pub(crate) const STATUS: &str = "status";
/// The attribute with the number of the wallet's accounts.
pub(crate) const ACCOUNTS: &str = "accounts";
/// The status of a closed wallet. It is final.
pub const CLOSED: &str = "closed";

/// The states of a wallet in which accounts are opened.
const OPEN: [&str; 2] = ["active", "frozen"];

/// Whether a customer's `PROFILE` is that of a closed wallet.
#[must_use]
pub fn is_closed_wallet(profile: &Item) -> bool {
    closed_wallet().holds(Some(profile))
}

/// The condition that a `PROFILE` is that of a closed wallet.
pub(crate) fn closed_wallet() -> Condition {
    Condition::compare(STATUS, Cmp::Eq, "closed", Value::s(CLOSED))
}

/// Whether accounts of the wallet may be opened.
pub(crate) fn is_open_wallet(profile: &Item) -> bool {
    profile.text(STATUS).is_ok_and(|status| OPEN.contains(&status))
}
