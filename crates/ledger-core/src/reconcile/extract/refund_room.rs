//! Refund rooms: what is outstanding, what returns took, and what settlements returned.

use super::{Observation, Observations, StoredItem, num};
use crate::account::Account;
use crate::dynamo::ItemError;
use crate::ids::{MerchantId, TerminalOwner};
use crate::journal::REFUND_ROOM;
use crate::keys::attr;
use crate::money::{Amount, Balance};
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{GroupFact, RoomSum, RoomsFact};
use crate::reconcile::num::Num;
use crate::refund_rooms::RefundRoom;
use crate::settlements::Settlement;

/// A merchant's refund room. The ceiling is the sum of the room and of what is outstanding.
pub(super) fn room(at: &StoredItem<'_>) -> Observations {
    let merchant = MerchantId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))?;
    let room = RefundRoom::read(at.item)?;
    let value = |sum: &Balance| Num(sum.value());
    let outstanding = value(&room.outstanding);
    let sum = value(&room.room).plus(outstanding);
    let mut observed = Vec::new();
    if sum != value(&room.ceiling) || outstanding.is_negative() {
        let differs = at.finding(BreakKind::RefundRoomDiffers, format!("refund_room:{merchant}")).expected(sum);
        let differs = differs.found(format!("a ceiling of {}", room.ceiling.text()));
        observed.push(at.broken(differs.by([Account::Merchant(merchant).to_string()])));
    }
    let changed_at = at.since(attr::UPDATED_AT)?.millis();
    let fact = RoomsFact::Recorded { of: RoomSum::OutstandingRefunds, amount: outstanding, changed_at };
    observed.push(at.fact(GroupFact::Rooms(TerminalOwner::Merchant(merchant), fact)));
    Ok(observed)
}

/// What the record of a return took from the refund room of its merchant.
pub(super) fn taken(at: &StoredItem<'_>, merchant: MerchantId) -> Result<Option<Observation>, ItemError> {
    if !at.item.contains_key(REFUND_ROOM) {
        return Ok(None);
    }
    let amount = num(at.item, REFUND_ROOM)?;
    let fact = RoomsFact::Changed { of: RoomSum::OutstandingRefunds, amount, at: at.since(attr::CREATED_AT)?.millis() };
    Ok(Some(at.fact(GroupFact::Rooms(TerminalOwner::Merchant(merchant), fact))))
}

/// The rooms that a settlement returned to its merchant.
pub(super) fn returned(at: &StoredItem<'_>, settlement: &Settlement) -> Observations {
    let returned = &settlement.returned_rooms;
    if returned.cash.is_none() && returned.refunds.is_none() {
        return Ok(Vec::new());
    }
    let returned_at = returned.at.ok_or_else(|| ItemError::missing("rooms_returned_at"))?.millis();
    let size = |room: &Amount| Num(room.value());
    let parts = [
        (RoomSum::CoveredCash, returned.cash.as_ref().map(size)),
        (RoomSum::OutstandingRefunds, returned.refunds.as_ref().map(|room| Num::ZERO.minus(size(room)))),
    ];
    let present = parts.into_iter().filter_map(|(of, amount)| Some((of, amount?)));
    let owner = TerminalOwner::Merchant(settlement.merchant);
    let facts = present
        .map(|(of, amount)| at.fact(GroupFact::Rooms(owner, RoomsFact::Changed { of, amount, at: returned_at })));
    Ok(facts.collect())
}
