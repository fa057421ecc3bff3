//! Requests about a settlement that was paid by a bank file: to send the file again, or to book the transfer as
//! returned by the bank. One person requests, another approves.

use crate::settlements::{self, ids, read};
use axum::extract::State;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{MerchantId, PayoutRequestId, SettlementId};
use ledger_core::operation::Operation;
use ledger_core::ops::settlement::asked::{self, Asked, PayoutRequestKind};
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, accepted, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathOf};
use ledger_runtime::settlement::SettlementRef;
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a bank file is to be sent again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"note": "the bank says that it got no file"}))]
pub(crate) struct ResendBody {
    /// At most 140 characters.
    note: String,
}

/// How it is known that the bank returned a transfer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"note": "the bank returned it: the account is closed"}))]
pub(crate) struct ReturnBody {
    /// At most 140 characters.
    note: String,
}

/// A request to send a bank file again.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResendView {
    resend_id: String,
    settlement_id: String,
    /// `pending`, or `resending` once it is approved: the settlement's `resent_at` says when it was done.
    #[schema(value_type = words::ResendStatus)]
    status: String,
    requested_by: String,
    created_at: String,
}

/// A request to book a transfer as returned by the bank.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReturnView {
    return_id: String,
    settlement_id: String,
    /// `pending` or `approved`.
    #[schema(value_type = words::ApprovalStatus)]
    status: String,
    requested_by: String,
    created_at: String,
}

pub(crate) const ASK_RESEND: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/resends")
    .summary("Asks for a settlement's bank file to be sent again.")
    .about("A bank pays a file as often as it gets it: nothing is sent until another person approves it.")
    .permission(Permission::PayoutRequestsMake)
    .id("merchant_id", "The merchant.")
    .id("id", "The settlement.")
    .body::<ResendBody>()
    .created::<ResendView>("Pending")
    .when(Code::WrongState, "it was not paid by a file")
    .when(Code::NotFound, "no such settlement")
    .keyed(Operation::FileResendRequest);

pub(crate) async fn ask_resend(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ResendBody>,
) -> Result<Outcome, Problem> {
    let note = request::reason("note", &body.note)?;
    let at = at(&who, &merchant, &id)?;
    let path = ASK_RESEND.path(&[&at.merchant, &at.id]);
    let render = |asked: &Asked| created(format!("{path}/{}", asked.id), &ResendView::from(asked));
    ask(&app, &who, (PayoutRequestKind::Resend, &ASK_RESEND, &at), (key, &note), render).await
}

pub(crate) const APPROVE_RESEND: Keyed =
    Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/resends/{resend_id}/approve")
        .summary("Approves that a bank file is sent again.")
        .about(
            "Who asked cannot. The answer comes at once, and the file within minutes: until then the settlement shows \
         `resending`, and after that `resent_at`. One is sent at a time.",
        )
        .permission(Permission::PayoutRequestsDecide)
        .id("merchant_id", "The merchant.")
        .id("id", "The settlement.")
        .id("resend_id", "The request.")
        .accepted::<ResendView>("It is being sent")
        .problems(&[Code::FourEyesRequired])
        .when(Code::WrongState, "it has been decided on, the file is being sent again, or the money came back")
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
    let render = |asked: &Asked| {
        accepted(watched.clone(), &ResendView { status: "resending".to_owned(), ..ResendView::from(asked) })
    };
    approve(&app, &who, (PayoutRequestKind::Resend, &APPROVE_RESEND, &at), (key, &resend), render).await
}

pub(crate) const ASK_RETURN: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/returns")
    .summary("Asks for a settlement's transfer to be booked as returned by the bank.")
    .about("Nothing is booked until another person approves it.")
    .permission(Permission::PayoutRequestsMake)
    .id("merchant_id", "The merchant.")
    .id("id", "The settlement.")
    .body::<ReturnBody>()
    .created::<ReturnView>("Pending")
    .when(Code::WrongState, "it was not paid by a file")
    .when(Code::NotFound, "no such settlement")
    .keyed(Operation::SettlementReturnRequest);

pub(crate) async fn ask_return(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ReturnBody>,
) -> Result<Outcome, Problem> {
    let note = request::reason("note", &body.note)?;
    let at = at(&who, &merchant, &id)?;
    let path = ASK_RETURN.path(&[&at.merchant, &at.id]);
    let render = |asked: &Asked| created(format!("{path}/{}", asked.id), &ReturnView::from(asked));
    ask(&app, &who, (PayoutRequestKind::Return, &ASK_RETURN, &at), (key, &note), render).await
}

pub(crate) const APPROVE_RETURN: Keyed =
    Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/returns/{return_id}/approve")
        .summary(
            "Approves that a transfer was returned by the bank: the merchant is owed it again, and its next \
         settlement pays it.",
        )
        .about("Who asked cannot.")
        .permission(Permission::PayoutRequestsDecide)
        .id("merchant_id", "The merchant.")
        .id("id", "The settlement.")
        .id("return_id", "The request.")
        .ok::<ReturnView>("Booked")
        .problems(&[Code::FourEyesRequired])
        .when(Code::WrongState, "it has been decided on, its file is being sent again, or the money came back before")
        .when(Code::NotFound, "no such request")
        .keyed(Operation::SettlementReturnApprove);

pub(crate) async fn approve_return(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id, request)): PathOf<(String, String, String)>,
    KeyedJson(key, request::Empty {}): KeyedJson<request::Empty>,
) -> Result<Outcome, Problem> {
    let at = at(&who, &merchant, &id)?;
    let render = |asked: &Asked| ok(&ReturnView::from(asked));
    let outcome =
        approve(&app, &who, (PayoutRequestKind::Return, &APPROVE_RETURN, &at), (key, &request), render).await?;
    if outcome.status() == 200 && !outcome.is_replay() {
        app.metrics().count(Metric::PayoutReturned, who.tenant(), APPROVE_RETURN.operation());
    }
    Ok(outcome)
}

type Answered = ledger_core::idempotency::Answer;

async fn ask(
    app: &App,
    who: &Admin,
    (kind, endpoint, at): (PayoutRequestKind, &Keyed, &SettlementRef),
    (key, note): (request::RequestKey, &FreeText),
    render: impl Fn(&Asked) -> Answered,
) -> Result<Outcome, Problem> {
    let fields = Fields::new().with("note", note.expose());
    let (claim, admission) = endpoint.claim(app, who, key, &[&at.merchant, &at.id], fields).await?;
    let plan = async |cx| {
        let settlement = read(app, who, (at.merchant, at.id), &claim).await?;
        Ok(asked::plan_request(who.tenant(), &settlement, kind, who.staff_id(), note, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

async fn approve(
    app: &App,
    who: &Admin,
    (kind, endpoint, at): (PayoutRequestKind, &Keyed, &SettlementRef),
    (key, id): (request::RequestKey, &str),
    render: impl Fn(&Asked) -> Answered,
) -> Result<Outcome, Problem> {
    let id = PayoutRequestId::parse(id).map_err(|_| Problem::not_found())?;
    let (claim, admission) = endpoint.claim(app, who, key, &[&at.merchant, &at.id, &id], Fields::new()).await?;
    let place = kind.key(who.tenant(), at.merchant, id);
    let plan = async |cx| {
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&place)).await?;
        let found = Asked::read(kind, &items.into_iter().flatten().next().ok_or(PlanError::Missing)?)?;
        if found.settlement != at.id {
            return Err(PlanError::Missing);
        }
        let settlement = read(app, who, (at.merchant, at.id), &claim).await?;
        Ok(asked::plan_approve(who.tenant(), &found, &settlement, who.staff_id(), &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// The settlement that the path names.
fn at(who: &Admin, merchant: &str, id: &str) -> Result<SettlementRef, Problem> {
    let (merchant, id): (MerchantId, SettlementId) = ids(merchant, id)?;
    Ok(SettlementRef { tenant: who.tenant().clone(), merchant, id })
}

impl From<&Asked> for ResendView {
    fn from(asked: &Asked) -> Self {
        Self {
            resend_id: asked.id.to_string(),
            settlement_id: asked.settlement.to_string(),
            status: asked.state.clone(),
            requested_by: asked.requested_by.to_string(),
            created_at: asked.created_at.to_string(),
        }
    }
}

impl From<&Asked> for ReturnView {
    fn from(asked: &Asked) -> Self {
        let ResendView { resend_id, settlement_id, status, requested_by, created_at } = ResendView::from(asked);
        Self { return_id: resend_id, settlement_id, status, requested_by, created_at }
    }
}
