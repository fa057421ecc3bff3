//! `/v1/admin/cards`: issuing a card, looking at it, freezing and unfreezing it.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::{CardId, CustomerId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::ops::card::{self, CardRecord};
use ledger_core::ops::profile::Status;
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, KeyedJson, PathId, StatusBody};
use ledger_runtime::views::{CardChangeView, CardView};
use serde::Deserialize;
use utoipa::ToSchema;

/// A card to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardIssueBody {
    /// The id that is printed on the card; a minted one if absent.
    card_id: Option<String>,
    /// Whose it is; nobody's if absent.
    customer_id: Option<String>,
}

/// Issues a card.
#[utoipa::path(post, path = "/v1/admin/cards", tag = "admin", request_body = CardIssueBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 201, description = "Issued", body = CardChangeView),
        (status = 404, description = "No such customer"),
        (status = 409, description = "`already_exists`")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<CardIssueBody>,
) -> Result<Outcome, Problem> {
    let id = body.card_id.as_deref().map(|id| request::id("card_id", id, CardId::parse)).transpose()?;
    let owner = body.customer_id.as_deref().map(|id| request::id("customer_id", id, CustomerId::parse));
    let owner = owner.transpose()?;
    let fields = Fields::new().with_some("card_id", id).with_some("customer_id", owner);
    let request = CanonicalRequest { method: "POST", path: "/v1/admin/cards".to_owned(), fields };
    let (claim, admission) = app.claim(&who, Operation::CardIssue, key, request).await?;
    let plan = async |cx| Ok(card::plan_issue(who.tenant(), id, owner, who.actor(), &cx)?);
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            created(format!("/v1/admin/cards/{}", receipt.card), &CardChangeView::from(receipt))
        })
        .await)
}

/// A card.
#[utoipa::path(get, path = "/v1/admin/cards/{card_id}", tag = "admin",
    params(("card_id" = String, Path, description = "The card")),
    responses((status = 200, description = "The card", body = CardView),
        (status = 404, description = "No such card")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CardId>,
) -> Result<Json<CardView>, Problem> {
    let item = app.dynamo().get(&keys::card(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(CardView::from(&CardRecord::read(&item)?)))
}

/// Freezes or unfreezes a card.
#[utoipa::path(patch, path = "/v1/admin/cards/{card_id}", tag = "admin", request_body = StatusBody,
    params(("card_id" = String, Path, description = "The card"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 200, description = "Changed", body = CardChangeView),
        (status = 400, description = "`invalid_request`, `wrong_state`"),
        (status = 404, description = "No such card")))]
pub(crate) async fn patch(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<StatusBody>,
) -> Result<Outcome, Problem> {
    let status = request::word("status", &body.status, Status::parse, "active or frozen")?;
    let reason = request::memo("reason", body.reason.as_deref())?;
    let fields = Fields::new().with("status", status.name()).with_some("reason", reason.as_ref().map(FreeText::expose));
    let request = CanonicalRequest { method: "PATCH", path: format!("/v1/admin/cards/{id}"), fields };
    let (claim, admission) = app.claim(&who, Operation::CardAdminPatch, key, request).await?;
    let plan = async |cx| Ok(card::plan_status(who.tenant(), id, status, who.actor(), reason.as_ref(), &cx)?);
    Ok(app.perform(claim, admission, plan, |receipt| ok(&CardChangeView::from(receipt))).await)
}
