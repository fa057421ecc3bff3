//! Top-ups and their refunds. Stored responses are made only of what the claim fixed and of the PSP's object, so that
//! each worker stores the same response.

use super::words;
use crate::execute::{created, with_secret};
use crate::psp::PspObject;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::idempotency::AnyAnswer;
use ledger_core::topups::{RefundState, TopupRecord, TopupRefund, TopupState};
use serde::Serialize;
use utoipa::ToSchema;

/// The path of a customer's top-up. Responses stored by a worker contain it too.
pub const TOPUP_OF_CUSTOMER: &str = "/v1/me/topups/{id}";
/// The path of a top-up in the operator API.
pub const TOPUP_OF_OPERATOR: &str = "/v1/admin/topups/{id}";

/// A top-up that the customer can now pay.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TopupCreatedView {
    /// The top-up's id.
    pub topup_id: String,
    /// `pending`: it is credited once it has been paid.
    #[schema(value_type = words::NewTopupStatus)]
    pub status: &'static str,
    /// The amount.
    #[schema(example = "10000")]
    pub amount: String,
    /// `ECOPAY`.
    #[schema(value_type = words::EcopayOnly)]
    pub asset: String,
    /// The points that are credited with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<String>,
    /// The id of the PaymentIntent at Stripe.
    pub payment_intent_id: String,
    /// The secret for paying with Stripe.js. Do not log it.
    pub client_secret: String,
    /// The time of the request.
    pub created_at: String,
    /// The time at which its cancellation is requested if it has not been paid.
    pub expires_at: String,
}

/// A top-up.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TopupView {
    /// The top-up's id.
    pub topup_id: String,
    /// `pending`, `succeeded`, `canceled` or `refused`.
    #[schema(value_type = words::TopupStatus)]
    pub status: &'static str,
    /// The amount.
    pub amount: String,
    /// `ECOPAY`.
    #[schema(value_type = words::EcopayOnly)]
    pub asset: String,
    /// The points that are credited with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<String>,
    /// The id of the PaymentIntent at Stripe, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_intent_id: Option<String>,
    /// The amount that can still be refunded to the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refundable: Option<String>,
    /// The customer; in the list of all top-ups alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_id: Option<String>,
    /// The time of the request.
    pub created_at: String,
    /// The time at which its cancellation is requested if it has not been paid.
    pub expires_at: String,
}

/// A refund of a top-up to the card.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TopupRefundView {
    /// The refund's id.
    pub refund_id: String,
    /// The top-up's id.
    pub topup_id: String,
    /// `pending`, `succeeded` or `failed`.
    #[schema(value_type = words::TopupRefundStatus)]
    pub status: &'static str,
    /// The amount that leaves the wallet.
    pub amount: String,
    /// The amount that is paid to the card.
    pub paid: String,
    /// Yen kept because points of the top-up had been spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Points of the top-up that are taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points_taken_back: Option<String>,
    /// The time of the request.
    pub created_at: String,
}

impl TopupView {
    /// What a list of top-ups says of itself.
    pub const OF_LISTS: &str = "The most recent top-ups may be missing for a moment. With a filter, a page may have fewer \
                                items than `limit`, or none, and still a `next_cursor`.";
}

impl From<&TopupRecord> for TopupView {
    fn from(topup: &TopupRecord) -> Self {
        let refundable = (topup.state == TopupState::Succeeded).then(|| match topup.refundable.as_amount() {
            Some(left) => left.text(),
            None => "0".to_owned(),
        });
        Self {
            topup_id: topup.id.to_string(),
            status: match topup.state {
                TopupState::Requested | TopupState::Pending => "pending",
                TopupState::Succeeded => "succeeded",
                TopupState::Canceled => "canceled",
                TopupState::Refused => "refused",
            },
            amount: topup.charge.text(),
            asset: topup.charge.asset().to_string(),
            points: topup.points.as_ref().map(|points| points.text()),
            payment_intent_id: topup.intent.as_ref().map(ToString::to_string),
            refundable,
            customer_id: None,
            created_at: topup.created_at.to_string(),
            expires_at: topup.expires_at.to_string(),
        }
    }
}

impl TopupView {
    /// A stored top-up, with its customer.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read_with_customer(item: &Item) -> Result<Self, ItemError> {
        let topup = TopupRecord::read(item)?;
        Ok(Self { customer_id: Some(topup.customer.to_string()), ..Self::from(&topup) })
    }
}

impl From<&TopupRefund> for TopupRefundView {
    fn from(refund: &TopupRefund) -> Self {
        Self {
            refund_id: refund.id.to_string(),
            topup_id: refund.topup.to_string(),
            status: match refund.state {
                RefundState::Requested | RefundState::Pending => "pending",
                RefundState::Succeeded => "succeeded",
                RefundState::Failed => "failed",
            },
            amount: refund.amount.text(),
            paid: refund.paid.text(),
            kept: refund.kept.as_ref().map(|kept| kept.text()),
            points_taken_back: refund.points.as_ref().map(|points| points.text()),
            created_at: refund.created_at.to_string(),
        }
    }
}

/// The stored response of a top-up or a refund, once the PSP has its object. `None` if the object lacks what the
/// response needs.
pub(crate) fn answer(topup: &TopupRecord, refund: Option<&TopupRefund>, object: &PspObject) -> Option<AnyAnswer> {
    match (refund, object) {
        (None, PspObject::Intent(intent)) => {
            let view = TopupCreatedView {
                topup_id: topup.id.to_string(),
                status: "pending",
                amount: topup.charge.text(),
                asset: topup.charge.asset().to_string(),
                points: topup.points.as_ref().map(|points| points.text()),
                payment_intent_id: intent.id.to_string(),
                client_secret: intent.client_secret.as_ref()?.expose().clone(),
                created_at: topup.created_at.to_string(),
                expires_at: topup.expires_at.to_string(),
            };
            Some(with_secret(created(TOPUP_OF_CUSTOMER.replace("{id}", &topup.id.to_string()), &view)).into())
        }
        (Some(refund), PspObject::Refund(_)) => {
            // Always `pending`: the state of the refund may differ between the requests and workers that store this
            // response.
            let view = TopupRefundView { status: "pending", ..TopupRefundView::from(refund) };
            Some(created(TOPUP_OF_OPERATOR.replace("{id}", &topup.id.to_string()), &view).into())
        }
        (None, PspObject::Refund(_) | PspObject::Payout(_))
        | (Some(_), PspObject::Intent(_) | PspObject::Payout(_)) => None,
    }
}
