//! `/v1/admin/topups/{id}/decisions`: what becomes of a top-up or a refund of one whose object at Stripe contradicts
//! our record. One person asks, another approves.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::{DecisionId, RefundId, TopupId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::ops::topup::{TopupDecision, Way};
use ledger_core::psp::PspId;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, Empty, KeyedJson, PathId, PathOf};
use ledger_runtime::topups::DecisionRequest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request for a decision.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionBody {
    /// `book`: what Stripe's object says is booked. `give_up`: the top-up or refund ends, and what it reserved or held is
    /// given back. What Stripe moved otherwise than our books expect is posted to `suspense`. `write_off`: what is on
    /// `suspense` is posted to `adjustments`.
    way: String,
    /// Of which refund of the top-up; of the top-up itself if absent.
    refund_id: Option<String>,
    /// Stripe's object; the one that our record knows, or that names it in its metadata, if absent.
    object_id: Option<String>,
    /// Why; at most 140 characters.
    note: String,
}

/// A decision.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecisionView {
    decision_id: String,
    topup_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_id: Option<String>,
    /// `book`, `give_up` or `write_off`.
    way: String,
    /// What Stripe's object said when it was asked for: its id, state, amount in the smallest unit and currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// `pending` or `approved`.
    status: String,
    requested_by: String,
    created_at: String,
}

/// Asks for a decision about a top-up or refund that Stripe contradicts. Nothing happens until another person approves
/// it.
#[utoipa::path(post, path = "/v1/admin/topups/{id}/decisions", tag = "admin", request_body = DecisionBody,
    params(("id" = String, Path, description = "The top-up"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 201, description = "Pending", body = DecisionView),
        (status = 400, description = "`invalid_request`, naming why it cannot be decided so; `wrong_state`"),
        (status = 404, description = "No such top-up or refund"),
        (status = 503, description = "Stripe does not tell yet: try again with the same key")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathId(topup): PathId<TopupId>,
    KeyedJson(key, body): KeyedJson<DecisionBody>,
) -> Result<Outcome, Problem> {
    let way = request::word("way", &body.way, Way::parse, "book, give_up or write_off")?;
    let refund = body.refund_id.as_deref().map(|id| request::id("refund_id", id, RefundId::parse)).transpose()?;
    let object = match &body.object_id {
        Some(id) => {
            Some(PspId::parse(id).ok_or_else(|| Problem::invalid_field("object_id", "is not an id of Stripe's"))?)
        }
        None => None,
    };
    let note = request::reason("note", &body.note)?;
    let fields = Fields::new()
        .with("way", way.name())
        .with_some("refund_id", refund)
        .with_some("object_id", object.as_ref())
        .with("note", note.expose());
    let path = format!("/v1/admin/topups/{topup}/decisions");
    let request = CanonicalRequest { method: "POST", path: path.clone(), fields };
    let (claim, admission) = app.claim(&who, Operation::TopupDecisionRequest, key, request).await?;
    let wanted = DecisionRequest { topup, refund, way, object };
    let plan = async |cx| app.desk().await?.request_decision(&claim, &wanted, (who.staff_id(), &note), &cx).await;
    let render = |asked: &TopupDecision| created(format!("{path}/{}", asked.id), &DecisionView::from(asked));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// A decision.
#[utoipa::path(get, path = "/v1/admin/topups/{id}/decisions/{decision_id}", tag = "admin",
    params(("id" = String, Path, description = "The top-up"),
        ("decision_id" = String, Path, description = "The decision")),
    responses((status = 200, description = "The decision", body = DecisionView),
        (status = 404, description = "No such decision")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathOf((topup, id)): PathOf<(String, String)>,
) -> Result<Json<DecisionView>, Problem> {
    let (topup, id) = ids(&topup, &id)?;
    let item =
        app.dynamo().get(&keys::topup_decision(who.tenant(), topup, id)).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(DecisionView::from(&TopupDecision::read(&item)?)))
}

/// Approves a decision, which carries it out. Who asked cannot. Stripe is asked again: if its object says something
/// else than when the decision was asked for, nothing is done.
#[utoipa::path(post, path = "/v1/admin/topups/{id}/decisions/{decision_id}/approve", tag = "admin",
    params(("id" = String, Path, description = "The top-up"),
        ("decision_id" = String, Path, description = "The decision"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 200, description = "Carried out", body = DecisionView),
        (status = 400, description = "`wrong_state` if it has been decided on, or Stripe's object or our record has changed; \
            `invalid_request`, naming why it cannot be decided so any more"),
        (status = 403, description = "`four_eyes_required`"),
        (status = 404, description = "No such decision"),
        (status = 503, description = "Stripe does not tell yet: try again with the same key")))]
pub(crate) async fn approve(
    State(app): State<App>,
    who: Admin,
    PathOf((topup, id)): PathOf<(String, String)>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (topup, id) = ids(&topup, &id)?;
    let path = format!("/v1/admin/topups/{topup}/decisions/{id}/approve");
    let request = CanonicalRequest { method: "POST", path, fields: Fields::new() };
    let (claim, admission) = app.claim(&who, Operation::TopupDecisionApprove, key, request).await?;
    let plan = async |cx| app.desk().await?.approve_decision(&claim, (topup, id), who.staff_id(), &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, |asked| ok(&DecisionView::from(asked))).await)
}

fn ids(topup: &str, decision: &str) -> Result<(TopupId, DecisionId), Problem> {
    let topup = TopupId::parse(topup).map_err(|_| Problem::not_found())?;
    Ok((topup, DecisionId::parse(decision).map_err(|_| Problem::not_found())?))
}

impl From<&TopupDecision> for DecisionView {
    fn from(decision: &TopupDecision) -> Self {
        Self {
            decision_id: decision.id.to_string(),
            topup_id: decision.topup.to_string(),
            refund_id: decision.refund.map(|refund| refund.to_string()),
            way: decision.way.name().to_owned(),
            object: decision.object.clone(),
            status: decision.state.clone(),
            requested_by: decision.requested_by.to_string(),
            created_at: decision.created_at.to_string(),
        }
    }
}
