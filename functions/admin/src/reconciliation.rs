//! `/v1/admin/reconciliation`: lists and requests runs, and requests the adjustment that a break proposes. Another
//! person approves it, as with every adjustment.

use crate::adjustments::request_adjustment;
use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::adjustments::{Adjustment, Answered, ReasonCode};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{FindingId, RunId};
use ledger_core::operation::Operation;
use ledger_core::reconcile::run::{self, Run};
use ledger_core::reconcile::{BreakKind, Proposal};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Empty, KeyedJson, Listing, Params, PathId, PathOf};
use ledger_runtime::views::{BreakView, FindingView, Page, RunView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A run, with a page of the breaks that it found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReportView {
    #[serde(flatten)]
    run: RunView,
    /// The breaks, causes before the breaks that follow from them; at most 1,000 are shown one by one.
    findings: Page<FindingView>,
}

/// The reason for the adjustment that a break proposes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"note": "the entry was written twice"}))]
pub(crate) struct AnswerBody {
    /// Why the adjustment is requested; at most 140 characters, no card number.
    note: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/reconciliation")
    .summary("Lists the tenant's reconciliations, newest first.")
    .permission(Permission::ReconciliationRead)
    .pages_of::<RunView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    page: request::Page,
) -> Result<Json<Page<RunView>>, Problem> {
    Ok(Json(app.reconciliations(who.tenant(), page).await?))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/reconciliation/runs/{id}")
    .summary("Returns one reconciliation and a page of the breaks that it found.")
    .permission(Permission::ReconciliationRead)
    .id("id", "The run's id.")
    .paged()
    .ok::<ReportView>("The run")
    .when(Code::NotFound, "no such run");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<RunId>,
    page: request::Page,
) -> Result<Json<ReportView>, Problem> {
    let (run, findings) = app.breaks(who.tenant(), id, page).await?;
    Ok(Json(ReportView { run: RunView::from(&run), findings }))
}

pub(crate) const BREAKS: Endpoint = Endpoint::get("/v1/admin/breaks")
    .summary("Lists the breaks of all reconciliations, newest first.")
    .about(
        "`from` and `to` are the times of the requests of the reconciliations. A page may have fewer items than `limit`, or \
         none, and still a `next_cursor`.",
    )
    .permission(Permission::ReconciliationRead)
    .pages_of::<BreakView>()
    .parameter(Parameter::in_query("kind", "Breaks of this kind.", Kind::Form("^[a-z_]{2,60}$", "balance_differs")))
    .parameter(Listing::FROM)
    .parameter(Listing::TO);

pub(crate) async fn breaks(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<BreakView>>, Problem> {
    let kind = params.take("kind")?;
    let kind = kind.map(|name| request::word("kind", &name, BreakKind::parse, "a kind of break")).transpose()?;
    let (range, page) = (params.range()?, params.pair_page()?);
    params.finish()?;
    app.breaks_of_runs(who.tenant(), range, page, kind).await.map(Json)
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/reconciliation/runs")
    .summary("Requests a reconciliation.")
    .about("It runs in the background and starts within about a minute.")
    .permission(Permission::ReconciliationRun)
    .created::<RunView>("Requested")
    .keyed(Operation::ReconciliationRequest);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], Fields::new()).await?;
    let plan = async |cx| Ok(run::plan(who.tenant(), who.staff_id(), &cx)?);
    let render = |run: &Run| created(GET.path(&[&run.id]), &RunView::from(run));
    Ok(app.perform(claim, admission, plan, render).await)
}

pub(crate) const ANSWER: Keyed = Endpoint::post("/v1/admin/reconciliation/runs/{id}/findings/{finding_id}/adjustment")
    .summary("Requests the adjustment that a break proposes.")
    .permission(Permission::AdjustmentsRequest)
    .id("id", "The run's id.")
    .id("finding_id", "The id of the break.")
    .body::<AnswerBody>()
    .approvable()
    .when(Code::InvalidRequest, "the request is not valid, or the break proposes no adjustment")
    .when(Code::NotFound, "no such run, or the run has no such break")
    .when(Code::AlreadyExists, "the adjustment is already requested")
    .when(
        Code::WrongState,
        "the balance was corrected since the run read it: the next run finds whether it still differs",
    )
    .keyed(Operation::Adjustment);

pub(crate) async fn answer(
    State(app): State<App>,
    who: Admin,
    PathOf((run, finding)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<AnswerBody>,
) -> Result<Outcome, Problem> {
    let missing = |_| Problem::not_found();
    let (run, finding) = (RunId::parse(&run).map_err(missing)?, FindingId::parse(&finding).map_err(missing)?);
    let note = request::memo("note", &body.note);
    let fields = Fields::new().with("note", note.as_sent());
    let (claim, admission) = ANSWER.claim(&app, &who, key, &[&run, &finding], fields).await?;
    let plan = async |cx| {
        let (_, found) = app.found_break(who.tenant(), run, finding).await?;
        let none = || Problem::invalid_field("finding_id", "is a break that proposes no adjustment");
        let account = found.account().ok_or_else(none)?;
        let (asset, proposal) = (found.asset.ok_or_else(none)?, found.proposed.ok_or_else(none)?);
        let Proposal { delta, exposure, seen } = proposal;
        let finding = Some(Answered { run, finding, seen, exposure });
        let adjustment = Adjustment { account, asset, delta, reason: ReasonCode::Reconciliation, finding };
        request_adjustment(&app, &who, &claim, (adjustment, &note.text()?), &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
