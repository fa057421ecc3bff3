//! What one person asks for and another approves, of a settlement that was paid by a bank file: sending the file
//! again, and booking the transfer as returned by the bank.

use crate::settlements::{ids, read};
use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::{MerchantId, PayoutRequestId, SettlementId};
use ledger_core::ops::settlement::asked::{self, Asked, Wish};
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, PlanError, accepted, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, KeyedJson, PathOf};
use ledger_runtime::settlement::SettlementRef;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a bank file is to be sent again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResendBody {
    /// At most 140 characters.
    note: String,
}

/// How it is known that the bank returned a transfer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
    status: String,
    requested_by: String,
    created_at: String,
}

/// Asks for a settlement's bank file to be sent again. A bank pays a file as often as it gets it: nothing is
/// sent until another person approves it.
#[utoipa::path(post, path = "/v1/admin/merchants/{merchant_id}/settlements/{id}/resends", tag = "admin",
    request_body = ResendBody,
    params(("merchant_id" = String, Path, description = "The merchant"),
        ("id" = String, Path, description = "The settlement"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 201, description = "Pending", body = ResendView),
        (status = 400, description = "`invalid_request`; `wrong_state` unless it was paid by a file"),
        (status = 404, description = "No such settlement")))]
pub(crate) async fn ask_resend(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ResendBody>,
) -> Result<Outcome, Problem> {
    let note = request::reason("note", &body.note)?;
    let (at, path) = at(&who, &merchant, &id, "resends")?;
    let render = |asked: &Asked| created(format!("{path}/{}", asked.id), &ResendView::from(asked));
    ask(&app, &who, (Wish::Resend, &at, &path), (key, &note), render).await
}

/// Approves that a bank file is sent again. Who asked cannot. The answer comes at once, and the file within minutes:
/// until then the settlement shows `resending`, and after that `resent_at`. One is sent at a time.
#[utoipa::path(post, path = "/v1/admin/merchants/{merchant_id}/settlements/{id}/resends/{resend_id}/approve",
    tag = "admin",
    params(("merchant_id" = String, Path, description = "The merchant"),
        ("id" = String, Path, description = "The settlement"),
        ("resend_id" = String, Path, description = "The request"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 202, description = "It is being sent", body = ResendView),
        (status = 400, description = "`wrong_state` if it has been decided on, the file is being sent again, or the \
            money came back"),
        (status = 403, description = "`four_eyes_required`"),
        (status = 404, description = "No such request")))]
pub(crate) async fn approve_resend(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id, resend)): PathOf<(String, String, String)>,
    KeyedJson(key, request::Empty {}): KeyedJson<request::Empty>,
) -> Result<Outcome, Problem> {
    let (at, path) = at(&who, &merchant, &id, "resends")?;
    let watched = format!("/v1/admin/merchants/{}/settlements/{}", at.merchant, at.id);
    let render = |asked: &Asked| {
        accepted(watched.clone(), &ResendView { status: "resending".to_owned(), ..ResendView::from(asked) })
    };
    approve(&app, &who, (Wish::Resend, &at, &path), (key, &resend), render).await
}

/// Asks for a settlement's transfer to be booked as returned by the bank. Nothing is booked until another person
/// approves it.
#[utoipa::path(post, path = "/v1/admin/merchants/{merchant_id}/settlements/{id}/returns", tag = "admin",
    request_body = ReturnBody,
    params(("merchant_id" = String, Path, description = "The merchant"),
        ("id" = String, Path, description = "The settlement"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 201, description = "Pending", body = ReturnView),
        (status = 400, description = "`invalid_request`; `wrong_state` unless it was paid by a file"),
        (status = 404, description = "No such settlement")))]
pub(crate) async fn ask_return(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ReturnBody>,
) -> Result<Outcome, Problem> {
    let note = request::reason("note", &body.note)?;
    let (at, path) = at(&who, &merchant, &id, "returns")?;
    let render = |asked: &Asked| created(format!("{path}/{}", asked.id), &ReturnView::from(asked));
    ask(&app, &who, (Wish::Return, &at, &path), (key, &note), render).await
}

/// Approves that a transfer was returned by the bank: the merchant is owed it again, and its next settlement
/// pays it. Who asked cannot.
#[utoipa::path(post, path = "/v1/admin/merchants/{merchant_id}/settlements/{id}/returns/{return_id}/approve",
    tag = "admin",
    params(("merchant_id" = String, Path, description = "The merchant"),
        ("id" = String, Path, description = "The settlement"),
        ("return_id" = String, Path, description = "The request"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 200, description = "Booked", body = ReturnView),
        (status = 400, description = "`wrong_state` if it has been decided on, its file is being sent again, or the \
            money came back before"),
        (status = 403, description = "`four_eyes_required`"),
        (status = 404, description = "No such request")))]
pub(crate) async fn approve_return(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id, request)): PathOf<(String, String, String)>,
    KeyedJson(key, request::Empty {}): KeyedJson<request::Empty>,
) -> Result<Outcome, Problem> {
    let (at, path) = at(&who, &merchant, &id, "returns")?;
    let render = |asked: &Asked| ok(&ReturnView::from(asked));
    let outcome = approve(&app, &who, (Wish::Return, &at, &path), (key, &request), render).await?;
    if outcome.status() == 200 && !outcome.is_replay() {
        app.metrics().count(Metric::PayoutReturned, who.tenant(), Wish::Return.approval());
    }
    Ok(outcome)
}

type Answered = ledger_core::idempotency::Answer;

async fn ask(
    app: &App,
    who: &Admin,
    (wish, at, path): (Wish, &SettlementRef, &str),
    (key, note): (request::RequestKey, &FreeText),
    render: impl Fn(&Asked) -> Answered,
) -> Result<Outcome, Problem> {
    let fields = Fields::new().with("note", note.expose());
    let request = CanonicalRequest { method: "POST", path: path.to_owned(), fields };
    let (claim, admission) = app.claim(who, wish.request(), key, request).await?;
    let plan = async |cx| {
        let settlement = read(app, who, (at.merchant, at.id), &claim).await?;
        Ok(asked::plan_request(who.tenant(), &settlement, wish, who.staff_id(), note, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

async fn approve(
    app: &App,
    who: &Admin,
    (wish, at, path): (Wish, &SettlementRef, &str),
    (key, id): (request::RequestKey, &str),
    render: impl Fn(&Asked) -> Answered,
) -> Result<Outcome, Problem> {
    let id = PayoutRequestId::parse(id).map_err(|_| Problem::not_found())?;
    let request = CanonicalRequest { method: "POST", path: format!("{path}/{id}/approve"), fields: Fields::new() };
    let (claim, admission) = app.claim(who, wish.approval(), key, request).await?;
    let place = wish.key(who.tenant(), at.merchant, id);
    let plan = async |cx| {
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&place)).await?;
        let found = Asked::read(wish, &items.into_iter().flatten().next().ok_or(PlanError::Missing)?)?;
        if found.settlement != at.id {
            return Err(PlanError::Missing);
        }
        let settlement = read(app, who, (at.merchant, at.id), &claim).await?;
        Ok(asked::plan_approve(who.tenant(), &found, &settlement, who.staff_id(), &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// Which settlement, and where requests of a kind about it are.
fn at(who: &Admin, merchant: &str, id: &str, kind: &str) -> Result<(SettlementRef, String), Problem> {
    let (merchant, id): (MerchantId, SettlementId) = ids(merchant, id)?;
    let path = format!("/v1/admin/merchants/{merchant}/settlements/{id}/{kind}");
    Ok((SettlementRef { tenant: who.tenant().clone(), merchant, id }, path))
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
