//! A merchant's month: what changed its balance, and the fees that it was charged.

use super::tally::{Moved, Sums};
use super::totals::{Balances, balances_after};
use crate::account::{Account, TenantAccount};
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{MerchantId, SettlementId};
use crate::journal::{JournalEntry, expand};
use crate::money::{Asset, Balance, Delta, MoneyError};
use crate::operation::Operation;
use crate::time::Timestamp;
use crate::words::words;
use std::collections::BTreeMap;

words! {
    /// What changed a merchant's balance.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum StatementPart {
        /// Customers and cards paid.
        Payments = "payments",
        /// Payments were refunded or reversed.
        Refunds = "refunds",
        /// The merchant took cash for loads of cards, which it owes, or brought it.
        Cash = "cash",
        /// Fees and their tax.
        Fees = "fees",
        /// Settlements were paid out or returned, and other assets became yen.
        Settlements = "settlements",
        /// Adjustments and what is in no other part.
        Adjustments = "adjustments",
    }
}

/// A merchant's balance in an asset over a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementSums {
    /// The balance at the beginning.
    pub opening: Balance,
    /// What changed it.
    pub parts: BTreeMap<StatementPart, Moved>,
    /// The balance at the end: `opening` plus what all parts gained, less what they lost.
    pub closing: Balance,
}

/// The fee of a settlement, or that it was given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargedFee {
    /// The settlement.
    pub settlement: SettlementId,
    /// When it was charged.
    pub at: Timestamp,
    /// The fee without tax, in yen. Below 0 if it was given back.
    pub fee: Balance,
    /// The tax, in yen: rounded once, for the whole fee.
    pub tax: Balance,
}

impl StatementPart {
    /// The part of an operation of totals.
    fn of(operation: &str) -> Self {
        use Operation as O;
        let is = |operations: &[O]| operations.iter().any(|known| known.name() == operation);
        if is(&[O::Pay, O::Charge, O::TerminalCharge, O::CardPay, O::Capture]) {
            return Self::Payments;
        }
        if is(&[O::CardTopup, O::CashDeposit, O::CashDepositReversal]) {
            return Self::Cash;
        }
        if is(&[O::SettlementFee, O::SettlementFeeUndone]) {
            return Self::Fees;
        }
        if O::MOVING_MERCHANTS.iter().any(|known| known.name() == operation) {
            return Self::Settlements;
        }
        let (made, reversed) = operation.split_once(':').map_or((operation, None), |(made, of)| (made, Some(of)));
        match reversed.map(Self::of) {
            Some(Self::Cash) => Self::Cash,
            Some(Self::Payments | Self::Refunds) => Self::Refunds,
            Some(part @ (Self::Fees | Self::Settlements | Self::Adjustments)) => part,
            None if [O::Refund, O::CardRefund].iter().any(|known| known.name() == made) => Self::Refunds,
            None => Self::Adjustments,
        }
    }
}

/// A merchant's balances over a month, by asset: those at its beginning, and what changed them.
///
/// # Errors
/// [`MoneyError`] if a sum does not fit.
pub fn statement(opening: &Balances, sums: &Sums) -> Result<BTreeMap<Asset, StatementSums>, MoneyError> {
    let mut assets = BTreeMap::<Asset, StatementSums>::new();
    let none = |asset: &Asset| StatementSums {
        opening: Balance::zero(asset.clone()),
        parts: BTreeMap::new(),
        closing: Balance::zero(asset.clone()),
    };
    for ((_, asset), sum) in opening {
        let of = assets.entry(asset.clone()).or_insert_with(|| none(asset));
        of.opening = of.opening.checked_apply(sum)?;
    }
    for ((_, asset), sum) in &balances_after(opening, sums)? {
        let of = assets.entry(asset.clone()).or_insert_with(|| none(asset));
        of.closing = of.closing.checked_apply(sum)?;
    }
    for (line, moved) in &sums.lines {
        let of = assets.entry(line.asset.clone()).or_insert_with(|| none(&line.asset));
        let part =
            of.parts.entry(StatementPart::of(&line.operation)).or_insert_with(|| Moved::none(line.asset.clone()));
        part.add(moved)?;
    }
    Ok(assets)
}

impl ChargedFee {
    /// Reads a journal entry of a merchant; `None` of one that charges no fee.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Option<Self>, ItemError> {
        let item = expand(item)?;
        let entry = JournalEntry::read(&item)?;
        let fees = [Operation::SettlementFee, Operation::SettlementFeeUndone];
        if fees.iter().all(|known| known.name() != entry.operation) {
            return Ok(None);
        }
        let of = |account: TenantAccount| {
            let own = entry.postings.iter().filter(|posting| posting.account == Account::Tenant(account));
            own.map(|posting| &posting.delta)
                .try_fold(Balance::zero(Asset::Ecopay), |sum, delta| sum.checked_apply(delta))
        };
        let wrong = |_| ItemError::invalid("postings");
        Ok(Some(Self {
            settlement: item.parsed("settlement_id", SettlementId::parse)?,
            at: entry.created_at,
            fee: of(TenantAccount::Fees).map_err(wrong)?,
            tax: of(TenantAccount::ConsumptionTax).map_err(wrong)?,
        }))
    }
}

/// A payout of a settlement, or that it was returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidOut {
    /// The settlement.
    pub settlement: SettlementId,
    /// When it left.
    pub at: Timestamp,
    /// The amount, in yen. Below 0 if it was returned.
    pub amount: Balance,
}

impl PaidOut {
    /// Reads a journal entry of a merchant; `None` of one that pays nothing out.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(merchant: MerchantId, item: &Item) -> Result<Option<Self>, ItemError> {
        let item = expand(item)?;
        let entry = JournalEntry::read(&item)?;
        let moves = [Operation::SettlementPayout, Operation::SettlementReturned, Operation::SettlementReturn];
        if moves.iter().all(|known| known.name() != entry.operation) {
            return Ok(None);
        }
        let own = entry.postings.iter().filter(|posting| posting.account == Account::Merchant(merchant));
        let own: Result<Balance, MoneyError> = own
            .map(|posting| &posting.delta)
            .map(Delta::inverse)
            .try_fold(Balance::zero(Asset::Ecopay), |sum, delta| sum.checked_apply(&delta));
        Ok(Some(Self {
            settlement: item.parsed("settlement_id", SettlementId::parse)?,
            at: entry.created_at,
            amount: own.map_err(|_| ItemError::invalid("postings"))?,
        }))
    }
}
