//! A merchant's period in a lane of the audit trail: the entries that were credited while it was open, and their sums.
//!
//! The periods of a lane are numbered from 1. The open one is on the merchant's item `CREDITED#<lane>`. An entry names the
//! period in which it was credited, and never another.

use crate::account;
use crate::canonical::parse_canonical;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{self, Key};
use crate::money::{Amount, Asset, Balance, Delta, MoneyError};
use crate::transaction::Clause;
use std::collections::BTreeMap;
use std::fmt;

/// The number of a merchant's first period.
pub const FIRST_PERIOD: u32 = 1;
/// The attribute of `CREDITED#<lane>` with the number of the open period.
pub(crate) const PERIOD: &str = "period";
/// The attribute of an entry with the name of the period in which it was credited.
pub(crate) const PERIOD_OF_ENTRY: &str = "_period";
/// The attribute of a closed period with its name.
pub(crate) const PERIOD_ID: &str = "period_id";
/// The attribute with the time at which an entry was credited.
pub(crate) const CREDITED_AT: &str = "_credited_at";
/// The attribute with the number of a period's entries.
const RECORDS: &str = "period_records";

/// Names a period of a merchant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeriodId {
    /// The lane of the audit trail.
    pub lane: u32,
    /// The number in the lane.
    pub number: u32,
}

impl PeriodId {
    /// Parses what `Display` writes; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (lane, number) = text.strip_prefix('L')?.split_once('/')?;
        Some(Self { lane: parse_canonical(lane)?, number: parse_canonical(number)? })
    }

    /// Reads the period in which an entry was credited; `None` if it is not credited.
    ///
    /// # Errors
    /// [`ItemError`] if the attribute is malformed.
    pub fn of_entry(item: &Item) -> Result<Option<Self>, ItemError> {
        item.opt_parsed(PERIOD_OF_ENTRY, |text| Self::parse(text).ok_or(()))
    }

    /// Reads the name of a closed period, from its item or from the list of a settlement.
    ///
    /// # Errors
    /// [`ItemError`] if the attribute is missing or malformed.
    pub(crate) fn of_closed(item: &Item) -> Result<Self, ItemError> {
        item.parsed(PERIOD_ID, |text| Self::parse(text).ok_or(()))
    }

    /// The key of the closed period.
    #[must_use]
    pub fn key(self, tenant: &Tenant, merchant: MerchantId) -> Key {
        keys::period(tenant, merchant, &self.sort_key())
    }

    /// The attribute of the closed period that names it.
    pub(crate) fn attribute(self) -> (String, Value) {
        (PERIOD_ID.to_owned(), Value::s(self))
    }

    /// Its part of a sort key.
    pub(crate) fn sort_key(self) -> String {
        format!("L{:02}#{:08}", self.lane, self.number)
    }
}

impl fmt::Display for PeriodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}/{}", self.lane, self.number)
    }
}

/// Which sums of a period an entry counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CreditKind {
    /// A payment, a capture, a refund or a reversal of one.
    Trade,
    /// Cash that a terminal took for a card, or its reversal.
    Cash,
    /// Money that the merchant brought for such cash.
    Deposit,
}

/// A sum of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeriodSide {
    /// Payments.
    Taken,
    /// Refunds.
    Refunded,
    /// Cash that the merchant took, which it owes.
    CashTaken,
    /// Such cash that it has returned.
    CashReversed,
    /// Money that it brought for cash that it owes, less what of it was recorded wrongly and taken back.
    Deposited,
    /// What refunds took from the merchant's refund room. It changes no balance.
    RefundRoom,
}

impl PeriodSide {
    /// Every sum.
    pub const ALL: [Self; 6] =
        [Self::Taken, Self::Refunded, Self::CashTaken, Self::CashReversed, Self::Deposited, Self::RefundRoom];

    /// Whether the sum changes the merchant's balance.
    const fn is_of_balance(self) -> bool {
        match self {
            Self::Taken | Self::Refunded | Self::CashTaken | Self::CashReversed | Self::Deposited => true,
            Self::RefundRoom => false,
        }
    }

    /// The sum that a change of the merchant's balance counts in.
    fn of(kind: CreditKind, delta: &Delta) -> Self {
        match (kind, delta.is_debit()) {
            (CreditKind::Trade, false) => Self::Taken,
            (CreditKind::Trade, true) => Self::Refunded,
            (CreditKind::Cash, true) => Self::CashTaken,
            (CreditKind::Cash, false) => Self::CashReversed,
            (CreditKind::Deposit, _) => Self::Deposited,
        }
    }

    /// The prefix of its attributes, as of settlements.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Taken => "taken_",
            Self::Refunded => "refunded_",
            Self::CashTaken => "cash_taken_",
            Self::CashReversed => "cash_reversed_",
            Self::Deposited => "deposited_",
            Self::RefundRoom => "refund_room_",
        }
    }

    /// The attribute with the sum in an asset.
    pub(crate) fn attribute(self, asset: &Asset) -> String {
        format!("{}{}", self.prefix(), asset.attribute_suffix())
    }

    /// The change of the merchant's balance that the sum, which is positive, means; and the other way round. A sum that
    /// changes none keeps its sign.
    pub(crate) fn signed(self, sum: Delta) -> Delta {
        match self {
            Self::Taken | Self::CashReversed | Self::Deposited | Self::RefundRoom => sum,
            Self::Refunded | Self::CashTaken => sum.inverse(),
        }
    }
}

/// The sums of a period's entries. Each is a positive quantity, but that of deposits, which is below zero if more was taken
/// back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeriodSums {
    /// The number of entries.
    pub records: u32,
    /// The sum of payments, by asset.
    pub taken: BTreeMap<Asset, Balance>,
    /// The sum of refunds, by asset.
    pub refunded: BTreeMap<Asset, Balance>,
    /// The sum of cash that the merchant took, by asset.
    pub cash_taken: BTreeMap<Asset, Balance>,
    /// The sum of such cash that it has returned, by asset.
    pub cash_reversed: BTreeMap<Asset, Balance>,
    /// The sum of what the merchant brought for cash that it owes, by asset.
    pub deposited: BTreeMap<Asset, Balance>,
    /// What refunds took from the merchant's refund room, in yen.
    pub refund_room: BTreeMap<Asset, Balance>,
}

impl PeriodSums {
    /// The sums of entries, each with its kind and what it changes in the merchant's balances.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = (CreditKind, &'a [Delta])>) -> Result<Self, MoneyError> {
        let mut sums = Self::default();
        let mut all = Vec::new();
        for (kind, deltas) in records {
            sums.records = sums.records.saturating_add(1);
            all.extend(deltas.iter().map(|delta| ((PeriodSide::of(kind, delta), delta.asset().clone()), delta)));
        }
        for ((side, asset), sum) in account::net(all)? {
            let sum = Balance::zero(asset.clone()).checked_apply(&side.signed(sum))?;
            sums.side_mut(side).insert(asset, sum);
        }
        Ok(sums)
    }

    /// Adds what returns took from the merchant's refund room, in yen.
    ///
    /// # Errors
    /// [`MoneyError`] if the sum does not fit.
    pub(crate) fn with_refund_room<'a>(mut self, taken: impl Iterator<Item = &'a Amount>) -> Result<Self, MoneyError> {
        for room in taken {
            let sum = self.refund_room.get(room.asset()).cloned();
            let sum = sum.unwrap_or_else(|| Balance::zero(room.asset().clone())).checked_plus(&room.as_balance())?;
            self.refund_room.insert(room.asset().clone(), sum);
        }
        Ok(self)
    }

    /// Reads the sums of an item; a period without entries has none.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let mut sums = Self { records: item.opt_int(RECORDS)?.unwrap_or_default(), ..Self::default() };
        for side in PeriodSide::ALL {
            *sums.side_mut(side) = quantities(item, side.prefix())?;
        }
        Ok(sums)
    }

    /// The sums of a side, by asset.
    #[must_use]
    pub fn side(&self, side: PeriodSide) -> &BTreeMap<Asset, Balance> {
        match side {
            PeriodSide::Taken => &self.taken,
            PeriodSide::Refunded => &self.refunded,
            PeriodSide::CashTaken => &self.cash_taken,
            PeriodSide::CashReversed => &self.cash_reversed,
            PeriodSide::Deposited => &self.deposited,
            PeriodSide::RefundRoom => &self.refund_room,
        }
    }

    fn side_mut(&mut self, side: PeriodSide) -> &mut BTreeMap<Asset, Balance> {
        match side {
            PeriodSide::Taken => &mut self.taken,
            PeriodSide::Refunded => &mut self.refunded,
            PeriodSide::CashTaken => &mut self.cash_taken,
            PeriodSide::CashReversed => &mut self.cash_reversed,
            PeriodSide::Deposited => &mut self.deposited,
            PeriodSide::RefundRoom => &mut self.refund_room,
        }
    }

    /// Whether the item has the sums of a period.
    pub(crate) fn are_in(item: &Item) -> bool {
        item.contains_key(RECORDS)
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The attributes.
    pub(crate) fn item(&self) -> Item {
        let sums = self.sums().map(|(name, sum)| (name, Value::N(sum.text())));
        sums.chain([(RECORDS.to_owned(), Value::int(self.records.into()))]).collect()
    }

    /// Adds the sums to those of an item.
    pub(crate) fn add_to(&self, update: Update) -> Update {
        let update = update.add(RECORDS, RECORDS, Value::int(self.records.into()));
        self.sums().fold(update, |update, (name, sum)| update.add(name.clone(), name, Value::N(sum.text())))
    }

    /// Removes the sums from an item.
    pub(crate) fn remove_from(&self, update: Update) -> Update {
        self.sums().fold(update.remove(RECORDS), |update, (name, _)| update.remove(name))
    }

    /// What the period changes in the merchant's balances, by asset.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn net(&self) -> Result<Vec<Delta>, MoneyError> {
        let of_balance = self.changes().filter(|(side, _)| side.is_of_balance());
        let all: Vec<Delta> = of_balance.map(|(_, delta)| delta).collect();
        Ok(account::net(all.iter().map(|delta| (delta.asset().clone(), delta)))?.into_values().collect())
    }

    /// What each sum changes in the merchant's balances, and the sum that changes none. Those of refunds and of cash taken are
    /// negative.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (PeriodSide, Delta)> {
        let of_side = |side: PeriodSide| {
            let sums = self.side(side).values().filter_map(Balance::as_delta);
            sums.map(move |sum| (side, side.signed(sum)))
        };
        PeriodSide::ALL.into_iter().flat_map(of_side)
    }

    /// The sums that are not zero, by attribute.
    fn sums(&self) -> impl Iterator<Item = (String, &Balance)> {
        let of_side = |side: PeriodSide| self.side(side).iter().map(move |(asset, sum)| (side.attribute(asset), sum));
        PeriodSide::ALL.into_iter().flat_map(of_side)
    }
}

fn quantities(item: &Item, prefix: &str) -> Result<BTreeMap<Asset, Balance>, ItemError> {
    let mut sums = BTreeMap::new();
    for name in item.keys() {
        let Some(suffix) = name.strip_prefix(prefix) else { continue };
        let asset = Asset::from_attribute_suffix(suffix).map_err(|_| ItemError::invalid(name))?;
        sums.insert(asset.clone(), item.balance(name, asset)?);
    }
    Ok(sums)
}

/// Requires that the merchant's open period is this one. A merchant that has not been credited to a period is in the
/// first.
pub(crate) fn is_open(number: u32, failure: Failure) -> Clause {
    let is_it = Condition::compare(PERIOD, Cmp::Eq, PERIOD, Value::int(number.into()));
    let condition = if number == FIRST_PERIOD { Condition::absent(PERIOD).or(is_it) } else { is_it };
    Clause { condition, failure }
}
