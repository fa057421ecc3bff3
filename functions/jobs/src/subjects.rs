//! A slice of a job whose subjects each have a transaction of their own.

use futures::future::join_all;
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::jobs::{Counted, CursorJob, Details, Line, LineState, Next, Outcome, Page};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::transaction::{BuildError, Transaction};
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// The number of subjects that are dealt with at once.
pub(crate) const AT_ONCE: usize = 8;

/// A kind of job whose subjects each have a transaction of their own.
pub(crate) trait Subjects: Details + Sync {
    /// The number of subjects that are dealt with at once.
    async fn at_once(app: &App, tenant: &Tenant, job: &CursorJob<Self>) -> Result<usize, Problem>;

    /// The next subjects of the list; `None` if there is nothing to take.
    async fn page(
        app: &App,
        tenant: &Tenant,
        job: &CursorJob<Self>,
        counted: &Counted,
    ) -> Result<Option<Page>, Problem>;

    /// Deals with a subject that has no line.
    ///
    /// # Errors
    /// A problem whose outcome is not certain: the subject is tried again.
    async fn deal_with(app: &App, tenant: &Tenant, job: &CursorJob<Self>, subject: &str) -> Result<Outcome, Problem>;
}

/// Goes on with a job for a slice; returns how many subjects it is done with. `None` if it is over, waits, or another worker has
/// written it.
pub(crate) async fn slice<D: Subjects>(
    app: &App,
    tenant: &Tenant,
    (id, until): (JobId, Instant),
) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let job = CursorJob::<D>::read(&item)?;
    match job.next() {
        Next::Nothing => return Ok(None),
        Next::SettleStop(subjects) => {
            let lines = lines(app, (tenant, id), &subjects).await?;
            let _ = is_written(app, tenant, &built(job.settle_stop(tenant, &lines, app.now()))?).await?;
            return Ok(None);
        }
        Next::Work => {}
    }
    let due = job.due(app.now());
    let listed = lines(app, (tenant, id), &due).await?;
    let open: Vec<&String> = due.iter().filter(|subject| !listed.contains_key(*subject)).collect();
    let mut outcomes: BTreeMap<String, Outcome> =
        listed.into_iter().map(|(subject, state)| (subject, Outcome::Listed(state))).collect();
    for few in open.chunks(D::at_once(app, tenant, &job).await?.max(1)) {
        if Instant::now() >= until {
            break;
        }
        let dealt_with = join_all(few.iter().map(|subject| D::deal_with(app, tenant, &job, subject))).await;
        for (subject, outcome) in few.iter().zip(dealt_with) {
            let outcome = outcome.unwrap_or_else(|problem| uncertain((tenant, id), subject, &problem));
            let _ = outcomes.insert((*subject).clone(), outcome);
        }
    }
    let counted = job.counted(&outcomes, app.now());
    let done = counted.certain();
    let page = if counted.room() > 0 { D::page(app, tenant, &job, &counted).await? } else { None };
    let Some(transaction) = built(job.advance(tenant, (counted, page), app.now()))? else { return Ok(None) };
    Ok(is_written(app, tenant, &transaction).await?.then_some(done))
}

fn uncertain((tenant, job): (&Tenant, JobId), subject: &str, problem: &Problem) -> Outcome {
    tracing::warn!(%tenant, %job, subject, code = problem.code(), "a subject of a job is tried again");
    Outcome::Uncertain(problem.code().to_owned())
}

/// The states of the lines that these subjects have.
async fn lines(
    app: &App,
    (tenant, job): (&Tenant, JobId),
    subjects: &[String],
) -> Result<BTreeMap<String, LineState>, Problem> {
    let keys: Vec<_> = subjects.iter().map(|subject| keys::job_line(tenant, job, subject)).collect();
    let found = app.dynamo().get_many(&keys).await?.into_iter().flatten();
    let lines = found.map(|item| Line::read(&item).map(|line| (line.subject, line.state)));
    Ok(lines.collect::<Result<_, ItemError>>()?)
}

/// The line that a subject has, read after what shows that something else has dealt with it: if that was the job, it has one.
pub(crate) async fn listed_meanwhile(app: &App, of: (&Tenant, JobId), subject: &str) -> Result<Outcome, Problem> {
    let lines = lines(app, of, &[subject.to_owned()]).await?;
    Ok(lines.get(subject).map_or(Outcome::Unlisted, |state| Outcome::Listed(*state)))
}

pub(crate) async fn is_written(app: &App, tenant: &Tenant, transaction: &Transaction) -> Result<bool, Problem> {
    app.ledger().apply_as_read(tenant, Operation::JobRun, transaction).await
}

pub(crate) fn built<T>(built: Result<T, BuildError>) -> Result<T, Problem> {
    built.map_err(|error| {
        tracing::error!(%error, "a change of a job cannot be built");
        Problem::internal()
    })
}
