//! Payments and refunds as the faces show them.

use super::parts;
use super::words;
use ledger_core::money::{Amount, Asset};
use ledger_core::ops::refund::RefundReceipt;
use ledger_core::ops::{PaymentReceipt, PaymentRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A payment that has just been made, or authorized.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PaymentView {
    /// The payment's id.
    pub payment_id: String,
    /// Its journal entry.
    pub transaction_id: String,
    /// Where it stands: `captured`, or `authorized` if the money is only held.
    #[schema(value_type = words::NewPaymentStatus)]
    pub status: &'static str,
    /// Who was paid.
    pub merchant_id: String,
    /// Their name.
    pub merchant_name: String,
    /// The asset of the total.
    pub asset: String,
    /// The total.
    #[schema(example = "1240")]
    pub amount: String,
    /// What it was paid with, by asset; the parts sum to the total, one to one. Empty while it is authorized.
    pub paid: BTreeMap<String, String>,
    /// What is held for it, by asset, while it is authorized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorized: Option<BTreeMap<String, String>>,
    /// Until when it can be captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Points that it earned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points_earned: Option<String>,
    /// The CO2 estimate in kg.
    pub co2_kg: String,
    /// What was written with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    /// When.
    pub created_at: String,
}

/// A payment as it stands.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PaymentDetail {
    /// The payment's id.
    pub payment_id: String,
    /// Its journal entry: that of the capture, or of the authorization while nothing is captured.
    pub transaction_id: String,
    /// `authorized`, `captured`, `partially_refunded`, `refunded`, `canceled`, `expired` or `reversed`.
    #[schema(value_type = words::PaymentStatus)]
    pub status: String,
    /// Who was paid.
    pub merchant_id: String,
    /// The asset of the total.
    pub asset: String,
    /// The total: what was captured, or what was authorized while nothing is.
    pub amount: String,
    /// What it was paid with, by asset; empty while nothing is captured.
    pub paid: BTreeMap<String, String>,
    /// What was held for it, by asset; absent for a payment that was captured at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorized: Option<BTreeMap<String, String>>,
    /// Until when it can, or could, be captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When what was held was captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured_at: Option<String>,
    /// What of it may still be refunded, by asset.
    pub refundable: BTreeMap<String, String>,
    /// What was written with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    /// When.
    pub created_at: String,
}

/// A refund that has just been made.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RefundView {
    /// The refund's id.
    pub refund_id: String,
    /// The payment's.
    pub payment_id: String,
    /// Its journal entry.
    pub transaction_id: String,
    /// `refunded`.
    #[schema(value_type = words::RefundedStatus)]
    pub status: &'static str,
    /// The asset of the total.
    pub asset: String,
    /// How much was refunded in all.
    pub amount: String,
    /// What of the payment came back, by asset: money first, then regional currency, then points.
    pub refunded: BTreeMap<String, String>,
    /// Earned points taken back from the customer's points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points_taken_back: Option<String>,
    /// Yen kept from the money because earned points had been spent, one yen a point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deducted_for_spent_points: Option<String>,
    /// CO2 taken off the estimate, in kg.
    pub co2_kg: String,
    /// Where the payment stands after it.
    #[schema(value_type = words::PaymentStatus)]
    pub payment_status: String,
    /// When.
    pub created_at: String,
}

impl From<&PaymentReceipt> for PaymentView {
    fn from(receipt: &PaymentReceipt) -> Self {
        let amounts = parts(receipt.parts.by_asset());
        let held = receipt.expires_at.is_some();
        let (paid, authorized) = if held { (BTreeMap::new(), Some(amounts)) } else { (amounts, None) };
        Self {
            payment_id: receipt.payment_id.to_string(),
            transaction_id: receipt.transaction_id.to_string(),
            status: receipt.state.name(),
            merchant_id: receipt.merchant.id.to_string(),
            merchant_name: receipt.merchant.name.clone(),
            asset: receipt.parts.total().asset().to_string(),
            amount: receipt.parts.total().text(),
            paid,
            authorized,
            expires_at: receipt.expires_at.map(|at| at.to_string()),
            points_earned: receipt.points_earned.as_ref().map(|points| points.text()),
            co2_kg: receipt.co2.text(),
            memo: receipt.memo.as_ref().map(|memo| memo.expose().to_owned()),
            created_at: receipt.created_at.to_string(),
        }
    }
}

impl From<&PaymentRecord> for PaymentDetail {
    fn from(payment: &PaymentRecord) -> Self {
        Self {
            payment_id: payment.id.to_string(),
            transaction_id: payment.transaction_id.to_string(),
            status: payment.state.to_string(),
            merchant_id: payment.merchant.to_string(),
            asset: payment.total.asset().to_string(),
            amount: payment.total.text(),
            paid: parts(&payment.captured),
            authorized: if_any(&payment.authorized),
            expires_at: payment.expires_at.map(|at| at.to_string()),
            captured_at: payment.captured_at.map(|at| at.to_string()),
            refundable: payment.refundable.iter().map(|(asset, left)| (asset.to_string(), left.text())).collect(),
            memo: payment.memo.clone(),
            created_at: payment.created_at.to_string(),
        }
    }
}

/// Amounts by asset, if there are some.
fn if_any(by_asset: &BTreeMap<Asset, Amount>) -> Option<BTreeMap<String, String>> {
    (!by_asset.is_empty()).then(|| parts(by_asset))
}

impl From<&RefundReceipt> for RefundView {
    fn from(receipt: &RefundReceipt) -> Self {
        Self {
            refund_id: receipt.refund_id.to_string(),
            payment_id: receipt.payment_id.to_string(),
            transaction_id: receipt.transaction_id.to_string(),
            status: "refunded",
            asset: receipt.amount.asset().to_string(),
            amount: receipt.amount.text(),
            refunded: parts(&receipt.parts),
            points_taken_back: receipt.points_taken_back.as_ref().map(|points| points.text()),
            deducted_for_spent_points: receipt.deducted.as_ref().map(|yen| yen.text()),
            co2_kg: receipt.co2.text(),
            payment_status: receipt.payment_state.to_string(),
            created_at: receipt.created_at.to_string(),
        }
    }
}
