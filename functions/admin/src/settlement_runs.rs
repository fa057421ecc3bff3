//! `/v1/admin/settlement-runs`: closes the periods of all merchants whose schedule closes on a day, in the background. A worker
//! starts one when a closing day is over. The schedule of one merchant is under the merchant's path.

use crate::approvals;
use crate::cards::current_terms;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::{Command, schedule_seen};
use ledger_core::calendar::{OwnSchedule, ScheduleError};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{JobId, MerchantId};
use ledger_core::jobs::{Head, LineState};
use ledger_core::keys::Partition;
use ledger_core::merchants;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::settlement_runs::{RunDetails, ToReview};
use ledger_core::time::BusinessDate;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Params, PathId};
use ledger_runtime::settlement_runs::{LineNow, RunReport};
use ledger_runtime::views::{JobDetail, Page, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const STATUSES: &[&str] = &["done", "failed", "skipped"];

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
    #[serde(flatten)]
    job: JobDetail,
    /// What became of its settlements.
    settlements: RunSettlementsView,
}

/// The settlements of a run, as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunSettlementsView {
    /// The number that go on.
    open: u32,
    /// The number that are booked for the bank.
    booked: u32,
    /// The number that were paid through Stripe.
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
    /// Why: the merchant's status in the run, `stuck`, why the settlement turned back, or `fee_leaves_nothing`: it is carried, and fee and tax
    /// would have left nothing.
    why: String,
}

/// A merchant of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettlementRunMerchantView {
    /// The merchant's id.
    merchant_id: String,
    /// `done`: its period was closed. `skipped`: nothing was to be done. `failed`: it could not be closed.
    #[schema(value_type = words::JobLineStatus)]
    status: &'static str,
    /// Done: `paid_later`, its scheduled day was too early, and it is paid on the first possible day. Otherwise why it was not
    /// closed. Skipped: `nothing_to_settle`, nothing was credited since the last settlement, or `closed_before`,
    /// another run closed it for this day or a later one. Failed: `settlement_open`, `suspended`, `merchant_closed`,
    /// `no_destination`, `destination_changed`, `no_payout_account`, `holidays_unknown`, `unreadable`, or the code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
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

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/settlement-runs/{job_id}")
    .summary("Returns how far a run is that closes merchants' periods, and what became of its settlements.")
    .permission(Permission::SettlementsRead)
    .id("job_id", "The job's id.")
    .ok::<SettlementRunView>("The run")
    .when(Code::NotFound, "no such run");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
) -> Result<Json<SettlementRunView>, Problem> {
    let tenant = who.tenant();
    let item = app.job_of::<RunDetails>(tenant, id).await?;
    let report = app.settlement_run_report(tenant, &Head::read(&item)?).await?;
    Ok(Json(SettlementRunView { job: JobDetail::read(&item)?, settlements: RunSettlementsView::from(report) }))
}

pub(crate) const MERCHANTS: Endpoint = Endpoint::get("/v1/admin/settlement-runs/{job_id}/merchants")
    .summary("Lists the merchants whose schedule closes on the day of a run, and what became of each.")
    .about(
        "By the merchant's id. A run that goes on adds merchants, so list them when it is finished. With `status`, a page may \
         have fewer items than `limit`, or none, and still a `next_cursor`.",
    )
    .permission(Permission::SettlementsRead)
    .id("job_id", "The job's id.")
    .pages_of::<SettlementRunMerchantView>()
    .parameter(Parameter::in_query("status", "Merchants with this status only.", Kind::Word(STATUSES)))
    .when(Code::NotFound, "no such run");

pub(crate) async fn merchants(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
    mut params: Params,
) -> Result<Json<Page<SettlementRunMerchantView>>, Problem> {
    let words = "done, failed or skipped";
    let status = params.take("status")?;
    let status = status.map(|word| request::word("status", &word, LineState::parse, words)).transpose()?;
    let page = params.placed_page()?;
    params.finish()?;
    let tenant = who.tenant();
    let _ = app.job_of::<RunDetails>(tenant, id).await?;
    let (lines, next_cursor) = app.settlement_run_lines((tenant, id), status, page).await?;
    Ok(Json(Page { items: lines.iter().map(SettlementRunMerchantView::from).collect(), next_cursor }))
}

pub(crate) const SCHEDULE: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/settlement-schedule")
    .summary("Sets the settlement schedule of a merchant, in place of the tenant's.")
    .about(
        "Closing days are `monthly:<day>`, `twice_a_month:<day>,<day>` or `weekly:<weekday>`, where a day is 1 to 28 or \
         `month_end`. The payment rule follows after a space: `bank_days:<n>` after the closing day, or \
         `next_month:<day>:next` or `:previous`, moved to the next or previous day on which banks are open. Rules that the \
         bank can never follow are refused, because the payment day always comes before it can pay.",
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

impl From<RunReport> for RunSettlementsView {
    fn from(report: RunReport) -> Self {
        let sums = report.sums;
        Self {
            open: sums.open,
            booked: sums.booked,
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
        Self { merchant_id: of.merchant.to_string(), settlement_id, why: of.why.clone() }
    }
}

impl From<&LineNow> for SettlementRunMerchantView {
    fn from(LineNow { line, merchant, settlement }: &LineNow) -> Self {
        Self {
            merchant_id: merchant.to_string(),
            status: line.state.name(),
            code: line.code.clone(),
            settlement_id: line.settlement_id.map(|id| id.to_string()),
            settlement_status: settlement.as_ref().map(|settlement| settlement.state.name()),
            stuck_since: settlement.as_ref().and_then(|settlement| settlement.stuck_at).map(|at| at.to_string()),
            pay_on: line.pay_on.map(|date| date.to_string()),
            created_at: line.created_at.to_string(),
        }
    }
}
