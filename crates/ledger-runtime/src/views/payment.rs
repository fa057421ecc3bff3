//! Payments and refunds, as the APIs show them.

use super::{parts, words};
use ledger_core::money::{Amount, Asset};
use ledger_core::payments::refund::RefundReceipt;
use ledger_core::payments::{PaymentReceipt, PaymentRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A payment just made or authorized.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PaymentView {
    /// The payment's id.
    pub payment_id: String,
    /// The id of its journal entry.
    pub transaction_id: String,
    /// `captured`, or `authorized` if the money is only held.
    #[schema(value_type = words::NewPaymentStatus)]
    pub status: &'static str,
    /// The merchant that was paid.
    pub merchant_id: String,
    /// The merchant's name.
    pub merchant_name: String,
    /// The asset of the total.
    pub asset: String,
    /// The total.
    #[schema(example = "1240")]
    pub amount: String,
    /// The parts of the total, by asset; they sum to the total at a rate of one to one. Empty while it is authorized.
    pub paid: BTreeMap<String, String>,
    /// The amounts held for it, by asset, while it is authorized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorized: Option<BTreeMap<String, String>>,
    /// The time until which it can be captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The points that it earned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points_earned: Option<String>,
    /// The CO2 estimate in kg.
    pub co2_kg: String,
    /// The time of the payment.
    pub created_at: String,
}

/// A payment, as it is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PaymentStateView {
    /// The payment's id.
    pub payment_id: String,
    /// The id of its journal entry: of the capture, or of the authorization while nothing is captured.
    pub transaction_id: String,
    /// `authorized`, `captured`, `partially_refunded`, `refunded`, `canceled`, `expired` or `reversed`.
    #[schema(value_type = words::PaymentStatus)]
    pub status: String,
    /// The merchant that was paid.
    pub merchant_id: String,
    /// The terminal that charged the customer's code; absent for every other payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_id: Option<String>,
    /// The shop that took the payment; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shop_id: Option<String>,
    /// The asset of the total.
    pub asset: String,
    /// The total: the amount captured, or the amount authorized while nothing is captured.
    pub amount: String,
    /// The parts of the total, by asset; empty while nothing is captured.
    pub paid: BTreeMap<String, String>,
    /// The amounts held for it, by asset; absent for a payment that was captured at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorized: Option<BTreeMap<String, String>>,
    /// The time until which it can be captured, or could have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The time at which the held amount was captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured_at: Option<String>,
    /// The amounts that can still be refunded, by asset.
    pub refundable: BTreeMap<String, String>,
    /// The time of the payment.
    pub created_at: String,
}

/// A payment, with its memo.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PaymentDetail {
    /// The payment.
    #[serde(flatten)]
    pub payment: PaymentStateView,
    /// The memo; absent if there is none, or if it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
}

/// A refund just made.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RefundView {
    /// The refund's id.
    pub refund_id: String,
    /// The payment's id.
    pub payment_id: String,
    /// The id of its journal entry.
    pub transaction_id: String,
    /// `refunded`.
    #[schema(value_type = words::RefundedStatus)]
    pub status: &'static str,
    /// The asset of the total.
    pub asset: String,
    /// The total refunded.
    pub amount: String,
    /// The amounts refunded, by asset: money first, then regional currency, then points.
    pub refunded: BTreeMap<String, String>,
    /// Earned points that were taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points_taken_back: Option<String>,
    /// Yen deducted because earned points had been spent, one yen per point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deducted_for_spent_points: Option<String>,
    /// What of `refunded` the tenant keeps because its asset is retired, by asset; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_breakage: Option<BTreeMap<String, String>>,
    /// CO2 subtracted from the estimate, in kg.
    pub co2_kg: String,
    /// The status of the payment after it.
    #[schema(value_type = words::PaymentStatus)]
    pub payment_status: String,
    /// The time of the refund.
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
            created_at: receipt.created_at.to_string(),
        }
    }
}

impl From<&PaymentRecord> for PaymentDetail {
    fn from(payment: &PaymentRecord) -> Self {
        Self { payment: PaymentStateView::from(payment), memo: payment.memo.clone() }
    }
}

impl From<&PaymentRecord> for PaymentStateView {
    fn from(payment: &PaymentRecord) -> Self {
        Self {
            payment_id: payment.id.to_string(),
            transaction_id: payment.transaction_id.to_string(),
            status: payment.state.to_string(),
            merchant_id: payment.merchant.to_string(),
            terminal_id: payment.terminal.map(|id| id.to_string()),
            shop_id: payment.shop.map(|id| id.to_string()),
            asset: payment.total.asset().to_string(),
            amount: payment.total.text(),
            paid: parts(&payment.captured),
            authorized: if_any(&payment.authorized),
            expires_at: payment.expires_at.map(|at| at.to_string()),
            captured_at: payment.captured_at.map(|at| at.to_string()),
            refundable: payment.refundable.iter().map(|(asset, left)| (asset.to_string(), left.text())).collect(),
            created_at: payment.created_at.to_string(),
        }
    }
}

/// Amounts by asset; `None` if there are none.
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
            to_breakage: if_any(&receipt.to_breakage),
            co2_kg: receipt.co2.text(),
            payment_status: receipt.payment_state.to_string(),
            created_at: receipt.created_at.to_string(),
        }
    }
}
