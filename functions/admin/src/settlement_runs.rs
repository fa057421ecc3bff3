//! `/v1/admin/settlement-runs`: closes the periods of all merchants whose schedule closes on a day, in the background. A worker
//! starts one when a closing day is over. The schedule of one merchant is under the merchant's path.

use crate::approvals;
use crate::cards::current_terms;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::{Command, schedule_seen};
use ledger_core::calendar::{OwnSchedule, ScheduleError};
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{JobId, MerchantId};
use ledger_core::keys::{JobKind, Partition};
use ledger_core::merchants;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::settlement_runs::{LineStatus, SettlementRun, ToReview};
use ledger_core::time::BusinessDate;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Params, PathId};
use ledger_runtime::settlement_runs::{LineNow, RunReport};
use ledger_runtime::views::{Page, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const STATUSES: &[&str] = &[
    "opened",
    "nothing_to_settle",
    "closed_before",
    "settlement_open",
    "suspended",
    "merchant_closed",
    "no_destination",
    "destination_changed",
    "no_payout_account",
    "holidays_unknown",
    "unreadable",
];

/// A request to close the periods of a day by hand.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"closing_on": "2026-11-30", "reason": "the schedule was set a day late"}))]
pub(crate) struct SettlementRunBody {
    /// The closing day; it must be over in Japan.
    closing_on: String,
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

/// A change of a merchant's schedule.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"schedule": "twice_a_month:15,month_end bank_days:3", "reason": "agreed in May"}))]
pub(crate) struct ScheduleBody {
    /// The closing days and the payment rule; `by_hand` for none; absent or null for those of the tenant's terms.
    schedule: Option<String>,
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

/// A run that closes the periods of all merchants whose schedule closes on a day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettlementRunView {
    /// Its id.
    settlement_run_id: String,
    /// The day at whose end the periods are closed.
    closing_on: String,
    /// `running`; `finished` if it has closed every merchant that was to be closed; `finished_with_stuck` if a person must see
    /// to some.
    #[schema(value_type = words::SettlementRunStatus)]
    status: &'static str,
    /// The number of merchants that it closed.
    opened: i64,
    /// The number of merchants with nothing to settle, or that another run had closed.
    skipped: i64,
    /// The number of merchants that it could not close.
    stuck: i64,
    /// The schedule of merchants without their own; absent if the tenant's terms had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    /// The staff member who started it; absent if the schedule did.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_by: Option<String>,
    /// The reason, if a staff member started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The time of its start.
    created_at: String,
    /// The time at which it had seen every merchant; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    /// What became of its settlements; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    settlements: Option<RunSettlementsView>,
}

/// The settlements of a run, as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunSettlementsView {
    /// The number that go on.
    open: u32,
    /// The number that were paid.
    paid: u32,
    /// The number with nothing to pay.
    carried: u32,
    /// The number that turned back.
    undone: u32,
    /// The number that were paid and came back.
    returned: u32,
    /// The sum of their fees in yen, without those that turned back.
    fee: String,
    /// The sum of the tax on these fees.
    tax: String,
    /// The sum that they pay out.
    payable: String,
    /// The merchants to which a person must see: those that could not be closed, and those whose settlement is stuck or turned
    /// back; up to 100.
    to_review: Vec<ToReviewView>,
    /// Whether the run is finished, and every merchant of it is in the sums and the list.
    is_complete: bool,
}

/// A merchant to which a person must see.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToReviewView {
    /// The merchant's id.
    merchant_id: String,
    /// The settlement's id, if one was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement_id: Option<String>,
    /// Why: the merchant's status in the run, `stuck`, or why the settlement turned back.
    why: &'static str,
}

/// A merchant of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettlementRunMerchantView {
    /// The merchant's id.
    merchant_id: String,
    /// `opened`: its period was closed. `nothing_to_settle`: nothing was credited since the last settlement. `closed_before`:
    /// another run closed it for this day or a later one. The others are why it could not be closed.
    #[schema(value_type = words::SettlementRunMerchantStatus)]
    status: &'static str,
    /// The settlement's id, if one was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement_id: Option<String>,
    /// The settlement's status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::SettlementStatus>)]
    settlement_status: Option<&'static str>,
    /// The time since which the settlement needs review.
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck_since: Option<String>,
    /// The day of the payout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pay_on: Option<String>,
    /// The time at which the run saw it.
    created_at: String,
}

pub(crate) const START: Keyed = Endpoint::post("/v1/admin/settlement-runs")
    .summary("Closes the periods of all merchants whose schedule closes on a day.")
    .about(
        "A worker does so ten minutes after each closing day; this is for a day that was not dealt with. A merchant is closed \
         once for a day, whatever runs there are, and never for a day before its last one. The run goes on in the background.",
    )
    .permission(Permission::SettlementsOpen)
    .body::<SettlementRunBody>()
    .approvable()
    .when(Code::InvalidRequest, "the request is not valid, or the day is not over, or its payment day is not known")
    .keyed(Operation::SettlementRunStart);

pub(crate) async fn start(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<SettlementRunBody>,
) -> Result<Outcome, Problem> {
    let date = BusinessDate::parse(&body.closing_on);
    let closing = date.map_err(|_| Problem::invalid_field("closing_on", "is not a date"))?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("closing_on", closing).with("reason", reason.as_sent());
    let (claim, admission) = START.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let seen = schedule_seen(terms.settlement_schedule);
        let command = (Command::SettlementRun { closing, seen }, Some(&reason));
        app.request_approval((&claim, &who.member()), command, &terms, &[], &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/settlement-runs")
    .summary("Lists the runs that close merchants' periods, newest first.")
    .permission(Permission::SettlementsRead)
    .pages_of::<SettlementRunView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    page: request::Page,
) -> Result<Json<Page<SettlementRunView>>, Problem> {
    let (items, next_cursor) = app.jobs(who.tenant(), JobKind::SettlementRun, page).await?;
    let view = |item: &Item| SettlementRun::read(item).map(|run| SettlementRunView::from(&run));
    Ok(Json(Page { items: items.iter().map(view).collect::<Result<_, ItemError>>()?, next_cursor }))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/settlement-runs/{settlement_run_id}")
    .summary("Returns how far a run is that closes merchants' periods, and what became of its settlements.")
    .permission(Permission::SettlementsRead)
    .id("settlement_run_id", "The run's id.")
    .ok::<SettlementRunView>("The run")
    .when(Code::NotFound, "no such run");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
) -> Result<Json<SettlementRunView>, Problem> {
    let tenant = who.tenant();
    let item = app.job(tenant, JobKind::SettlementRun, id).await?;
    let run = SettlementRun::read(&item)?;
    let report = app.settlement_run_report(tenant, &run).await?;
    let settlements = Some(RunSettlementsView::from(report));
    Ok(Json(SettlementRunView { settlements, ..SettlementRunView::from(&run) }))
}

pub(crate) const MERCHANTS: Endpoint = Endpoint::get("/v1/admin/settlement-runs/{settlement_run_id}/merchants")
    .summary("Lists the merchants whose schedule closes on the day of a run, and what became of each.")
    .about(
        "By the merchant's id. A run that goes on adds merchants, so list them when it is finished. With `status`, a page may \
         have fewer items than `limit`, or none, and still a `next_cursor`.",
    )
    .permission(Permission::SettlementsRead)
    .id("settlement_run_id", "The run's id.")
    .pages_of::<SettlementRunMerchantView>()
    .parameter(Parameter::in_query("status", "Merchants with this status only.", Kind::Word(STATUSES)))
    .when(Code::NotFound, "no such run");

pub(crate) async fn merchants(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
    mut params: Params,
) -> Result<Json<Page<SettlementRunMerchantView>>, Problem> {
    let words = "a status of a merchant in a run, for example opened";
    let status = params.take("status")?;
    let status = status.map(|word| request::word("status", &word, LineStatus::parse, words)).transpose()?;
    let page = params.placed_page()?;
    params.finish()?;
    let tenant = who.tenant();
    let _ = app.job(tenant, JobKind::SettlementRun, id).await?;
    let (lines, next_cursor) = app.settlement_run_lines((tenant, id), status, page).await?;
    Ok(Json(Page { items: lines.iter().map(SettlementRunMerchantView::from).collect(), next_cursor }))
}

pub(crate) const SCHEDULE: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/settlement-schedule")
    .summary("Sets the settlement schedule of a merchant, in place of the tenant's.")
    .about(
        "Closing days are `monthly:<day>`, `twice_a_month:<day>,<day>` or `weekly:<weekday>`, where a day is 1 to 28 or \
         `month_end`. The payment rule follows after a space: `bank_days:<n>` after the closing day, or \
         `next_month:<day>:next` or `:previous`, moved to the next or previous day on which banks are open.",
    )
    .permission(Permission::DestinationsChange)
    .id("merchant_id", "The merchant's id.")
    .body::<ScheduleBody>()
    .approvable()
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::SettlementSchedule);

pub(crate) async fn schedule(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<ScheduleBody>,
) -> Result<Outcome, Problem> {
    let parsed = body.schedule.as_deref().map(|text| {
        text.parse::<OwnSchedule>().map_err(|error: ScheduleError| Problem::invalid_field("schedule", error))
    });
    let to = parsed.transpose()?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with_some("schedule", to).with("reason", reason.as_sent());
    let (claim, admission) = SCHEDULE.claim(&app, &who, key, &[&id], fields).await?;
    let at = Partition::merchant(who.tenant(), id).profile();
    let plan = async |cx: Context| {
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&at)).await?;
        let profile = items.iter().flatten().next().ok_or(PlanError::Missing)?;
        let seen = merchants::own_schedule(profile)?;
        let command = Command::SettlementSchedule { merchant: id, schedule: to, seen };
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

impl From<&SettlementRun> for SettlementRunView {
    fn from(run: &SettlementRun) -> Self {
        Self {
            settlement_run_id: run.id.to_string(),
            closing_on: run.closing.to_string(),
            status: run.status().name(),
            opened: run.opened,
            skipped: run.skipped,
            stuck: run.stuck,
            schedule: run.schedule.map(|schedule| schedule.to_string()),
            requested_by: run.staff.map(|staff| staff.to_string()),
            reason: run.reason.as_ref().map(|reason| reason.expose().to_owned()),
            created_at: run.created_at.to_string(),
            finished_at: run.finished_at.map(|at| at.to_string()),
            settlements: None,
        }
    }
}

impl From<RunReport> for RunSettlementsView {
    fn from(report: RunReport) -> Self {
        let sums = report.sums;
        Self {
            open: sums.open,
            paid: sums.paid,
            carried: sums.carried,
            undone: sums.undone,
            returned: sums.returned,
            fee: sums.fee.text(),
            tax: sums.tax.text(),
            payable: sums.payable.text(),
            to_review: report.to_review.iter().map(ToReviewView::from).collect(),
            is_complete: report.is_complete,
        }
    }
}

impl From<&ToReview> for ToReviewView {
    fn from(of: &ToReview) -> Self {
        let settlement_id = of.settlement.map(|id| id.to_string());
        Self { merchant_id: of.merchant.to_string(), settlement_id, why: of.why }
    }
}

impl From<&LineNow> for SettlementRunMerchantView {
    fn from(LineNow { line, settlement }: &LineNow) -> Self {
        Self {
            merchant_id: line.merchant.to_string(),
            status: line.status.name(),
            settlement_id: line.settlement.map(|id| id.to_string()),
            settlement_status: settlement.as_ref().map(|settlement| settlement.state.name()),
            stuck_since: settlement.as_ref().and_then(|settlement| settlement.stuck_at).map(|at| at.to_string()),
            pay_on: line.pay_on.map(|date| date.to_string()),
            created_at: line.created_at.to_string(),
        }
    }
}
