//! Facts of a payment.

use super::super::num::Nums;
use super::text;
use crate::account::Account;
use crate::ids::{MerchantId, RefundId, TransactionId};
use crate::ops::{PaymentState, ReturnKind};
use serde::{Deserialize, Serialize};

/// One fact of a payment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PaymentFact {
    /// Its record.
    Record(RecordedPayment),
    /// A refund of it, or a reversal.
    Return(RecordedReturn),
    /// The record of what is or was held for it.
    Hold(RecordedHold),
    /// An entry of it.
    Entry(PaymentEntry),
}

/// A payment's record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedPayment {
    /// Its state.
    #[serde(with = "text::one")]
    pub state: PaymentState,
    /// Who was paid.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// Who paid.
    #[serde(with = "text::one")]
    pub payer: Account,
    /// Its entry.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// What was held for it.
    #[serde(with = "text::sums")]
    pub authorized: Nums,
    /// What was paid.
    #[serde(with = "text::sums")]
    pub captured: Nums,
    /// What may be refunded.
    #[serde(with = "text::sums")]
    pub refundable: Nums,
    /// What it owes its merchant.
    #[serde(with = "text::sums")]
    pub delta: Nums,
    /// Whether something is or was held for it.
    pub has_hold: bool,
}

/// The record of a refund or a reversal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedReturn {
    /// Its id.
    #[serde(with = "text::one")]
    pub id: RefundId,
    /// Which of them it is.
    #[serde(with = "text::one")]
    pub kind: ReturnKind,
    /// Its entry.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// What it owes the merchant.
    #[serde(with = "text::sums")]
    pub delta: Nums,
}

/// The record of what is or was held for a payment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedHold {
    /// The payment's state, as the hold has it.
    #[serde(with = "text::one")]
    pub state: PaymentState,
    /// Of whose balance.
    #[serde(with = "text::one")]
    pub payer: Account,
    /// How much.
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
    /// In whose partition it is.
    #[serde(with = "text::one")]
    pub home: Account,
    /// What it posts to merchants.
    #[serde(with = "text::sums")]
    pub delta: Nums,
}
