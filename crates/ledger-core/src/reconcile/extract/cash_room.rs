//! Cash rooms: what terminals were allotted by their merchant or by the operator, the rooms that they have left, the cash
//! that they took, and what of a counter's was collected.

use super::journal::ReadEntry;
use super::{Observation, Observations, StoredItem, num, nums};
use crate::account::{Account, TenantAccount};
use crate::cash_rooms::{CashRooms, outstanding_of, room_changed_at, room_of};
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{CashCollectionId, MerchantId, TerminalId, TerminalOwner};
use crate::journal::HistoryLine;
use crate::journal::{
    CASH, CASH_IS_AT_COUNTER, CASH_IS_DEPOSITED, CASH_IS_OWED, CREDITED_BY, CREDITED_BY_SEAL_AS_CASH,
    CREDITED_BY_SEAL_AS_DEPOSIT,
};
use crate::keys::{CASH_COLLECTION, attr};
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{CashRoomFact, GroupFact, RoomSum, RoomsFact};
use crate::reconcile::num::Num;
use crate::terminal_state::TerminalState;
use crate::terminals::owner_of;

/// The cash rooms of a merchant or of the operator: what each terminal was allotted, and what was covered. The ceiling is the
/// sum of what is unallotted and allotted, less what was covered.
pub(super) fn rooms(at: &StoredItem<'_>) -> Observations {
    let owner = match at.kind {
        "tenant" => TerminalOwner::Operator,
        _ => MerchantId::parse(at.id).map(TerminalOwner::Merchant).map_err(|_| ItemError::invalid(attr::PK))?,
    };
    let rooms = CashRooms::read(at.item)?;
    let value = |sum: &Balance| Num(sum.value());
    let sum = rooms.allotted.values().fold(value(&rooms.unallotted), |sum, more| sum.plus(value(more)));
    let sum = sum.minus(value(&rooms.covered));
    let mut observed = Vec::new();
    let is_negative =
        rooms.allotted.values().chain([&rooms.unallotted, &rooms.covered]).any(|part| value(part).is_negative());
    if sum != value(&rooms.ceiling) || is_negative {
        let differs = at.finding(BreakKind::CashRoomDiffers, format!("cash_rooms:{owner}")).expected(sum);
        let differs = differs.found(format!("a ceiling of {}", rooms.ceiling.text()));
        let accounts = owner.merchant().map(|merchant| Account::Merchant(merchant).to_string());
        observed.push(at.broken(differs.by(accounts)));
    }
    let facts = rooms.allotted.iter().map(|(terminal, allotted)| {
        let fact = CashRoomFact::Allotted { owner, amount: value(allotted) };
        at.fact(GroupFact::CashRoom(*terminal, fact))
    });
    observed.extend(facts);
    if !value(&rooms.covered).is_zero() {
        let changed_at = at.since(attr::UPDATED_AT)?.millis();
        let fact = RoomsFact::Recorded { of: RoomSum::CoveredCash, amount: value(&rooms.covered), changed_at };
        observed.push(at.fact(GroupFact::Rooms(owner, fact)));
    }
    Ok(observed)
}

/// A terminal's profile: the room that it has left, if it was ever allotted any.
pub(super) fn terminal(at: &StoredItem<'_>) -> Observations {
    let Some(room) = room_of(at.item)? else { return Ok(Vec::new()) };
    let changed_at = room_changed_at(at.item)?.ok_or_else(|| ItemError::missing("cash_room_at"))?.millis();
    let (terminal, owner) = (terminal_of(at)?, owner_of(at.item)?);
    let fact = CashRoomFact::Room { owner, room: Num(room.value()), changed_at };
    let mut observed = vec![at.fact(GroupFact::CashRoom(terminal, fact))];
    if let Some(outstanding) = outstanding_of(at.item)? {
        let fact = CashRoomFact::Outstanding { amount: Num(outstanding.value()), changed_at };
        observed.push(at.fact(GroupFact::CashRoom(terminal, fact)));
    }
    // Its room counts in every state.
    if let Err(error) = at.item.named("state", TerminalState::parse) {
        observed.push(at.unreadable(&error));
    }
    Ok(observed)
}

/// A collection of a counter's cash: so much less is outstanding, and so much room of the operator is unallotted again.
pub(super) fn collected(at: &StoredItem<'_>) -> Observations {
    let id = at.item.parsed("collection_id", CashCollectionId::parse)?;
    at.check_key("collection_id", id, at.after(CASH_COLLECTION))?;
    let terminal = at.item.parsed("terminal_id", TerminalId::parse)?;
    at.check_key("terminal_id", terminal, at.id)?;
    let (amount, since) = (num(at.item, "amount")?, at.since(attr::CREATED_AT)?.millis());
    let covered = RoomsFact::Changed { of: RoomSum::CoveredCash, amount, at: since };
    Ok(vec![
        at.fact(GroupFact::CashRoom(terminal, CashRoomFact::Collected { amount, at: since })),
        at.fact(GroupFact::Rooms(TerminalOwner::Operator, covered)),
    ])
}

/// What a reference in a terminal's partition says of cash that takes room: it was taken, or returned.
pub(super) fn taken(at: &StoredItem<'_>) -> Result<Option<Observation>, ItemError> {
    if at.kind != "terminal" || !takes_room(at.item)? {
        return Ok(None);
    }
    let line = HistoryLine::read(at.item, None)?;
    // A bonus is no change of the reference: it is not cash.
    let amount = nums(&line.changes).get(&Asset::Ecopay).copied().unwrap_or_default();
    let fact = CashRoomFact::Taken { amount, at: line.created_at.millis() };
    Ok(Some(at.fact(GroupFact::CashRoom(terminal_of(at)?, fact))))
}

/// The merchant that owes the cash of a terminal's reference; `None` for any other reference.
pub(super) fn merchant_of(at: &StoredItem<'_>) -> Result<Option<MerchantId>, ItemError> {
    if at.kind == "terminal" && is_owed(at.item)? {
        at.item.parsed("merchant_id", MerchantId::parse).map(Some)
    } else {
        Ok(None)
    }
}

/// Whether an entry that posts to a merchant is of cash that the merchant owes: it says so, its operation takes cash or
/// reverses one that did, and nothing else of it is posted to `cash_clearing`.
pub(super) fn is_owed_cash(at: &StoredItem<'_>, of: &ReadEntry) -> Result<bool, ItemError> {
    let says_so = is_owed(at.item)? && at.item.opt_text(CREDITED_BY)? == Some(CREDITED_BY_SEAL_AS_CASH);
    let reversed = at.item.opt_text("reverses_operation")?;
    let is_cash = of.operation == Operation::CardTopup
        || (of.operation == Operation::CardReverse && reversed == Some(Operation::CardTopup.name()));
    let clearing = Account::Tenant(TenantAccount::CashClearing);
    Ok(says_so && is_cash && of.entry.postings.iter().all(|posting| posting.account != clearing))
}

/// Whether an entry that posts to a merchant is of money that it brought: it says so, its operation records deposits or takes
/// one back, and the other side is `cash_clearing`.
pub(super) fn is_deposit(at: &StoredItem<'_>, of: &ReadEntry) -> Result<bool, ItemError> {
    let says_so = at.item.opt_text(CASH)? == Some(CASH_IS_DEPOSITED)
        && at.item.opt_text(CREDITED_BY)? == Some(CREDITED_BY_SEAL_AS_DEPOSIT);
    let clearing = Account::Tenant(TenantAccount::CashClearing);
    let is_cleared = of.entry.postings.iter().any(|posting| posting.account == clearing);
    let is_of_deposits = matches!(of.operation, Operation::CashDeposit | Operation::CashDepositReversal);
    Ok(says_so && is_of_deposits && is_cleared)
}

fn is_owed(item: &Item) -> Result<bool, ItemError> {
    match item.opt_text(CASH)? {
        None => Ok(false),
        Some(CASH_IS_OWED) => Ok(true),
        Some(CASH_IS_DEPOSITED | CASH_IS_AT_COUNTER) => Ok(false),
        Some(_) => Err(ItemError::invalid(CASH)),
    }
}

/// Whether the cash took room of a terminal.
fn takes_room(item: &Item) -> Result<bool, ItemError> {
    Ok(is_owed(item)? || item.opt_text(CASH)? == Some(CASH_IS_AT_COUNTER))
}

fn terminal_of(at: &StoredItem<'_>) -> Result<TerminalId, ItemError> {
    TerminalId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))
}
