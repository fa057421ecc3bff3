//! `POST /v1/merchant/payments/{id}/refunds`: partial and full refunds.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::PaymentId;
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::Problem;
use ledger_runtime::refunds::RefundRequest;
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId};
use ledger_runtime::views::RefundView;
use serde::Deserialize;
use utoipa::ToSchema;

/// A refund.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefundBody {
    /// How much, in the asset of the payment's total; all that is left if absent.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    amount: Option<AmountText>,
    /// Why; at most 140 characters, no card number.
    reason: Option<String>,
}

/// Refunds a payment, in part or in full: money first, then regional currency, then points.
#[utoipa::path(post, path = "/v1/merchant/payments/{id}/refunds", tag = "merchant", request_body = RefundBody,
    params(("id" = String, Path, description = "The payment"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 201, description = "Refunded", body = RefundView),
        (status = 400, description = "`invalid_request`, `over_refund`, `wrong_state`"),
        (status = 404, description = "No such payment of this merchant"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Merchant,
    PathId(payment): PathId<PaymentId>,
    KeyedJson(key, body): KeyedJson<RefundBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", body.reason.as_deref())?;
    let fields = Fields::new()
        .with_some("amount", body.amount.as_ref().map(AmountText::canonical).transpose()?)
        .with_some("reason", reason.as_ref().map(FreeText::expose));
    let path = format!("/v1/merchant/payments/{payment}/refunds");
    let request = CanonicalRequest { method: "POST", path: path.clone(), fields };
    let (claim, admission) = app.claim(&who, Operation::Refund, key, request).await?;
    let refund = RefundRequest {
        tenant: who.tenant(),
        merchant: who.merchant_id(),
        payment,
        amount: body.amount.as_ref(),
        reason: reason.as_ref(),
        card: None,
        terminal: None,
    };
    let debts = PayerDebts::default();
    let plan = async |cx| refund.plan(&app, &claim, &debts, &cx).await;
    let render = |receipt: &_| created(format!("/v1/merchant/payments/{payment}"), &RefundView::from(receipt));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}
