//! `/v1/admin/topups/{id}/decisions`: what becomes of a top-up or a refund of one whose object at Stripe contradicts
//! our record. One person requests, another approves.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{DecisionId, RefundId, TopupId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::psp::PspId;
use ledger_core::topups::{DecisionKind, TopupDecision};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Empty, KeyedJson, PathId, PathOf};
use ledger_runtime::topups::DecisionRequest;
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request for a decision about a top-up, or about one refund of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"way": "book", "note": "looked at it in the dashboard"}))]
pub(crate) struct DecisionBody {
    /// `book`: what Stripe's object says is booked. `give_up`: the top-up or refund ends, and what it reserved or held
    /// is given back. Money that Stripe moved otherwise than our books expect is posted to `suspense`. `write_off`:
    /// what is on `suspense` is posted to `adjustments`.
    #[schema(value_type = words::DecisionWay)]
    way: String,
    /// The refund that the decision is about; absent if it is about the top-up itself.
    refund_id: Option<String>,
    /// The id of Stripe's object. If absent, the object that our record names, or whose metadata names the top-up or
    /// refund.
    object_id: Option<String>,
    /// The reason for the decision; at most 140 characters, no card number.
    note: String,
}

/// A decision about a top-up or about one refund of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecisionView {
    /// The decision's id.
    decision_id: String,
    /// The top-up.
    topup_id: String,
    /// The refund that the decision is about; absent if it is about the top-up itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_id: Option<String>,
    /// `book`, `give_up` or `write_off`.
    #[schema(value_type = words::DecisionWay)]
    way: String,
    /// Stripe's object at the time of the request: its id, state, amount in the smallest unit, and currency; absent for
    /// `write_off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// `pending`, `approved`, `rejected` or `withdrawn`.
    #[schema(value_type = words::DecisionStatus)]
    status: String,
    /// The staff member who requested it.
    requested_by: String,
    /// The time of the request.
    created_at: String,
    /// The time of the approval, rejection or withdrawal; absent while it is pending, and in the answer of the approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/topups/{id}/decisions")
    .summary("Requests a decision about a top-up or refund that contradicts Stripe's object.")
    .about("The decision takes effect only when another staff member approves it.")
    .permission(Permission::TopupDecisionsRequest)
    .id("id", "The top-up's id.")
    .body::<DecisionBody>()
    .created::<DecisionView>("Requested; pending approval")
    .when(Code::Unavailable, "the state at Stripe is not certain yet; retry with the same key")
    .problems(&[Code::WrongState])
    .when(Code::InvalidRequest, "the request is not valid, or the decision is not possible; `detail` has the reason")
    .when(Code::NotFound, "no such top-up or refund")
    .keyed(Operation::TopupDecisionRequest);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathId(topup): PathId<TopupId>,
    KeyedJson(key, body): KeyedJson<DecisionBody>,
) -> Result<Outcome, Problem> {
    let way = request::word("way", &body.way, DecisionKind::parse, "book, give_up or write_off")?;
    let refund = body.refund_id.as_deref().map(|id| request::id("refund_id", id, RefundId::parse)).transpose()?;
    let object = match &body.object_id {
        Some(id) => {
            Some(PspId::parse(id).ok_or_else(|| Problem::invalid_field("object_id", "is not an id of Stripe's"))?)
        }
        None => None,
    };
    let note = request::memo("note", &body.note);
    let fields = Fields::new()
        .with("way", way.name())
        .with_some("refund_id", refund)
        .with_some("object_id", object.as_ref())
        .with("note", note.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&topup], fields).await?;
    let wanted = DecisionRequest { topup, refund, way, object };
    let plan = async |cx| {
        let note = note.text()?;
        let executor = app.psp_executor().await?;
        let (planned, summary) = executor.request_decision(&claim, &wanted, (who.staff_id(), &note), &cx).await?;
        app.list_request((&claim, &who.member()), &summary, planned).await
    };
    let render = |decision: &TopupDecision| created(GET.path(&[&topup, &decision.id]), &DecisionView::from(decision));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/topups/{id}/decisions/{decision_id}")
    .summary("Returns a decision.")
    .permission(Permission::TopupsRead)
    .id("id", "The top-up's id.")
    .id("decision_id", "The decision's id.")
    .ok::<DecisionView>("The decision")
    .when(Code::NotFound, "no such decision");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathOf((topup, id)): PathOf<(String, String)>,
) -> Result<Json<DecisionView>, Problem> {
    let (topup, id) = ids(&topup, &id)?;
    let item =
        app.dynamo().get(&keys::topup_decision(who.tenant(), topup, id)).await?.ok_or_else(Problem::not_found)?;
    let view = DecisionView::from(&TopupDecision::read(&item)?);
    Ok(Json(DecisionView { decided_at: item.opt_string("decided_at")?, ..view }))
}

pub(crate) const APPROVE: Keyed = Endpoint::post("/v1/admin/topups/{id}/decisions/{decision_id}/approve")
    .summary("Approves a decision and carries it out.")
    .about(
        "The staff member who requested it cannot approve it. Stripe is queried again: if its object has changed \
         since the request, nothing is done.",
    )
    .permission(Permission::ApprovalsDecide)
    .id("id", "The top-up's id.")
    .id("decision_id", "The decision's id.")
    .ok::<DecisionView>("Carried out")
    .when(Code::Unavailable, "the state at Stripe is not certain yet; retry with the same key")
    .problems(&[Code::ApprovalExpired, Code::FourEyesRequired, Code::LegacyRecordUnreadable])
    .when(Code::WrongState, "the decision is already decided on, or Stripe's object or our record has changed")
    .when(
        Code::InvalidRequest,
        "the request is not valid, or the decision is no longer possible; `detail` has the reason",
    )
    .when(Code::NotFound, "no such decision")
    .keyed(Operation::TopupDecisionApprove);

pub(crate) async fn approve(
    State(app): State<App>,
    who: Admin,
    PathOf((topup, id)): PathOf<(String, String)>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (topup, id) = ids(&topup, &id)?;
    let (claim, admission) = APPROVE.claim(&app, &who, key, &[&topup, &id], Fields::new()).await?;
    let plan = async |cx| {
        let executor = app.psp_executor().await?;
        let (planned, request) = executor.approve_decision(&claim, (topup, id), who.staff_id(), &cx).await?;
        app.guarded_approval((&claim, &who.member()), &request, planned, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, |decision| ok(&DecisionView::from(decision))).await)
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
            decided_at: None,
        }
    }
}
