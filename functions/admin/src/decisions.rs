//! `/v1/admin/topups/{id}/decisions`: what becomes of a top-up or a refund of one whose object at Stripe contradicts
//! our record. One person requests, another approves it among the approvals.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::{Approval, Command};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{ApprovalId, RefundId, TopupId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::psp::PspId;
use ledger_core::time::Timestamp;
use ledger_core::topups::DecisionKind;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId, PathOf};
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
    /// The decision's id: that of its approval.
    decision_id: String,
    /// The top-up.
    topup_id: String,
    /// The refund that the decision is about; absent if it is about the top-up itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_id: Option<String>,
    /// `book`, `give_up` or `write_off`.
    #[schema(value_type = words::DecisionWay)]
    way: &'static str,
    /// Stripe's object at the time of the request: its id, state, amount in the smallest unit, and currency; absent for
    /// `write_off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// `pending`, `approved`, `rejected`, `withdrawn`, `expired` or `stale`.
    #[schema(value_type = words::ApprovalStateWord)]
    status: &'static str,
    /// The staff member who requested it.
    requested_by: String,
    /// The time of the request.
    created_at: String,
    /// The time of the approval, rejection or withdrawal; absent while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/topups/{id}/decisions")
    .summary("Requests a decision about a top-up or refund that contradicts Stripe's object.")
    .permission(Permission::TopupDecisionsRequest)
    .id("id", "The top-up's id.")
    .body::<DecisionBody>()
    .approvable()
    .when(Code::Unavailable, "the state at Stripe is not certain yet; retry with the same key")
    .problems(&[Code::WrongState])
    .when(Code::InvalidRequest, "the request is not valid, or the decision is not possible; `detail` has the reason")
    .when(Code::NotFound, "no such top-up or refund")
    .keyed(Operation::TopupDecision);

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
    let plan = async |cx| app.request_decision((&claim, &who.member()), &wanted, &note.text()?, &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
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
    let missing = |_| Problem::not_found();
    let (topup, id) = (TopupId::parse(&topup).map_err(missing)?, ApprovalId::parse(&id).map_err(missing)?);
    let item = app.dynamo().get(&keys::approval(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let view = DecisionView::of(&Approval::read(&item)?, topup, app.now());
    view.map(Json).ok_or_else(Problem::not_found)
}

impl DecisionView {
    /// What the API shows of a decision about a top-up; `None` for another command.
    fn of(approval: &Approval, topup: TopupId, now: Timestamp) -> Option<Self> {
        let Command::TopupDecision(decision) = &approval.command else { return None };
        (decision.topup == topup).then(|| Self {
            decision_id: approval.id.to_string(),
            topup_id: topup.to_string(),
            refund_id: decision.refund.map(|refund| refund.to_string()),
            way: decision.way.name(),
            object: decision.object.clone(),
            status: approval.state(now).name(),
            requested_by: approval.requested_by.to_string(),
            created_at: approval.created_at.to_string(),
            decided_at: approval.decided_at.map(|at| at.to_string()),
        })
    }
}
