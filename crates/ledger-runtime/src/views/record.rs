//! A merchant's payments and refunds, and open holds, as lists show them.

use super::words;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::keys::attr;
use ledger_core::money::stored_text;
use ledger_core::payment_state::PaymentState;
use ledger_core::payments::PaymentRecord;
use serde::Serialize;
use utoipa::ToSchema;

/// A record of the merchant's list: a payment, a refund or a reversal.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecordView {
    /// `payment`, `refund`, `payment_reversal` or `refund_reversal`.
    #[schema(value_type = words::RecordKind)]
    pub kind: String,
    /// The payment's id.
    pub payment_id: String,
    /// The refund's id; absent unless the record is about a refund.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refund_id: Option<String>,
    /// The journal entry's id.
    pub transaction_id: String,
    /// The merchant; only in lists of the whole tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchant_id: Option<String>,
    /// The terminal that charged the customer's code; absent for every other payment and its refunds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_id: Option<String>,
    /// The shop that took the payment; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shop_id: Option<String>,
    /// The asset of the amount.
    pub asset: String,
    /// The total of the record.
    pub amount: String,
    /// The payment's status; absent for the other kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::PaymentStatus>)]
    pub status: Option<String>,
    /// The time of the payment, refund or reversal.
    pub created_at: String,
}

/// An open hold: a payment whose money is held, and can be captured.
#[derive(Debug, Serialize, ToSchema)]
pub struct HoldView {
    /// The payment's id.
    pub payment_id: String,
    /// The merchant that can capture it.
    pub merchant_id: String,
    /// The account whose money is held: `customer:<id>` or `card:<id>`.
    pub payer: String,
    /// The asset of the amount.
    pub asset: String,
    /// The amount that was authorized.
    pub amount: String,
    /// The time until which it can be captured.
    pub expires_at: String,
    /// The time of the authorization.
    pub created_at: String,
}

impl HoldView {
    /// The hold of a payment; `None` if nothing is held for it.
    #[must_use]
    pub fn of(payment: &PaymentRecord) -> Option<Self> {
        let expires_at = payment.expires_at.filter(|_| payment.state == PaymentState::Authorized)?;
        Some(Self {
            payment_id: payment.id.to_string(),
            merchant_id: payment.merchant.to_string(),
            payer: payment.payer.to_string(),
            asset: payment.total.asset().to_string(),
            amount: payment.total.text(),
            expires_at: expires_at.to_string(),
            created_at: payment.created_at.to_string(),
        })
    }
}

impl RecordView {
    /// What a list of records says of itself.
    pub const OF_LISTS: &str = "The most recent records may be missing for a moment. With a filter, a page may have \
                                fewer items than `limit`, or none, and still a `next_cursor`.";

    /// Reads a stored payment, refund or reversal.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            kind: item.opt_text("kind")?.unwrap_or("payment").to_owned(),
            payment_id: item.string("payment_id")?,
            refund_id: item.opt_string("refund_id")?,
            transaction_id: item.string("transaction_id")?,
            merchant_id: None,
            terminal_id: item.opt_string("terminal_id")?,
            shop_id: item.opt_string(attr::SHOP)?,
            asset: item.string("asset")?,
            amount: item.parsed_number("total", stored_text)?,
            status: item.opt_string("state")?,
            created_at: item.string(attr::CREATED_AT)?,
        })
    }
    /// Reads a stored payment, refund or reversal with its merchant.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read_with_merchant(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { merchant_id: Some(item.string("merchant_id")?), ..Self::read(item)? })
    }
}
