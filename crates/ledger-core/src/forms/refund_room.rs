//! The refund room of a merchant: how much it may still refund before its settlements have covered what it refunded.

use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::keys::{Partition, attr};
use crate::money::{Amount, Delta};
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};

/// The attribute of a merchant's `REFUND_ROOM` with what it may still refund, in yen. Below zero only if payments of the
/// last minutes were reversed without room, or the operator refunded beyond it.
pub(crate) const ROOM: &str = "room";
/// The attribute with what it has refunded and no settlement has covered, in yen.
pub(crate) const OUTSTANDING: &str = "outstanding";

/// What a return requires of its merchant's refund room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomGuard {
    /// The room is enough for it.
    Enough,
    /// Nothing: it is taken, and later returns wait until settlements have covered it.
    None,
}

/// Takes room for what a merchant returns. Fails with `RefundRoomExceeded` without enough room.
#[must_use]
pub fn take_refund_room(merchant: &Partition, returned: &Amount, guard: RoomGuard, now: Timestamp) -> TransactItem {
    let clauses = match guard {
        RoomGuard::Enough => {
            let enough = Condition::compare(ROOM, Cmp::Ge, "room", Value::N(returned.text()));
            vec![Clause { condition: enough, failure: Failure::RefundRoomExceeded }]
        }
        RoomGuard::None => Vec::new(),
    };
    changed(merchant, &returned.debit(), clauses, now)
}

/// Returns the room of what a settlement has covered.
// INVARIANT: a settlement returns what its records took and no other settlement returned, so the room is never above the
// ceiling. It has no guard: a payout that has left can always be booked.
pub(crate) fn return_refund_room(merchant: &Partition, covered: &Amount, now: Timestamp) -> TransactItem {
    changed(merchant, &covered.credit(), Vec::new(), now)
}

fn changed(merchant: &Partition, room: &Delta, clauses: Vec<Clause>, now: Timestamp) -> TransactItem {
    let update = Update::new()
        .add(ROOM, "change", Value::N(room.text()))
        .add(OUTSTANDING, "outstanding", Value::N(room.inverse().text()))
        .set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::RefundRoom, merchant.refund_room(), update, clauses)
}
