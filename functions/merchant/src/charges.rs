//! `POST /v1/merchant/charges`: charging the one-time code that a customer shows, or authorizing it only.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::operation::Operation;
use ledger_core::ops::Parts;
use ledger_core::ops::authorize::{self, Authorize};
use ledger_core::ops::charge::{self, Charge};
use ledger_core::ops::payment_code::PaymentCode;
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, AmountText, KeyedJson};
use ledger_runtime::views::PaymentView;
use serde::Deserialize;
use utoipa::ToSchema;

/// A charge of a customer's one-time code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChargeBody {
    /// What the customer shows.
    code: String,
    /// How much.
    amount: AmountText,
    /// In which asset; `ECOPAY` if absent.
    asset: Option<String>,
    /// What the merchant writes with it; at most 140 characters, no card number.
    memo: Option<String>,
    /// `false` holds the money only: it is captured or voided later, or comes back by itself. `true` if
    /// absent.
    capture: Option<bool>,
}

/// Charges a customer's one-time code; with `capture: false` the money is only held.
#[utoipa::path(post, path = "/v1/merchant/charges", tag = "merchant", request_body = ChargeBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 201, description = "Paid, or held", body = PaymentView),
        (status = 400, description = "`invalid_request`, `insufficient_balance`, `account_frozen`; `wrong_state` if the code is used up or too old"),
        (status = 404, description = "No such code, or a later one has replaced it"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Merchant,
    KeyedJson(key, body): KeyedJson<ChargeBody>,
) -> Result<Outcome, Problem> {
    let code = PaymentCode::parse(&body.code)
        .ok_or_else(|| Problem::invalid_field("code", "is not a payment code: it begins with epc_"))?;
    let amount = request::amount(body.asset.as_deref(), &body.amount)?;
    let memo = request::memo("memo", body.memo.as_deref())?;
    let capture = body.capture.unwrap_or(true);
    let fields = Fields::new()
        .with("code_hash", code.hash())
        .with_requested("amount", &amount)
        .with_some("memo", memo.as_ref().map(FreeText::expose))
        // To capture is what is meant where nothing is said.
        .with_some("capture", (!capture).then_some("false"));
    let request = CanonicalRequest { method: "POST", path: "/v1/merchant/charges".to_owned(), fields };
    let (claim, admission) = app.claim(&who, Operation::Charge, key, request).await?;
    let plan = async |cx| {
        let terms = app.terms(who.tenant()).await?;
        let merchant = app.merchant(who.tenant(), who.merchant_id()).await?;
        let amount = request::amount_in(&terms, &amount)?;
        if !capture {
            let authorize = Authorize {
                tenant: who.tenant().clone(),
                merchant: (*merchant).clone(),
                code: code.clone(),
                parts: Parts::split(amount, None, Vec::new(), &terms)?,
                memo: memo.clone(),
            };
            return Ok(authorize::plan(&authorize, &terms, &cx)?);
        }
        let charge = Charge {
            tenant: who.tenant().clone(),
            merchant: (*merchant).clone(),
            code: code.clone(),
            amount,
            memo: memo.clone(),
        };
        Ok(charge::plan(&charge, &terms, &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            created(format!("/v1/merchant/payments/{}", receipt.payment_id), &PaymentView::from(receipt))
        })
        .await)
}
