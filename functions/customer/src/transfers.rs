//! `POST /v1/me/transfers`: the customer sends to another.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::CustomerId;
use ledger_core::operation::Operation;
use ledger_core::ops::transfer::{self, Transfer, TransferReceipt};
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, AmountText, KeyedJson};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A transfer to another customer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransferBody {
    /// Who receives.
    to_customer_id: String,
    /// How much.
    amount: AmountText,
    /// In which asset; `ECOPAY` if absent.
    asset: Option<String>,
    /// What the sender writes with it; at most 140 characters, no card number.
    memo: Option<String>,
}

/// A transfer that has been made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TransferView {
    transaction_id: String,
    /// `completed`.
    status: &'static str,
    to_customer_id: String,
    asset: String,
    amount: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    memo: Option<String>,
    created_at: String,
}

/// Sends to another customer.
#[utoipa::path(post, path = "/v1/me/transfers", tag = "customer", request_body = TransferBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 201, description = "Sent", body = TransferView),
        (status = 400, description = "`invalid_request`, `insufficient_balance`, `cap_exceeded`, `account_frozen`"),
        (status = 404, description = "No such recipient"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<TransferBody>,
) -> Result<Outcome, Problem> {
    let to = CustomerId::parse(&body.to_customer_id).map_err(|why| Problem::invalid_field("to_customer_id", why))?;
    let amount = request::amount(body.asset.as_deref(), &body.amount)?;
    let memo = request::memo("memo", body.memo.as_deref())?;
    let fields = Fields::new()
        .with("to_customer_id", to)
        .with_requested("amount", &amount)
        .with_some("memo", memo.as_ref().map(FreeText::expose));
    let request = CanonicalRequest { method: "POST", path: "/v1/me/transfers".to_owned(), fields };
    let (claim, admission) = app.claim(&who, Operation::Transfer, key, request).await?;
    let plan = async |cx| {
        let terms = app.terms(who.tenant()).await?;
        let transfer = Transfer {
            tenant: who.tenant().clone(),
            from: who.id(),
            to,
            amount: request::amount_in(&terms, &amount)?,
            memo: memo.clone(),
        };
        Ok(transfer::plan(&transfer, &terms, &cx)?)
    };
    Ok(app.perform(claim, admission, plan, answer).await)
}

fn answer(receipt: &TransferReceipt) -> ledger_core::idempotency::Answer {
    let view = TransferView {
        transaction_id: receipt.transaction_id.to_string(),
        status: "completed",
        to_customer_id: receipt.to.to_string(),
        asset: receipt.amount.asset().to_string(),
        amount: receipt.amount.text(),
        memo: receipt.memo.as_ref().map(|memo| memo.expose().to_owned()),
        created_at: receipt.created_at.to_string(),
    };
    created(format!("/v1/me/transactions/{}", receipt.transaction_id), &view)
}
