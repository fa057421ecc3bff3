//! `/v1/admin/wind-downs`: closes every card and customer of the tenant, in the background.

use crate::approvals;
use crate::cards::current_terms;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::idempotency::Fields;
use ledger_core::ids::JobId;
use ledger_core::jobs;
use ledger_core::keys::{self, JobKind};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::wind_downs::{self, LineState, WindDown, WindDownLine, WindDownStop};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Params, PathId};
use ledger_runtime::views::{Page, words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

const STATUSES: &[&str] = &["closed", "open"];

/// Why a tenant is wound down, or why that is stopped.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "the programme ends in March"}))]
pub(crate) struct WindDownBody {
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

/// A job that closes every card and customer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WindDownView {
    /// Its id.
    wind_down_id: String,
    /// `running`; `stopped` by staff; `finished` if it has closed every account that it found; `finished_with_open` if some
    /// could not be closed.
    #[schema(value_type = words::WindDownStatus)]
    status: &'static str,
    /// The number of accounts that it closed.
    closed: i64,
    /// The number of accounts that it found open and could not close.
    open: i64,
    /// The staff member who started it.
    requested_by: String,
    /// The time of its start.
    created_at: String,
    /// The time at which staff stopped it; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_at: Option<String>,
    /// The time at which it had seen every account; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
}

/// A job that closes every card and customer, with its reason.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WindDownDetail {
    #[serde(flatten)]
    job: WindDownView,
    /// The reason.
    reason: String,
}

/// An account that a job closed or could not close.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WindDownAccountView {
    /// The account: `customer:` or `card:` and its id.
    account: String,
    /// The owner of a card; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_id: Option<String>,
    /// `closed` or `open`.
    #[schema(value_type = words::WindDownAccountStatus)]
    status: &'static str,
    /// What the account had, by asset: points are in `breakage`, everything else is in `unclaimed`.
    rest: BTreeMap<String, String>,
    /// The journal entry's id; absent if the account had nothing or is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// What is open, as the refusal of a close names it, or the code of another refusal; empty if it is closed.
    open: Vec<String>,
    /// The time of the close, or of the refusal.
    created_at: String,
}

pub(crate) const START: Keyed = Endpoint::post("/v1/admin/wind-downs")
    .summary("Starts a job that closes every card and customer of the tenant for good.")
    .about(
        "Every card is closed, then every customer. What each has goes to `unclaimed`, from where it is claimed or paid out, and \
         points go to `breakage`. An account with something held, reserved or owed stays open: start another job when that is \
         settled. The job runs in the background and starts within about a minute.",
    )
    .permission(Permission::WindDownsRun)
    .body::<WindDownBody>()
    .approvable()
    .when(Code::WrongState, "the tenant's customers are in a legacy model")
    .keyed(Operation::WindDown);

pub(crate) async fn start(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<WindDownBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", &body.reason);
    let (claim, admission) = START.claim(&app, &who, key, &[], Fields::new().with("reason", reason.as_sent())).await?;
    let plan = async |cx: Context| {
        app.require_split(who.tenant()).await?;
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let command = (Command::WindDown, Some(&reason));
        app.request_approval((&claim, &who.member()), command, &terms, &[], &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/wind-downs")
    .summary("Lists the jobs that close every card and customer, newest first.")
    .permission(Permission::CustomersRead)
    .pages_of::<WindDownDetail>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    page: request::Page,
) -> Result<Json<Page<WindDownDetail>>, Problem> {
    let (items, next_cursor) = app.jobs(who.tenant(), JobKind::WindDown, page).await?;
    let view = |item: &Item| WindDown::read(item).map(|job| WindDownDetail::from(&job));
    Ok(Json(Page { items: items.iter().map(view).collect::<Result<_, ItemError>>()?, next_cursor }))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/wind-downs/{wind_down_id}")
    .summary("Returns how far a job is that closes every card and customer.")
    .permission(Permission::CustomersRead)
    .id("wind_down_id", "The job's id.")
    .ok::<WindDownDetail>("The job")
    .when(Code::NotFound, "no such job");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
) -> Result<Json<WindDownDetail>, Problem> {
    let item = app.job(who.tenant(), JobKind::WindDown, id).await?;
    Ok(Json(WindDownDetail::from(&WindDown::read(&item)?)))
}

pub(crate) const ACCOUNTS: Endpoint = Endpoint::get("/v1/admin/wind-downs/{wind_down_id}/accounts")
    .summary("Lists the accounts that a job closed or could not close, with what each had.")
    .about(
        "The closed accounts are before the open ones, each of them cards before customers. An account that was closed before \
         the job saw it is not listed. A job that runs adds lines, so list them when it is over.",
    )
    .permission(Permission::CustomersRead)
    .id("wind_down_id", "The job's id.")
    .pages_of::<WindDownAccountView>()
    .parameter(Parameter::in_query("status", "Accounts with this status only.", Kind::Word(STATUSES)))
    .when(Code::NotFound, "no such job");

pub(crate) async fn accounts(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
    mut params: Params,
) -> Result<Json<Page<WindDownAccountView>>, Problem> {
    let status = params.take("status")?;
    let status = status.map(|word| request::word("status", &word, LineState::parse, "closed or open")).transpose()?;
    let page = params.placed_page()?;
    params.finish()?;
    let tenant = who.tenant();
    let _ = app.job(tenant, JobKind::WindDown, id).await?;
    let (items, next_cursor) = app.wind_down_lines((tenant, id), status, page).await?;
    let view = |item: &Item| WindDownLine::read(item).map(WindDownAccountView::from);
    Ok(Json(Page { items: items.iter().map(view).collect::<Result<_, ItemError>>()?, next_cursor }))
}

pub(crate) const STOP: Keyed = Endpoint::post("/v1/admin/wind-downs/{wind_down_id}/stop")
    .summary("Stops a job that closes every card and customer.")
    .about("Accounts that it is closing at that moment are still closed, and closed accounts stay closed.")
    .permission(Permission::WindDownsRun)
    .id("wind_down_id", "The job's id.")
    .body::<WindDownBody>()
    .ok::<WindDownView>("Stopped")
    .when(Code::WrongState, "the job is not running")
    .when(Code::NotFound, "no such job")
    .keyed(Operation::WindDownStop);

pub(crate) async fn stop(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
    KeyedJson(key, body): KeyedJson<WindDownBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("reason", reason.as_sent());
    let (claim, admission) = STOP.claim(&app, &who, key, &[&id], fields).await?;
    let (tenant, at) = (who.tenant(), keys::job(who.tenant(), id));
    let plan = async |cx: Context| {
        let reason = reason.text()?;
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&at)).await?;
        let item = items.iter().flatten().next().ok_or(PlanError::Missing)?;
        if !jobs::is_of(JobKind::WindDown, item)? {
            return Err(PlanError::Missing);
        }
        let job = WindDown::read(item)?;
        let stop = WindDownStop { tenant, actor: who.actor(), reason: &reason };
        Ok(wind_downs::plan_stop(&stop, &job, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |job: &WindDown| ok(&WindDownView::from(job))).await)
}

impl From<&WindDown> for WindDownDetail {
    fn from(job: &WindDown) -> Self {
        Self { job: WindDownView::from(job), reason: job.reason.expose().to_owned() }
    }
}

impl From<&WindDown> for WindDownView {
    fn from(job: &WindDown) -> Self {
        Self {
            wind_down_id: job.id.to_string(),
            status: job.status().name(),
            closed: job.closed,
            open: job.open,
            requested_by: job.staff.to_string(),
            created_at: job.created_at.to_string(),
            stopped_at: job.stopped_at.map(|at| at.to_string()),
            finished_at: job.finished_at.map(|at| at.to_string()),
        }
    }
}

impl From<WindDownLine> for WindDownAccountView {
    fn from(line: WindDownLine) -> Self {
        Self {
            account: line.account.to_string(),
            customer_id: line.owner.map(|owner| owner.to_string()),
            status: line.state.name(),
            rest: line.rest.into_iter().map(|(asset, amount)| (asset.to_string(), amount)).collect(),
            transaction_id: line.transaction_id.map(|id| id.to_string()),
            open: line.open,
            created_at: line.created_at.to_string(),
        }
    }
}
