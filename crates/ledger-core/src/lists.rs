//! Which items of a list a request wants: the filters that are applied to items after they are read.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{MerchantId, ShopId, Tenant};
use crate::journal::{HistoryLine, JournalEntry};
use crate::keys::{self, Key, attr};
use crate::money::{Asset, Delta, RequestedAmount};
use crate::operation::Operation;
use crate::payment_state::PaymentState;
use crate::payments::ReturnKind;
use crate::topups::{TopupRecord, TopupState};
use rust_decimal::Decimal;

/// The operations whose entries open a payment. A capture and an end of a hold have operations of their own.
const PAYING: [Operation; 4] = [Operation::Pay, Operation::Charge, Operation::CardPay, Operation::TerminalCharge];
/// The operations whose entries open a refund.
const REFUNDING: [Operation; 2] = [Operation::Refund, Operation::CardRefund];

/// A range of amounts of one asset. Both bounds are inclusive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AmountFilter {
    asset: Option<Asset>,
    least: Option<RequestedAmount>,
    most: Option<RequestedAmount>,
}

/// Which lines of an account's history are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// The operation; any if absent.
    pub operation: Option<Operation>,
    /// The merchant of the transaction; any or none if absent.
    pub merchant: Option<MerchantId>,
    /// The sizes of a change of the account.
    pub amounts: AmountFilter,
}

/// The kind of a record in a merchant's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A payment.
    Payment,
    /// A refund or a reversal.
    Return(ReturnKind),
}

/// Which records of a merchant's list are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// The kind; any if absent.
    pub kind: Option<RecordKind>,
    /// The state of a payment; records of the other kinds have none.
    pub state: Option<PaymentState>,
    /// The shop of the payment; any or none if absent.
    pub shop: Option<ShopId>,
    /// The record's total.
    pub amounts: AmountFilter,
}

/// What a list of the whole tenant has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedKind {
    /// Payments of every state.
    Payments,
    /// Refunds, without reversals.
    Refunds,
}

/// Which of a customer's top-ups are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopupFilter {
    /// One of these states; any if absent.
    pub states: Option<&'static [TopupState]>,
    /// The charge.
    pub amounts: AmountFilter,
}

/// Which open holds are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldFilter {
    /// The merchant; any if absent.
    pub merchant: Option<MerchantId>,
    /// The payer; any if absent.
    pub payer: Option<Account>,
}

impl ListedKind {
    /// The kind of its records.
    #[must_use]
    pub const fn record_kind(self) -> RecordKind {
        match self {
            Self::Payments => RecordKind::Payment,
            Self::Refunds => RecordKind::Return(ReturnKind::Refund),
        }
    }

    /// The key of the record that an entry opened; `None` for an entry that opened no record of this kind. Each record
    /// is opened by one entry.
    #[must_use]
    pub fn opened_by(self, tenant: &Tenant, entry: &JournalEntry) -> Option<Key> {
        let is_one_of = |operations: &[Operation]| operations.iter().any(|of| of.name() == entry.operation);
        let payment = entry.payment_id?;
        match self {
            Self::Payments => is_one_of(&PAYING).then(|| keys::payment(tenant, payment)),
            Self::Refunds => {
                let refund = entry.refund_id.filter(|_| is_one_of(&REFUNDING))?;
                Some(keys::refund(tenant, payment, refund))
            }
        }
    }
}

impl HoldFilter {
    /// Whether every hold is wanted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.merchant.is_none() && self.payer.is_none()
    }

    /// Whether a hold is wanted.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute that decides is missing or malformed.
    pub fn admits(&self, hold: &Item) -> Result<bool, ItemError> {
        let (merchant, payer) = (hold.parsed("merchant_id", MerchantId::parse)?, hold.parsed("payer", Account::parse)?);
        Ok(self.merchant.is_none_or(|wanted| wanted == merchant) && self.payer.is_none_or(|wanted| wanted == payer))
    }
}

impl AmountFilter {
    /// Amounts of `asset` from `least` to `most`; `None` if no amount is in the range, or a bound is of another asset.
    #[must_use]
    pub fn new(asset: Option<Asset>, least: Option<RequestedAmount>, most: Option<RequestedAmount>) -> Option<Self> {
        let is_of_asset = |bound: &RequestedAmount| asset.as_ref() == Some(bound.asset());
        let is_range = match (&least, &most) {
            (Some(least), Some(most)) => least.value() <= most.value(),
            (Some(_) | None, None) | (None, Some(_)) => true,
        };
        let is_valid = is_range && least.iter().chain(&most).all(is_of_asset);
        is_valid.then_some(Self { asset, least, most })
    }

    /// The same range if it has a bound, else amounts of every asset.
    #[must_use]
    pub fn if_bounded(self) -> Self {
        if self.least.is_none() && self.most.is_none() { Self::default() } else { self }
    }

    fn is_everything(&self) -> bool {
        self.asset.is_none()
    }

    fn admits(&self, asset: &Asset, size: Decimal) -> bool {
        self.asset.as_ref().is_none_or(|wanted| wanted == asset)
            && self.least.as_ref().is_none_or(|least| least.value() <= size)
            && self.most.as_ref().is_none_or(|most| size <= most.value())
    }
}

impl HistoryFilter {
    /// Whether every line is wanted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.operation.is_none() && self.merchant.is_none() && self.amounts.is_everything()
    }

    /// Whether a line is wanted.
    #[must_use]
    pub fn admits(&self, line: &HistoryLine) -> bool {
        let of_amounts = |change: &Delta| self.amounts.admits(change.asset(), change.value().abs());
        self.operation.is_none_or(|operation| line.operation == operation.name())
            && self.merchant.is_none_or(|merchant| line.merchant_id.as_deref() == Some(&merchant.to_string()))
            && (self.amounts.is_everything() || line.changes.iter().any(of_amounts))
    }
}

impl RecordKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::Payment,
        Self::Return(ReturnKind::Refund),
        Self::Return(ReturnKind::PaymentReversal),
        Self::Return(ReturnKind::RefundReversal),
    ];

    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Return(kind) => kind.name(),
        }
    }

    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Reads the kind of a record. A payment has no attribute for it.
    ///
    /// # Errors
    /// [`ItemError`] if the kind is unknown.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(item.opt_named("kind", ReturnKind::parse)?.map_or(Self::Payment, Self::Return))
    }
}

impl RecordFilter {
    /// Whether every record is wanted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.kind.is_none() && self.state.is_none() && self.shop.is_none() && self.amounts.is_everything()
    }

    /// Whether a payment, refund or reversal is wanted.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute that decides is missing or malformed.
    pub fn admits(&self, item: &Item) -> Result<bool, ItemError> {
        if let Some(kind) = self.kind
            && RecordKind::read(item)? != kind
        {
            return Ok(false);
        }
        if let Some(state) = self.state
            && item.opt_named("state", PaymentState::parse)? != Some(state)
        {
            return Ok(false);
        }
        if let Some(shop) = self.shop
            && item.opt_parsed(attr::SHOP, ShopId::parse)? != Some(shop)
        {
            return Ok(false);
        }
        if self.amounts.is_everything() {
            return Ok(true);
        }
        let total = item.amount("total", item.parsed("asset", Asset::parse)?)?;
        Ok(self.amounts.admits(total.asset(), total.value()))
    }
}

impl TopupFilter {
    /// Whether every top-up is wanted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.states.is_none() && self.amounts.is_everything()
    }

    /// Whether a top-up is wanted.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn admits(&self, item: &Item) -> Result<bool, ItemError> {
        let topup = TopupRecord::read(item)?;
        Ok(self.states.is_none_or(|states| states.contains(&topup.state))
            && self.amounts.admits(topup.charge.asset(), topup.charge.value()))
    }
}

#[cfg(test)]
mod tests;
