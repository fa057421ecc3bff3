//! `/v1/admin/reconciliation`: what the runs found, a run now, and the adjustment that a break proposes, which
//! takes two people like any other.

use super::adjustments::AdjustmentView;
use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::{FindingId, RunId};
use ledger_core::operation::Operation;
use ledger_core::ops::adjustment::{Answered, ReasonCode};
use ledger_core::ops::adjustment_request::{self, AdjustmentRequest};
use ledger_core::personal::FreeText;
use ledger_core::reconcile::run::{self, Run};
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, Empty, KeyedJson, PathId, PathOf};
use ledger_runtime::views::{FindingView, Page, RunView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A run and what it found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReportView {
    #[serde(flatten)]
    run: RunView,
    /// What it found, first what others follow from; at most 1,000 breaks are shown one by one.
    findings: Page<FindingView>,
}

/// Why an adjustment is asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    /// Why, in words; at most 140 characters.
    note: String,
}

/// The tenant's reconciliations, newest first.
#[utoipa::path(get, path = "/v1/admin/reconciliation", tag = "admin",
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 if absent"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page", body = Page<RunView>),
        (status = 400, description = "`invalid_request`")))]
pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    page: request::Page,
) -> Result<Json<Page<RunView>>, Problem> {
    Ok(Json(app.reconciliations(who.tenant(), page).await?))
}

/// One reconciliation, and a page of what it found.
#[utoipa::path(get, path = "/v1/admin/reconciliation/runs/{id}", tag = "admin",
    params(("id" = String, Path, description = "The run"),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 if absent"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "The run", body = ReportView),
        (status = 400, description = "`invalid_request`"),
        (status = 404, description = "No such run")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<RunId>,
    page: request::Page,
) -> Result<Json<ReportView>, Problem> {
    let (run, findings) = app.breaks(who.tenant(), id, page).await?;
    Ok(Json(ReportView { run: RunView::from(&run), findings }))
}

/// Asks for a reconciliation. It runs by itself, within a minute or so.
#[utoipa::path(post, path = "/v1/admin/reconciliation/runs", tag = "admin",
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 201, description = "Requested", body = RunView)))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let path = "/v1/admin/reconciliation/runs".to_owned();
    let request = CanonicalRequest { method: "POST", path, fields: Fields::new() };
    let (claim, admission) = app.claim(&who, Operation::ReconciliationRequest, key, request).await?;
    let plan = async |cx| Ok(run::plan(who.tenant(), who.staff_id(), &cx)?);
    let render = |run: &Run| created(format!("/v1/admin/reconciliation/runs/{}", run.id), &RunView::from(run));
    Ok(app.perform(claim, admission, plan, render).await)
}

/// Asks for the adjustment that a break proposes. Nothing moves until another person approves it.
#[utoipa::path(post, path = "/v1/admin/reconciliation/runs/{id}/findings/{finding_id}/adjustment", tag = "admin",
    request_body = AnswerBody,
    params(("id" = String, Path, description = "The run"),
        ("finding_id" = String, Path, description = "The break"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 201, description = "Pending", body = AdjustmentView),
        (status = 400, description = "`invalid_request`; also if the break proposes none"),
        (status = 404, description = "No such run, or no such break of it"),
        (status = 409, description = "`already_exists`: it was asked for")))]
pub(crate) async fn answer(
    State(app): State<App>,
    who: Admin,
    PathOf((run, finding)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<AnswerBody>,
) -> Result<Outcome, Problem> {
    let missing = |_| Problem::not_found();
    let (run, finding) = (RunId::parse(&run).map_err(missing)?, FindingId::parse(&finding).map_err(missing)?);
    let note: FreeText = request::reason("note", &body.note)?;
    let path = format!("/v1/admin/reconciliation/runs/{run}/findings/{finding}/adjustment");
    let fields = Fields::new().with("note", note.expose());
    let request = CanonicalRequest { method: "POST", path, fields };
    let (claim, admission) = app.claim(&who, Operation::AdjustmentRequest, key, request).await?;
    let plan = async |cx| {
        let (of, found) = app.found_break(who.tenant(), run, finding).await?;
        let none = || Problem::invalid_field("finding_id", "is a break that no adjustment answers");
        let (account, delta) = (found.account().ok_or_else(none)?, found.proposed.clone().ok_or_else(none)?);
        let ask = AdjustmentRequest {
            tenant: who.tenant().clone(),
            staff: who.staff_id(),
            account,
            delta,
            reason: ReasonCode::Reconciliation,
            note: note.clone(),
            finding: Some(Answered {
                run,
                finding,
                compared_at: of.began_at.unwrap_or(of.created_at),
                seen: found.seen,
            }),
        };
        Ok(adjustment_request::plan(&ask, &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |adjustment| {
            created(format!("/v1/admin/adjustments/{}", adjustment.id), &AdjustmentView::from(adjustment))
        })
        .await)
}
