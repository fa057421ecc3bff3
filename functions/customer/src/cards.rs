//! `PATCH /v1/me/cards/{card_id}`: freezing and unfreezing an own card.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::CardId;
use ledger_core::operation::Operation;
use ledger_core::ops::card;
use ledger_core::ops::profile::Status;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, ok};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{KeyedJson, PathId};
use ledger_runtime::views::CardChangeView;
use serde::Deserialize;
use utoipa::ToSchema;

/// A change of an own card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardBody {
    /// `frozen` or `active`.
    status: String,
}

/// Freezes or unfreezes an own card.
#[utoipa::path(patch, path = "/v1/me/cards/{card_id}", tag = "customer", request_body = CardBody,
    params(("card_id" = String, Path, description = "The card"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 200, description = "Changed", body = CardChangeView),
        (status = 400, description = "`invalid_request`; `wrong_state` if the operator froze it"),
        (status = 404, description = "No such card of this customer")))]
pub(crate) async fn patch(
    State(app): State<App>,
    who: Customer,
    PathId(card_id): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardBody>,
) -> Result<Outcome, Problem> {
    let status =
        Status::parse(&body.status).ok_or_else(|| Problem::invalid_field("status", "must be active or frozen"))?;
    let request = CanonicalRequest {
        method: "PATCH",
        path: format!("/v1/me/cards/{card_id}"),
        fields: Fields::new().with("status", status.name()),
    };
    let (claim, admission) = app.claim(&who, Operation::CardPatch, key, request).await?;
    let plan = async |cx| Ok(card::plan_own_status(who.tenant(), who.id(), card_id, status, &cx)?);
    Ok(app.perform(claim, admission, plan, |receipt| ok(&CardChangeView::from(receipt))).await)
}
