//! `POST /v1/merchant/payments/{id}/capture` and `/void`: taking what was authorized, or giving it up.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Claim, Fields};
use ledger_core::ids::PaymentId;
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::ops::PaymentRecord;
use ledger_core::ops::capture::{self, Capture};
use ledger_core::ops::void::{self, Void};
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId};
use ledger_runtime::views::PaymentDetail;
use serde::Deserialize;
use utoipa::ToSchema;

/// A capture.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaptureBody {
    /// How much, in the asset of the payment's total; all that is held if absent. The rest is released.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    amount: Option<AmountText>,
}

/// A void.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VoidBody {
    /// Why; at most 140 characters, no card number.
    reason: Option<String>,
}

/// Captures an authorized payment, in whole or in part; the rest is the customer's again. A payment that has
/// been captured already, and with the same amount if one is sent, is answered as it stands.
#[utoipa::path(post, path = "/v1/merchant/payments/{id}/capture", tag = "merchant", request_body = CaptureBody,
    params(("id" = String, Path, description = "The payment"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 200, description = "The payment, captured", body = PaymentDetail),
        (status = 400, description = "`invalid_request`, also for more than was authorized; `wrong_state` with `payment_status`, and with `expired_at` if it is too late"),
        (status = 404, description = "No such payment of this merchant"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn capture(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<PaymentId>,
    KeyedJson(key, body): KeyedJson<CaptureBody>,
) -> Result<Outcome, Problem> {
    let fields = Fields::new().with_some("amount", body.amount.as_ref().map(AmountText::canonical).transpose()?);
    let request = CanonicalRequest { method: "POST", path: format!("/v1/merchant/payments/{id}/capture"), fields };
    let (claim, admission) = app.claim(&who, Operation::Capture, key, request).await?;
    let debts = PayerDebts::default();
    let plan = async |cx| {
        let payment = own_payment(&app, &who, &claim, id).await?;
        let wallet = debts.wallet(&app, who.tenant(), payment.payer).await?;
        let terms = app.terms(who.tenant()).await?;
        let merchant = app.merchant(who.tenant(), who.merchant_id()).await?;
        let amount = match &body.amount {
            Some(text) => Some(text.to_amount(&payment.spec(&terms), "amount")?),
            None => None,
        };
        let capture = Capture {
            tenant: who.tenant(),
            merchant: &merchant,
            payment: &payment,
            wallet: &wallet,
            amount: amount.as_ref(),
        };
        Ok(capture::plan(&capture, &terms, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |payment| ok(&PaymentDetail::from(payment))).await)
}

/// Voids an authorized payment: all that is held is the customer's again. A payment of which nothing is held
/// any more is answered as it stands.
#[utoipa::path(post, path = "/v1/merchant/payments/{id}/void", tag = "merchant", request_body = VoidBody,
    params(("id" = String, Path, description = "The payment"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 200, description = "The payment, canceled", body = PaymentDetail),
        (status = 400, description = "`invalid_request`; `wrong_state` with `payment_status`"),
        (status = 404, description = "No such payment of this merchant"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn void(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<PaymentId>,
    KeyedJson(key, body): KeyedJson<VoidBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", body.reason.as_deref())?;
    let fields = Fields::new().with_some("reason", reason.as_ref().map(FreeText::expose));
    let request = CanonicalRequest { method: "POST", path: format!("/v1/merchant/payments/{id}/void"), fields };
    let (claim, admission) = app.claim(&who, Operation::Void, key, request).await?;
    let debts = PayerDebts::default();
    let plan = async |cx| {
        let payment = own_payment(&app, &who, &claim, id).await?;
        let wallet = debts.wallet(&app, who.tenant(), payment.payer).await?;
        let terms = app.terms(who.tenant()).await?;
        let void = Void { tenant: who.tenant(), payment: &payment, wallet: &wallet, reason: reason.as_ref() };
        Ok(void::plan(&void, &terms, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |payment| ok(&PaymentDetail::from(payment))).await)
}

/// Reads a payment of the merchant's, unless the key has been used. Another's is as one that does not exist.
async fn own_payment(app: &App, who: &Merchant, claim: &Claim, id: PaymentId) -> Result<PaymentRecord, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::payment(who.tenant(), id)]).await?;
    let payment = PaymentRecord::read(&items.into_iter().flatten().next().ok_or(PlanError::Missing)?)?;
    if payment.merchant == who.merchant_id() { Ok(payment) } else { Err(PlanError::Missing) }
}
