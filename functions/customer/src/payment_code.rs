//! `POST /v1/me/payment-code`: a one-time code that a merchant or terminal charges.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::operation::Operation;
use ledger_core::ops::payment_code;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, ok};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{Empty, KeyedJson};
use serde::Serialize;
use utoipa::ToSchema;

/// A one-time code. An earlier one stops to work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CodeView {
    /// To be shown to the merchant, as text or as a QR code.
    code: String,
    /// When it stops to work.
    expires_at: String,
}

/// Issues a one-time payment code, good for five minutes and one charge.
#[utoipa::path(post, path = "/v1/me/payment-code", tag = "customer",
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 200, description = "Issued", body = CodeView),
        (status = 400, description = "`account_frozen`"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let request = CanonicalRequest { method: "POST", path: "/v1/me/payment-code".to_owned(), fields: Fields::new() };
    let (claim, admission) = app.claim(&who, Operation::PaymentCode, key, request).await?;
    let plan = async |cx| Ok(payment_code::plan(who.tenant(), who.id(), &cx)?);
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            ok(&CodeView { code: receipt.code.expose().to_owned(), expires_at: receipt.expires_at.to_string() })
        })
        .await)
}
