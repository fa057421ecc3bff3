//! The rooms that a settlement returns to its merchant: for cash that terminals took and for refunds, once what it pays
//! covers them.
//!
//! A settlement that is paid has covered all that its merchant owed in it and before it. One that is carried has covered
//! what was deposited in it, and the next settlement begins with the rest.

use super::record::Settlement;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::forms;
use crate::ids::Tenant;
use crate::keys::Partition;
use crate::money::{Amount, Asset, Balance, MoneyError};
use crate::time::Timestamp;
use crate::transaction::TransactItem;

/// The attribute of `SETTLING`, and of a settlement, with what earlier settlements have not covered.
const CARRIED_ROOMS: &str = "carried_rooms";
const CASH: &str = "cash";
const REFUNDS: &str = "refunds";
/// Absent: none.
const REVERSED: &str = "reversed";
/// The attribute of a paid settlement with the cash room that it returned.
const RETURNED_CASH_ROOM: &str = "returned_cash_room";
/// The attribute with the refund room that it returned.
const RETURNED_REFUND_ROOM: &str = "returned_refund_room";
/// The attribute with the time at which it did.
const RETURNED_AT: &str = "rooms_returned_at";

/// What took from a merchant's rooms, and no settlement has covered, in yen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomDebts {
    /// Cash that terminals took, less what they returned. Below zero if cash was returned after it had been covered.
    pub cash: Balance,
    /// Refunds.
    pub refunds: Balance,
    /// Deposits that were taken back after a carried settlement had counted them as cover. The next deposits replace them
    /// before they cover anything.
    pub reversed: Balance,
}

/// The rooms that a settlement returned, in yen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReturnedRooms {
    /// For cash.
    pub cash: Option<Amount>,
    /// For refunds.
    pub refunds: Option<Amount>,
    /// When; `None` if it has not returned any.
    pub at: Option<Timestamp>,
}

impl RoomDebts {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        let zero = || Balance::zero(Asset::Ecopay);
        Self { cash: zero(), refunds: zero(), reversed: zero() }
    }

    /// Whether there are none.
    pub(super) fn is_none(&self) -> bool {
        [&self.cash, &self.refunds, &self.reversed].into_iter().all(|sum| sum.as_delta().is_none())
    }

    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        let Some(rooms) = item.opt_map(CARRIED_ROOMS)? else { return Ok(Self::none()) };
        let yen = |name: &str| rooms.balance(name, Asset::Ecopay);
        let reversed = rooms.balance_or_zero(REVERSED, Asset::Ecopay)?;
        Ok(Self { cash: yen(CASH)?, refunds: yen(REFUNDS)?, reversed })
    }

    fn value(&self) -> Value {
        let yen = |name: &str, sum: &Balance| (name.to_owned(), Value::N(sum.text()));
        let mut item = Item::from([yen(CASH, &self.cash), yen(REFUNDS, &self.refunds)]);
        item.extend(self.reversed.as_delta().map(|_| yen(REVERSED, &self.reversed)));
        Value::M(item)
    }

    /// The attribute, if there are any.
    pub(super) fn item(&self) -> Option<(String, Value)> {
        (!self.is_none()).then(|| (CARRIED_ROOMS.to_owned(), self.value()))
    }

    /// Writes the attribute, or removes it.
    pub(super) fn set(&self, settling: Update) -> Update {
        if self.is_none() {
            settling.remove(CARRIED_ROOMS)
        } else {
            settling.set(CARRIED_ROOMS, CARRIED_ROOMS, self.value())
        }
    }

    /// Requires that they are as they were read.
    pub(super) fn as_seen(&self) -> Condition {
        if self.is_none() {
            Condition::absent(CARRIED_ROOMS)
        } else {
            Condition::compare(CARRIED_ROOMS, Cmp::Eq, "seen_rooms", self.value())
        }
    }

    /// What is returned for a deposit, and what is left. It replaces deposits that were taken back, and covers with the rest:
    /// cash first, then refunds. Below zero, more was taken back than was deposited: it covers nothing.
    pub(super) fn covered_by(&self, deposited: &Balance, now: Timestamp) -> Result<(ReturnedRooms, Self), MoneyError> {
        let less = |debt: &Balance, covered: Option<&Amount>| match covered {
            Some(covered) => debt.checked_apply(&covered.debit()),
            None => Ok(debt.clone()),
        };
        let part = |debt: &Balance, of: &Balance| match debt.as_amount() {
            Some(debt) => debt.at_most(of),
            None => Ok(None),
        };
        let zero = Balance::zero(Asset::Ecopay);
        let net = deposited.checked_sub(&self.reversed)?;
        let (covers, reversed) = match net.as_amount() {
            Some(_) => (net, zero),
            None => (zero.clone(), zero.checked_sub(&net)?),
        };
        let cash = part(&self.cash, &covers)?;
        let refunds = part(&self.refunds, &less(&covers, cash.as_ref())?)?;
        let (left, owed) = (less(&self.cash, cash.as_ref())?, less(&self.refunds, refunds.as_ref())?);
        let left = Self { cash: left, refunds: owed, reversed };
        let at = cash.as_ref().or(refunds.as_ref()).map(|_| now);
        Ok((ReturnedRooms { cash, refunds, at }, left))
    }

    /// What is returned once all is covered, and what is left: cash that was returned after it had been covered.
    pub(super) fn covered(&self, now: Timestamp) -> (ReturnedRooms, Self) {
        let (cash, refunds) = (self.cash.as_amount(), self.refunds.as_amount());
        let at = cash.as_ref().or(refunds.as_ref()).map(|_| now);
        let returned = ReturnedRooms { cash, refunds, at };
        let zero = || Balance::zero(Asset::Ecopay);
        let cash = if returned.cash.is_some() { zero() } else { self.cash.clone() };
        (returned, Self { cash, refunds: zero(), reversed: zero() })
    }
}

impl ReturnedRooms {
    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        let yen = |name: &str| item.opt_amount(name, Asset::Ecopay);
        Ok(Self {
            cash: yen(RETURNED_CASH_ROOM)?,
            refunds: yen(RETURNED_REFUND_ROOM)?,
            at: item.opt_timestamp(RETURNED_AT)?,
        })
    }

    /// Writes them on the settlement.
    pub(super) fn set(&self, settlement: Update) -> Update {
        let parts = [(RETURNED_CASH_ROOM, &self.cash), (RETURNED_REFUND_ROOM, &self.refunds)];
        let present = parts.into_iter().filter_map(|(name, room)| Some((name, room.as_ref()?)));
        let update = present.fold(settlement, |update, (name, room)| update.set(name, name, Value::N(room.text())));
        match self.at {
            Some(at) => update.set(RETURNED_AT, "ua", Value::s(at)),
            None => update,
        }
    }

    /// The actions that return them.
    pub(super) fn items(&self, tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Vec<TransactItem> {
        let merchant = Partition::merchant(tenant, settlement.merchant);
        let cash = self.cash.iter().map(|room| forms::return_cash_room(&merchant, room, now));
        cash.chain(self.refunds.iter().map(|room| forms::return_refund_room(&merchant, room, now))).collect()
    }
}

impl Settlement {
    /// What was deposited in it, in yen.
    pub(super) fn deposited(&self) -> Balance {
        self.totals.get(&Asset::Ecopay).map_or_else(|| Balance::zero(Asset::Ecopay), |totals| totals.deposited.clone())
    }

    /// What took from its merchant's rooms in it and before it.
    pub(super) fn room_debts(&self) -> Result<RoomDebts, MoneyError> {
        let mut debts = self.carried_rooms.clone();
        // Rooms are in yen: what other assets took from them is in the sum of yen.
        if let Some(totals) = self.totals.get(&Asset::Ecopay) {
            debts.refunds = debts.refunds.checked_plus(&totals.refund_room)?;
            debts.cash = debts.cash.checked_plus(&totals.cash_taken)?.checked_sub(&totals.cash_reversed)?;
        }
        Ok(debts)
    }
}
