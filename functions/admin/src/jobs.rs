//! `/v1/admin/jobs`: how far work in the background is, what became of each of its subjects, and its stop.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::files::{FileContent, FileJob};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{CustomerId, JobId};
use ledger_core::jobs::{self, Head, JobState, JobStop, LineState};
use ledger_core::keys::{self, JobKind};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::jobs::JobFilter;
use ledger_runtime::permission;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Listing, Params, PathId};
use ledger_runtime::views::{JobDetail, JobLineView, JobView, Page};
use serde::Deserialize;
use utoipa::ToSchema;

const KINDS: &[&str] =
    &["grant", "card_batch", "wind_down", "settlement_run", "bank_file", "erasure", "file", "terms_preview"];
const STATES: &[&str] = &["waiting", "running", "stopping", "stopped", "done", "failed"];
const LINE_STATES: &[&str] = &["done", "failed", "skipped"];
const ABOUT_KINDS: &str = "It also needs what seeing the job's work needs: `customers.read` for a grant, winding down, an erasure and a \
                           customer's file, `cards.read` for a batch of cards, `settlements.read` for a settlement run, payees \
                           and payouts, `bank_files.read` for a bank file, `figures.read` for statements, `files.read` for every \
                           file, or `terms.read` for a preview of terms.";

/// Why a job is stopped.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "the wrong customers"}))]
pub(crate) struct JobStopBody {
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/jobs")
    .summary("Lists jobs, newest first.")
    .about(
        "Work in the background: grants to many customers, batches of cards, winding down, settlement runs, bank files, erasures, files and \
         previews of terms. Jobs whose work the caller may not see are not listed. A page may have fewer items than `limit`, or \
         none, and still a `next_cursor`. One that was just requested may be missing.",
    )
    .permission(Permission::JobsRead)
    .pages_of::<JobDetail>()
    .parameter(Parameter::in_query("kind", "Jobs of this kind only.", Kind::Word(KINDS)))
    .parameter(Parameter::in_query("status", "Jobs with this status only.", Kind::Word(STATES)))
    .parameter(Listing::FROM)
    .parameter(Listing::TO);

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<JobDetail>>, Problem> {
    let kind = params.take("kind")?;
    let kind = kind.map(|word| request::word("kind", &word, JobKind::parse, "a kind of job, for example grant"));
    let state = params.take("status")?;
    let words = "waiting, running, stopping, stopped, done or failed";
    let state = state.map(|word| request::word("status", &word, JobState::parse, words));
    let (kind, state, listing) = (kind.transpose()?, state.transpose()?, params.listing()?);
    params.finish()?;
    let mut kinds = Vec::new();
    for of in JobKind::ALL.into_iter().filter(|of| kind.is_none_or(|kind| kind == *of)) {
        if permission::permits(&app, &who.member(), seeing(of)).await? {
            kinds.push(of);
        }
    }
    let mut contents = Vec::new();
    for of in [Permission::CustomersRead, Permission::SettlementsRead, Permission::FiguresRead] {
        if permission::permits(&app, &who.member(), of).await? {
            contents.push(of);
        }
    }
    let admits = |item: &Item| match Head::read(item)?.kind {
        JobKind::File => Ok(contents.contains(&seeing_content(&FileJob::read(item)?.details))),
        JobKind::Grant
        | JobKind::CardBatch
        | JobKind::WindDown
        | JobKind::SettlementRun
        | JobKind::BankFile
        | JobKind::Erasure
        | JobKind::TermsPreview => Ok(true),
    };
    let (items, next_cursor) = app.jobs(who.tenant(), &JobFilter { kinds, state }, listing, admits).await?;
    Ok(Json(Page { items: items.iter().map(JobDetail::read).collect::<Result<_, ItemError>>()?, next_cursor }))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/jobs/{job_id}")
    .summary("Returns how far a job is.")
    .about(ABOUT_KINDS)
    .permission(Permission::JobsRead)
    .id("job_id", "The job's id.")
    .ok::<JobDetail>("The job")
    .when(Code::NotFound, "no such job");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
) -> Result<Json<JobDetail>, Problem> {
    Ok(Json(JobDetail::read(&seen(&app, &who, id).await?)?))
}

pub(crate) const LINES: Endpoint = Endpoint::get("/v1/admin/jobs/{job_id}/lines")
    .summary("Lists what became of the subjects of a job.")
    .about(
        "By subject. Customers who were granted to, and accounts and merchants that were closed, have a line in the transaction \
         that did it. Cards that were issued and records without a failure have none, and files and previews have no subjects. A \
         job that runs adds lines, so list them when it is over. With `status`, a page may have fewer items than `limit`, or none, \
         and still a `next_cursor`. It needs what seeing the job needs.",
    )
    .permission(Permission::JobsRead)
    .id("job_id", "The job's id.")
    .pages_of::<JobLineView>()
    .parameter(Parameter::in_query("status", "Subjects with this status only.", Kind::Word(LINE_STATES)))
    .when(Code::NotFound, "no such job");

pub(crate) async fn lines(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
    mut params: Params,
) -> Result<Json<Page<JobLineView>>, Problem> {
    let state = params.take("status")?;
    let state =
        state.map(|word| request::word("status", &word, LineState::parse, "done, failed or skipped")).transpose()?;
    let page = params.placed_page()?;
    params.finish()?;
    let _ = seen(&app, &who, id).await?;
    let (lines, next_cursor) = app.job_lines((who.tenant(), id), state, page).await?;
    Ok(Json(Page { items: lines.iter().map(JobLineView::from).collect(), next_cursor }))
}

pub(crate) const STOP: Keyed = Endpoint::post("/v1/admin/jobs/{job_id}/stop")
    .summary("Stops a job.")
    .about(
        "What it has done stays done, and what it is doing at that moment may still be done; `done`, `failed` and `skipped` are \
         those of the lines once it is `stopped`, within about a minute; a subject in flight that it left is skipped as `stopped`. An erasure and a bank file cannot be stopped. It also needs what \
         starting the job needs: `grants.issue`, `cards.manage`, `wind_downs.run`, `settlements.open`, `files.read` or \
         `terms.change`.",
    )
    .permission(Permission::JobsRead)
    .id("job_id", "The job's id.")
    .body::<JobStopBody>()
    .ok::<JobView>("Stopped, or stopping")
    .when(Code::WrongState, "the job has ended, was stopped before, or is an erasure or a bank file")
    .when(Code::NotFound, "no such job")
    .keyed(Operation::JobStop);

pub(crate) async fn stop(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
    KeyedJson(key, body): KeyedJson<JobStopBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("reason", reason.as_sent());
    let (claim, admission) = STOP.claim(&app, &who, key, &[&id], fields).await?;
    let (tenant, at) = (who.tenant(), keys::job(who.tenant(), id));
    let plan = async |cx: Context| {
        let reason = reason.text()?;
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&at)).await?;
        let item = items.iter().flatten().next().ok_or(PlanError::Missing)?;
        // Which permissions it needs follows from the job.
        let (head, customer) = may_see(&app, &who, item).await?;
        permission::require(&app, &who.member(), starting(head.kind)).await?;
        let stop = JobStop { tenant, staff: who.staff_id(), customer, reason: &reason };
        let Planned { draft, receipt } = jobs::plan_stop(&stop, &head, &cx)?;
        Ok(Planned { draft, receipt: JobView::of(&receipt, item)? })
    };
    Ok(app.perform(claim.clone(), admission, plan, |stopped: &JobView| ok(stopped)).await)
}

/// A job that the caller may see.
async fn seen(app: &App, who: &Admin, id: JobId) -> Result<Item, Problem> {
    let item = app.job(who.tenant(), id).await?;
    let _ = may_see(app, who, &item).await?;
    Ok(item)
}

/// Requires that the caller may see the work of a job. Returns the customer whose data a file has.
async fn may_see(app: &App, who: &Admin, job: &Item) -> Result<(Head, Option<CustomerId>), Problem> {
    let head = Head::read(job)?;
    permission::require(app, &who.member(), seeing(head.kind)).await?;
    if head.kind == JobKind::File {
        let content = FileJob::read(job)?.details;
        permission::require(app, &who.member(), seeing_content(&content)).await?;
        return Ok((head, content.customer()));
    }
    Ok((head, None))
}

/// The permission to see the work of a kind.
const fn seeing(kind: JobKind) -> Permission {
    match kind {
        JobKind::CardBatch => Permission::CardsRead,
        JobKind::Grant | JobKind::WindDown | JobKind::Erasure => Permission::CustomersRead,
        JobKind::SettlementRun => Permission::SettlementsRead,
        JobKind::BankFile => Permission::BankFilesRead,
        JobKind::File => Permission::FilesRead,
        JobKind::TermsPreview => Permission::TermsRead,
    }
}

/// The permission to see what a file has.
pub(crate) const fn seeing_content(content: &FileContent) -> Permission {
    match content {
        FileContent::CustomerData(_) | FileContent::CustomerHistory(..) => Permission::CustomersRead,
        FileContent::Payees | FileContent::Payouts(_) => Permission::SettlementsRead,
        FileContent::Statements(_) => Permission::FiguresRead,
    }
}

/// The permission to start, or to request, a job of a kind.
const fn starting(kind: JobKind) -> Permission {
    match kind {
        JobKind::Grant => Permission::GrantsIssue,
        JobKind::CardBatch => Permission::CardsManage,
        JobKind::WindDown => Permission::WindDownsRun,
        JobKind::SettlementRun => Permission::SettlementsOpen,
        JobKind::BankFile => Permission::BankFilesMark,
        JobKind::Erasure => Permission::AccountsClose,
        JobKind::File => Permission::FilesRead,
        JobKind::TermsPreview => Permission::TermsChange,
    }
}
