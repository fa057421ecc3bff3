//! The cash room of a terminal: how much cash it may still take before its owner has to be trusted with more; and the
//! rooms to which settlements, and collections of a counter's cash, return what they cover.

use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::TerminalOwner;
use crate::keys::{Key, Partition, attr};
use crate::money::{Amount, Delta};
use crate::terminal_state::TerminalState;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem, exists};

/// The attribute of a terminal's `PROFILE` with its room, in yen. Absent: none was ever allotted.
pub(crate) const CASH_ROOM: &str = "cash_room";
/// The attribute with the time of its last change.
pub(crate) const CASH_ROOM_AT: &str = "cash_room_at";
/// The attribute of a counter's `PROFILE` with the cash that it took, did not return, and that was not collected, in yen.
pub(crate) const CASH_OUTSTANDING: &str = "cash_outstanding";

/// The attribute of a terminal's `PROFILE` with its kind. A till has none.
pub(crate) const TERMINAL_KIND: &str = "kind";
/// The kind of a counter of the operator, which has no `merchant_id`.
pub(crate) const COUNTER: &str = "counter";

/// The attribute of `CASH_ROOM` with what of the ceiling no terminal was allotted, in yen.
pub(crate) const UNALLOTTED: &str = "unallotted";
/// The attribute with what was covered and returned, in yen.
pub(crate) const COVERED: &str = "covered";

/// The terminals that may return cash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalGuard {
    /// An active one.
    Active,
    /// One in any state.
    AnyState,
}

/// Takes room for cash that the terminal takes. Fails with `CashRoomExceeded` without enough room, and with
/// `WrongState` if the terminal is not active or is another's.
#[must_use]
pub fn take_cash_room(terminal: &Partition, owner: TerminalOwner, cash: &Amount, now: Timestamp) -> TransactItem {
    let enough = Condition::compare(CASH_ROOM, Cmp::Ge, "room", Value::N(cash.text()));
    let mut clauses = active_terminal_of(owner);
    clauses.push(Clause { condition: enough, failure: Failure::CashRoomExceeded });
    moved(terminal.profile(), owner, &cash.debit(), clauses, now)
}

/// Gives the room back of cash that was returned. Fails with `WrongState` if the terminal is another's, or is not active
/// where it must be, and with `CashNotOutstanding` if a counter has less cash that was not collected.
#[must_use]
pub fn give_cash_room_back(
    terminal: &Partition,
    owner: TerminalOwner,
    (cash, guard): (&Amount, TerminalGuard),
    now: Timestamp,
) -> TransactItem {
    let mut clauses = match guard {
        TerminalGuard::Active => active_terminal_of(owner),
        TerminalGuard::AnyState => vec![exists(), owned_by(owner, Failure::WrongState)],
    };
    clauses.extend(holds_cash(owner, cash));
    moved(terminal.profile(), owner, &cash.credit(), clauses, now)
}

/// Takes cash that was collected off what is outstanding at a counter, in every state of it. Fails with
/// `CashNotOutstanding` if less is.
#[must_use]
pub(crate) fn collect_cash(counter: &Partition, cash: &Amount, now: Timestamp) -> TransactItem {
    let is_counter = Condition::compare(TERMINAL_KIND, Cmp::Eq, COUNTER, Value::s(COUNTER));
    let outstanding = Condition::compare(CASH_OUTSTANDING, Cmp::Ge, "cash", Value::N(cash.text()));
    let clauses = vec![
        exists(),
        Clause { condition: is_counter, failure: Failure::WrongState },
        Clause { condition: outstanding, failure: Failure::CashNotOutstanding },
    ];
    let update = Update::new().add(CASH_OUTSTANDING, "collected", Value::N(cash.debit().text()));
    let update = update.set(CASH_ROOM_AT, "at", Value::s(now));
    TransactItem::update(Role::CashRoom, counter.profile(), update, clauses)
}

/// Returns the room of cash that was covered, in the rooms of a merchant or of the operator: it is unallotted again.
// INVARIANT: a settlement returns what its records took and no other settlement returned, and a collection what was
// outstanding, so no owner has more than its ceiling. It has no guard: a payout that has left can always be booked.
pub(crate) fn return_cash_room(owner: &Partition, covered: &Amount, now: Timestamp) -> TransactItem {
    let update = Update::new()
        .add(UNALLOTTED, "unallotted", Value::N(covered.text()))
        .add(COVERED, "covered", Value::N(covered.text()))
        .set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::CashRoom, owner.cash_rooms(), update, Vec::new())
}

/// Changes a terminal's room.
pub(crate) fn changed(terminal: Key, room: &Delta, clauses: Vec<Clause>, now: Timestamp) -> TransactItem {
    TransactItem::update(Role::CashRoom, terminal, of_room(room, now), clauses)
}

/// Changes a terminal's room by cash. A counter also keeps how much of the cash was not collected.
fn moved(terminal: Key, owner: TerminalOwner, room: &Delta, clauses: Vec<Clause>, now: Timestamp) -> TransactItem {
    let update = match owner {
        TerminalOwner::Merchant(_) => of_room(room, now),
        TerminalOwner::Operator => {
            of_room(room, now).add(CASH_OUTSTANDING, "outstanding", Value::N(room.inverse().text()))
        }
    };
    TransactItem::update(Role::CashRoom, terminal, update, clauses)
}

fn of_room(room: &Delta, now: Timestamp) -> Update {
    Update::new().add(CASH_ROOM, "cash", Value::N(room.text())).set(CASH_ROOM_AT, "at", Value::s(now))
}

/// Requires that a terminal is this owner's.
// INVARIANT: no builder writes `merchant_id` or `kind` of a terminal a second time, so this never changes.
pub(crate) fn owned_by(owner: TerminalOwner, failure: Failure) -> Clause {
    let condition = match owner {
        TerminalOwner::Merchant(id) => Condition::compare("merchant_id", Cmp::Eq, "merchant_id", Value::s(id)),
        TerminalOwner::Operator => Condition::compare(TERMINAL_KIND, Cmp::Eq, TERMINAL_KIND, Value::s(COUNTER)),
    };
    Clause { condition, failure }
}

/// Requires of a counter that it has the cash: what was collected is not at the counter.
// INVARIANT: every reversal of a cash top-up at a counter has this clause, so `cash_outstanding` is never below zero.
fn holds_cash(owner: TerminalOwner, cash: &Amount) -> Option<Clause> {
    match owner {
        // The cash of a till is a debt of its merchant, and nothing of it is outstanding at the till.
        TerminalOwner::Merchant(_) => None,
        TerminalOwner::Operator => {
            let condition = Condition::compare(CASH_OUTSTANDING, Cmp::Ge, "returned", Value::N(cash.text()));
            Some(Clause { condition, failure: Failure::CashNotOutstanding })
        }
    }
}

fn active_terminal_of(owner: TerminalOwner) -> Vec<Clause> {
    let is_active = Condition::compare("state", Cmp::Eq, "state", Value::s(TerminalState::Active.name()));
    vec![exists(), owned_by(owner, Failure::WrongState), Clause { condition: is_active, failure: Failure::WrongState }]
}
