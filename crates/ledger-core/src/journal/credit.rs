//! What an entry says of the merchant that its seal credits, of cash, and of the refund room that it took.

use super::{BONUS_DUE, COUNTED};
use crate::dynamo::{Item, Value};

/// The attribute of an entry that says what its seal credits. Without it, the seal credits no merchant: the entry has no
/// posting of one, or its own transaction changes the merchant's balance.
pub(crate) const CREDITED_BY: &str = "credited_by";
/// The transaction that seals the entry credits its merchant.
pub(crate) const CREDITED_BY_SEAL: &str = "seal";

/// The same, of cash that the merchant owes, which has sums of its own. A value of its own, so that it is never taken for a
/// refund.
pub(crate) const CREDITED_BY_SEAL_AS_CASH: &str = "seal_cash";
/// The same, of a return that took from the refund room of the merchant, which has a sum of its own too.
pub(crate) const CREDITED_BY_SEAL_WITH_ROOM: &str = "seal_room";
/// The attribute of an entry, and of the record of a return, with the room that it took, in yen.
pub(crate) const REFUND_ROOM: &str = "refund_room";
/// The attribute of an entry, and of references to it, that says whose the cash is.
pub(crate) const CASH: &str = "cash";
/// The merchant owes it.
pub(crate) const CASH_IS_OWED: &str = "owed";
/// The merchant brought money for it.
pub(crate) const CASH_IS_DEPOSITED: &str = "deposited";
/// A counter of the operator took it: no merchant owes it.
pub(crate) const CASH_IS_AT_COUNTER: &str = "at_counter";
/// As [`CREDITED_BY_SEAL_AS_CASH`], of money that the merchant brought.
pub(crate) const CREDITED_BY_SEAL_AS_DEPOSIT: &str = "seal_deposit";

/// The attributes of an entry that references to it do not have: what was counted and what is due are the payer's own, and the
/// room the merchant's.
pub(crate) const OF_THE_ENTRY_ALONE: [&str; 3] = [COUNTED, REFUND_ROOM, BONUS_DUE];

/// What an entry with these details counts as, if its seal credits its merchant.
pub(crate) fn credited_by(details: &Item) -> &'static str {
    if details.get(CASH) == Some(&Value::s(CASH_IS_DEPOSITED)) {
        CREDITED_BY_SEAL_AS_DEPOSIT
    } else if details.contains_key(CASH) {
        CREDITED_BY_SEAL_AS_CASH
    } else if details.contains_key(REFUND_ROOM) {
        CREDITED_BY_SEAL_WITH_ROOM
    } else {
        CREDITED_BY_SEAL
    }
}
