//! Bulk grants, slice by slice.
//!
//! Each customer's grant has its own key, so two workers on one job grant once. A customer who cannot be granted to is
//! recorded with the reason. A customer whose outcome is unknown is passed over and retried. No job waits for another.

use futures::future::join_all;
use ledger_core::grants::bulk::{ASSET_NOT_RUN, FailedGrant, GrantJob, JOB_EXPIRED, JobStatus, SliceOutcome};
use ledger_core::grants::grant::{self, Grant};
use ledger_core::idempotency::{Admission, CanonicalRequest, Claim, Fields, MarkerState, Window};
use ledger_core::ids::{Actor, CustomerId, JobId, Principal, Tenant};
use ledger_core::keys::{self, JobKind};
use ledger_core::money::RequestedAmount;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::execute::ok;
use ledger_runtime::problem::Problem;
use ledger_runtime::request;
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// The number of customers that are processed before the progress is stored.
const SLICE_CUSTOMERS: usize = 50;
/// The number of customers that are processed at once.
const CONCURRENCY: usize = 8;
/// A run starts no slice after this time: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(15);

/// The result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slice {
    /// The number of customers processed.
    pub(crate) done: usize,
    /// The number of them who could not be granted to.
    pub(crate) failed: usize,
}

/// A job in a run.
struct JobInRun {
    id: JobId,
    /// The number of unfinished customers that this run has skipped.
    passed_over: usize,
}

/// The result of one slice.
struct SliceResult {
    slice: Slice,
    /// The job's next slice in this run, if there is one.
    next: Option<JobInRun>,
    /// The last problem of a customer who was passed over.
    fault: Option<Problem>,
}

/// The result of one customer's grant.
enum Granted {
    Yes,
    No(String),
    /// The outcome is unknown: the customer is retried.
    Unknown(Problem),
}

/// Processes every due job of a tenant, a slice of each in turn.
///
/// An unknown outcome is returned as an error in the end, and does not stop other customers or jobs.
pub(crate) async fn run(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<Slice, Problem> {
    let began = Instant::now();
    let mut jobs = due_jobs(due).await?;
    // Each run starts with another job, so that no job waits for those requested before it.
    let first = usize::try_from(app.ledger().entropy().jitter()).unwrap_or(0);
    let first = first.checked_rem(jobs.len()).unwrap_or(0);
    jobs.rotate_left(first);
    let (mut all, mut fault) = (Slice::default(), None);
    while !jobs.is_empty() && began.elapsed() < RUN_TIME_MAX {
        let mut next = Vec::with_capacity(jobs.len());
        for turn in jobs {
            if began.elapsed() >= RUN_TIME_MAX {
                break;
            }
            let id = turn.id;
            match run_slice(app, tenant, turn).await {
                Ok(ran) => {
                    all.done = all.done.saturating_add(ran.slice.done);
                    all.failed = all.failed.saturating_add(ran.slice.failed);
                    next.extend(ran.next);
                    fault = ran.fault.or(fault);
                }
                Err(problem) => {
                    tracing::warn!(%tenant, job = %id, code = problem.code(), "bulk grant not continued");
                    fault = Some(problem);
                }
            }
        }
        jobs = next;
    }
    fault.map_or(Ok(all), Err)
}

/// The jobs that are due.
async fn due_jobs(due: &mut DueList) -> Result<Vec<JobInRun>, Problem> {
    let mut jobs = Vec::new();
    loop {
        let listed = due.next(JobKind::Grant).await?;
        if listed.is_empty() {
            return Ok(jobs);
        }
        for job in &listed {
            jobs.push(JobInRun { id: job.id(JobId::parse)?, passed_over: 0 });
        }
    }
}

/// Processes one slice of a job, and stores the outcomes that are known.
async fn run_slice(app: &App, tenant: &Tenant, turn: JobInRun) -> Result<SliceResult, Problem> {
    // The index may be behind, so the job itself is read.
    let over = || SliceResult { slice: Slice::default(), next: None, fault: None };
    let Some(item) = app.dynamo().get(&keys::job(tenant, turn.id)).await? else { return Ok(over()) };
    let job = GrantJob::read(&item)?;
    let customers = job.slice(turn.passed_over, SLICE_CUSTOMERS);
    if job.status() != JobStatus::Running || customers.is_empty() {
        return Ok(over());
    }
    let (mut outcome, mut fault) = (SliceOutcome::default(), None);
    // Grants of an asset with a budget all take from one item.
    let is_budgeted = app.terms(tenant).await?.asset(&job.asset).is_some_and(|terms| terms.budgeted);
    let at_once = if is_budgeted { 1 } else { CONCURRENCY };
    for few in customers.chunks(at_once) {
        let granted = join_all(few.iter().map(|customer| grant_to(app, tenant, &job, *customer))).await;
        for (customer, granted) in few.iter().copied().zip(granted) {
            match granted {
                Granted::Yes => outcome.granted.push(customer),
                Granted::No(reason) => outcome.failed.push(FailedGrant { customer, reason }),
                Granted::Unknown(problem) => fault = Some(problem),
            }
        }
    }
    let slice =
        Slice { done: outcome.granted.len().saturating_add(outcome.failed.len()), failed: outcome.failed.len() };
    let passed_over = turn.passed_over.saturating_add(customers.len()).saturating_sub(slice.done);
    let next = Some(JobInRun { id: turn.id, passed_over });
    let Some(transaction) = job.advance(tenant, &outcome, app.now()).map_err(|_| Problem::internal())? else {
        return Ok(SliceResult { slice, next, fault });
    };
    if app.ledger().apply_as_read(tenant, Operation::BulkGrant, &transaction).await? {
        return Ok(SliceResult { slice, next, fault });
    }
    // Another worker has advanced this job.
    Ok(SliceResult { fault, ..over() })
}

/// The result of a customer's grant, made now or before.
async fn grant_to(app: &App, tenant: &Tenant, job: &GrantJob, customer: CustomerId) -> Granted {
    match perform(app, tenant, job, customer).await {
        Ok(granted) => granted,
        Err(problem) => Granted::Unknown(problem),
    }
}

async fn perform(app: &App, tenant: &Tenant, job: &GrantJob, customer: CustomerId) -> Result<Granted, Problem> {
    let now = app.now();
    let (principal, operation) = (Principal::Staff(job.staff), Operation::BulkGrant);
    let key = job.child_key(customer).map_err(Problem::key)?;
    if job.is_expired(now) {
        // The marker may have been deleted, so the grant is not executed. A stored response shows that it was granted.
        let marker = app.ledger().marker(tenant, principal, operation, &key).await?;
        return Ok(match marker.map(|marker| marker.state) {
            Some(MarkerState::Completed { answer, .. }) if answer.status < 300 => Granted::Yes,
            Some(MarkerState::Completed { .. } | MarkerState::InFlight(_) | MarkerState::Reversed) | None => {
                Granted::No(JOB_EXPIRED.to_owned())
            }
        });
    }
    let amount = RequestedAmount::parse(job.asset.clone(), &job.amount).map_err(|_| Problem::internal())?;
    let fields = Fields::new().with("customer_id", customer).with_requested("amount", &amount);
    let claim = Claim {
        tenant: tenant.clone(),
        principal,
        actor: Actor::Staff(job.staff),
        // Separate from the grants that the staff member requests directly, whose keys may have any form.
        operation,
        key,
        request: CanonicalRequest { method: "POST", path: format!("/v1/admin/grants/{}", job.id), fields },
        window: Window::WALLET,
        now,
    };
    let plan = async |cx: Context| {
        let terms = app.terms_at(tenant, cx.now).await?;
        let amount = request::amount_in(&terms, &amount)?;
        let (tenant, reason) = (tenant.clone(), job.reason.clone());
        Ok(grant::plan(&Grant { tenant, actor: Actor::Staff(job.staff), customer, amount, reason }, &terms, &cx)?)
    };
    let render = |receipt: &grant::GrantReceipt| ok(&Granting { transaction_id: receipt.transaction_id.to_string() });
    let outcome = app.perform(claim, Admission::Execute, plan, render).await;
    match outcome.status() {
        200..300 => Ok(Granted::Yes),
        // The ledger's rules refuse it, and will refuse a retry.
        400 | 404 => {
            let is_run = app.terms(tenant).await?.spec(&job.asset).is_some();
            let code = outcome.problem_code().unwrap_or_default();
            Ok(Granted::No(if is_run || code != "invalid_request" { code } else { ASSET_NOT_RUN.to_owned() }))
        }
        _ => outcome.into_answer().and_then(|_| Err(Problem::internal())),
    }
}

/// The stored response of one customer's grant.
#[derive(Serialize)]
struct Granting {
    transaction_id: String,
}
