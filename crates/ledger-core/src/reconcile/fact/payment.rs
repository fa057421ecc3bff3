//! Facts of a payment.

use super::super::num::Nums;
use super::text;
use crate::account::Account;
use crate::ids::{MerchantId, RefundId, TransactionId};
use crate::payment_state::PaymentState;
use crate::payments::ReturnKind;
use serde::{Deserialize, Serialize};

/// One fact of a payment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PaymentFact {
    /// Its record.
    Record(RecordedPayment),
    /// A refund of it, or a reversal.
    Return(RecordedReturn),
    /// The record of its hold.
    Hold(RecordedHold),
    /// One of its entries.
    Entry(PaymentEntry),
}

/// A payment's record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedPayment {
    /// Its state.
    #[serde(with = "text::one")]
    pub state: PaymentState,
    /// The merchant.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// The payer.
    #[serde(with = "text::one")]
    pub payer: Account,
    /// Its entry.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// The amounts that were held for it.
    #[serde(with = "text::sums")]
    pub authorized: Nums,
    /// The amounts that were paid.
    #[serde(with = "text::sums")]
    pub captured: Nums,
    /// The amounts that may still be refunded.
    #[serde(with = "text::sums")]
    pub refundable: Nums,
    /// Whether it has or had a hold.
    pub has_hold: bool,
}

/// The record of a refund or a reversal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedReturn {
    /// Its id.
    #[serde(with = "text::one")]
    pub id: RefundId,
    /// Whether it is a refund or a reversal.
    #[serde(with = "text::one")]
    pub kind: ReturnKind,
    /// Its entry.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// How it changes what the merchant is owed.
    #[serde(with = "text::sums")]
    pub delta: Nums,
}

/// The record of a payment's hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedHold {
    /// The payment's state, by the hold.
    #[serde(with = "text::one")]
    pub state: PaymentState,
    /// The account whose balance holds the money.
    #[serde(with = "text::one")]
    pub payer: Account,
    /// The held amounts.
    #[serde(with = "text::sums")]
    pub held: Nums,
}

/// An entry of a payment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaymentEntry {
    /// Its id.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// The account in whose partition it is.
    #[serde(with = "text::one")]
    pub home: Account,
    /// Its postings to merchants.
    #[serde(with = "text::sums")]
    pub delta: Nums,
    /// Whether its seal credits the merchant.
    pub by_seal: bool,
}
