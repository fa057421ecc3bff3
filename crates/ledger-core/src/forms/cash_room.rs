//! The cash room of a terminal: how much cash it may still take before its merchant has to be trusted with more; and the
//! rooms of a merchant to which settlements return what they cover.

use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::MerchantId;
use crate::keys::{Key, Partition, attr};
use crate::money::{Amount, Delta};
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem, exists};

/// The attribute of a terminal's `PROFILE` with its room, in yen. Absent: none was ever allotted.
pub(crate) const CASH_ROOM: &str = "cash_room";
/// The attribute with the time of its last change.
pub(crate) const CASH_ROOM_AT: &str = "cash_room_at";

/// The attribute of a merchant's `CASH_ROOM` with what of its ceiling no terminal was allotted, in yen.
pub(crate) const UNALLOTTED: &str = "unallotted";
/// The attribute with what settlements have covered and returned, in yen.
pub(crate) const COVERED: &str = "covered";

/// Takes room for cash that the terminal takes. Fails with `CashRoomExceeded` without enough room, and with
/// `WrongState` if the terminal is not active or is another merchant's.
#[must_use]
pub fn take_cash_room(terminal: &Partition, merchant: MerchantId, cash: &Amount, now: Timestamp) -> TransactItem {
    let enough = Condition::compare(CASH_ROOM, Cmp::Ge, "room", Value::N(cash.text()));
    let mut clauses = active_terminal_of(merchant);
    clauses.push(Clause { condition: enough, failure: Failure::CashRoomExceeded });
    changed(terminal.profile(), &cash.debit(), clauses, now)
}

/// Gives the room back of cash that the terminal has returned. Fails as [`take_cash_room`], except for the room.
#[must_use]
pub fn give_cash_room_back(terminal: &Partition, merchant: MerchantId, cash: &Amount, now: Timestamp) -> TransactItem {
    changed(terminal.profile(), &cash.credit(), active_terminal_of(merchant), now)
}

/// Returns the room of cash that a settlement has covered: it is unallotted again.
// INVARIANT: a settlement returns what its records took and no other settlement returned, so the merchant never has more
// than its ceiling. It has no guard: a payout that has left can always be booked.
pub(crate) fn return_cash_room(merchant: &Partition, covered: &Amount, now: Timestamp) -> TransactItem {
    let update = Update::new()
        .add(UNALLOTTED, "unallotted", Value::N(covered.text()))
        .add(COVERED, "covered", Value::N(covered.text()))
        .set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::CashRoom, merchant.cash_rooms(), update, Vec::new())
}

/// Changes a terminal's room.
pub(crate) fn changed(terminal: Key, room: &Delta, clauses: Vec<Clause>, now: Timestamp) -> TransactItem {
    let update = Update::new().add(CASH_ROOM, "cash", Value::N(room.text()));
    TransactItem::update(Role::CashRoom, terminal, update.set(CASH_ROOM_AT, "at", Value::s(now)), clauses)
}

fn active_terminal_of(merchant: MerchantId) -> Vec<Clause> {
    let is = |attribute: &'static str, value: Value| Clause {
        condition: Condition::compare(attribute, Cmp::Eq, attribute, value),
        failure: Failure::WrongState,
    };
    vec![exists(), is("merchant_id", Value::s(merchant)), is("state", Value::s("active"))]
}
