//! Requests to send the bank file of a settlement again. One person requests, another approves.

use crate::settlements::{self, ids, read};
use axum::extract::State;
use ledger_core::approvals::{RecordedRequest, RequestSummary};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{MerchantId, PayoutRequestId, SettlementId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::settlements::requests::{self as rules, PayoutRequest};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, accepted, created};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathOf, SentText};
use ledger_runtime::settlement::SettlementRef;
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The reason for sending a bank file again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"note": "the bank received no file"}))]
pub(crate) struct ResendBody {
    /// The reason; at most 140 characters, no card number.
    note: String,
}

/// A request to send a bank file again.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResendView {
    /// The request's id.
    resend_id: String,
    /// The settlement whose file is sent again.
    settlement_id: String,
    /// `pending`, or `resending` once it is approved; the settlement's `resent_at` is set when the file is sent.
    #[schema(value_type = words::ResendStatus)]
    status: String,
    /// The staff member who requested it.
    requested_by: String,
    /// The time of the request.
    created_at: String,
}

pub(crate) const ASK_RESEND: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/resends")
    .summary("Requests that a settlement's bank file is sent again.")
    .about("A bank pays a file each time it receives it. Nothing is sent until another staff member approves.")
    .permission(Permission::PayoutRequestsMake)
    .id("merchant_id", "The merchant's id.")
    .id("id", "The settlement's id.")
    .body::<ResendBody>()
    .created::<ResendView>("Requested; pending approval")
    .when(Code::WrongState, "the settlement is not paid by a bank file")
    .when(Code::NotFound, "no such settlement")
    .keyed(Operation::FileResendRequest);

pub(crate) async fn ask_resend(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ResendBody>,
) -> Result<Outcome, Problem> {
    let note = request::memo("note", &body.note);
    let at = at(&who, &merchant, &id)?;
    let path = ASK_RESEND.path(&[&at.merchant, &at.id]);
    let render = |request: &PayoutRequest| created(format!("{path}/{}", request.id), &ResendView::from(request));
    ask(&app, &who, (&ASK_RESEND, &at), (key, &note), render).await
}

pub(crate) const APPROVE_RESEND: Keyed =
    Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/resends/{resend_id}/approve")
        .summary("Approves a request to send a bank file again.")
        .about(
            "The staff member who requested it cannot approve it. The file is sent within minutes: until then the \
         settlement has `resending`, afterwards `resent_at`. Only one resend runs at a time.",
        )
        .permission(Permission::ApprovalsDecide)
        .id("merchant_id", "The merchant's id.")
        .id("id", "The settlement's id.")
        .id("resend_id", "The request's id.")
        .accepted::<ResendView>("Approved; the file is being sent")
        .problems(&[Code::ApprovalExpired, Code::FourEyesRequired])
        .when(Code::WrongState, "it is already decided on, the file is being sent again, or the transfer was returned")
        .when(Code::NotFound, "no such request")
        .keyed(Operation::FileResendApprove);

pub(crate) async fn approve_resend(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id, resend)): PathOf<(String, String, String)>,
    KeyedJson(key, request::Empty {}): KeyedJson<request::Empty>,
) -> Result<Outcome, Problem> {
    let at = at(&who, &merchant, &id)?;
    let watched = settlements::GET.path(&[&at.merchant, &at.id]);
    let render = |request: &PayoutRequest| {
        accepted(watched.clone(), &ResendView { status: "resending".to_owned(), ..ResendView::from(request) })
    };
    approve(&app, &who, (&APPROVE_RESEND, &at), (key, &resend), render).await
}

type Answered = ledger_core::idempotency::Answer;

async fn ask(
    app: &App,
    who: &Admin,
    (endpoint, at): (&Keyed, &SettlementRef),
    (key, note): (request::RequestKey, &SentText),
    render: impl Fn(&PayoutRequest) -> Answered,
) -> Result<Outcome, Problem> {
    let fields = Fields::new().with("note", note.as_sent());
    let (claim, admission) = endpoint.claim(app, who, key, &[&at.merchant, &at.id], fields).await?;
    let plan = async |cx| {
        let settlement = read(app, who, (at.merchant, at.id), &claim).await?;
        let note = note.text()?;
        let planned = rules::plan_request(who.tenant(), &settlement, who.staff_id(), &note, &cx)?;
        let summary = RequestSummary::of_payout(&planned.receipt, &settlement, Some(&note));
        app.list_request((&claim, &who.member()), &summary, planned).await
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

async fn approve(
    app: &App,
    who: &Admin,
    (endpoint, at): (&Keyed, &SettlementRef),
    (key, id): (request::RequestKey, &str),
    render: impl Fn(&PayoutRequest) -> Answered,
) -> Result<Outcome, Problem> {
    let id = PayoutRequestId::parse(id).map_err(|_| Problem::not_found())?;
    let (claim, admission) = endpoint.claim(app, who, key, &[&at.merchant, &at.id, &id], Fields::new()).await?;
    let place = keys::payout_file_resend(who.tenant(), at.merchant, id);
    let plan = async |cx| {
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&place)).await?;
        let item = items.into_iter().flatten().next().ok_or(PlanError::Missing)?;
        let found = PayoutRequest::read(&item)?;
        if found.settlement != at.id {
            return Err(PlanError::Missing);
        }
        let settlement = read(app, who, (at.merchant, at.id), &claim).await?;
        let summary = RequestSummary::of_payout(&found, &settlement, None);
        let request = RecordedRequest::read(summary, &item)?;
        let planned = rules::plan_approve(who.tenant(), &found, &settlement, who.staff_id(), &cx)?;
        app.guarded_approval((&claim, &who.member()), &request, planned, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// The settlement that the path names.
fn at(who: &Admin, merchant: &str, id: &str) -> Result<SettlementRef, Problem> {
    let (merchant, id): (MerchantId, SettlementId) = ids(merchant, id)?;
    Ok(SettlementRef { tenant: who.tenant().clone(), merchant, id })
}

impl From<&PayoutRequest> for ResendView {
    fn from(request: &PayoutRequest) -> Self {
        Self {
            resend_id: request.id.to_string(),
            settlement_id: request.settlement.to_string(),
            status: request.state.clone(),
            requested_by: request.requested_by.to_string(),
            created_at: request.created_at.to_string(),
        }
    }
}
