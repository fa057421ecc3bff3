//! `/v1/me/topups`: money from a card into the wallet.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::TopupId;
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::ops::topup::claim::{self, Topup};
use ledger_runtime::app::App;
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{AmountText, KeyedJson, PathId};
use ledger_runtime::topups::Desk;
use ledger_runtime::views::{TopupCreatedView, TopupView};
use serde::Deserialize;
use utoipa::ToSchema;

/// A top-up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopupBody {
    /// How much, in yen.
    amount: AmountText,
}

/// Asks for a top-up through Stripe. The answer holds the PaymentIntent's client secret; the wallet is
/// credited once it has been paid. Until then the amount counts against the cap.
#[utoipa::path(post, path = "/v1/me/topups", tag = "customer", request_body = TopupBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 201, description = "To be paid", body = TopupCreatedView),
        (status = 400, description = "`invalid_request`, `cap_exceeded`, `psp_refused`"),
        (status = 409, description = "`idempotency_key_in_use`"),
        (status = 410, description = "`idempotency_key_expired`: after 24 hours"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<TopupBody>,
) -> Result<Outcome, Problem> {
    let charge = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let fields = Fields::new().with_amount("amount", &charge);
    let request = CanonicalRequest { method: "POST", path: "/v1/me/topups".to_owned(), fields };
    let (claim, admission) = app.claim(&who, Operation::Topup, key, request).await?;
    let topup = Topup { customer: who.id(), charge };
    let plan = async |cx, desk: Desk| {
        let terms = app.terms(who.tenant()).await?;
        Ok(claim::plan(&topup, &claim, &terms, desk.terms(), &cx)?)
    };
    Ok(app.perform_call(claim.clone(), admission, plan).await)
}

/// Where a top-up stands.
#[utoipa::path(get, path = "/v1/me/topups/{id}", tag = "customer",
    params(("id" = String, Path, description = "The top-up")),
    responses((status = 200, description = "The top-up", body = TopupView),
        (status = 404, description = "No such top-up of this customer")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathId(id): PathId<TopupId>,
) -> Result<Json<TopupView>, Problem> {
    let found = app.desk().await?.topup(who.tenant(), id, None).await?;
    let (topup, _) = found.filter(|(topup, _)| topup.customer == who.id()).ok_or_else(Problem::not_found)?;
    Ok(Json(TopupView::from(&topup)))
}
