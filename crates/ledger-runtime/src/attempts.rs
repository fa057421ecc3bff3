//! Jobs that make one result: a worker takes one, makes the result while it renews the lease, and ends the job. A worker that stops
//! leaves the job to another, which begins again: only the job is written, and the object of a file.

use crate::app::App;
use crate::problem::Problem;
use ledger_core::dynamo::Item;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::jobs::{ATTEMPTS_MAX, Attempt, Details, Taken};
use ledger_core::keys;
use ledger_core::lease::Leased;
use ledger_core::operation::Operation;
use ledger_core::transaction::{BuildError, Transaction};
use std::time::Duration;
use tokio::time::Instant;

/// The time between two records of progress: far less than a lease.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// The time that the attempts of a call have.
#[derive(Clone, Copy, Debug)]
pub struct AttemptTime {
    /// When the call began.
    pub began: Instant,
    /// After this time none is begun.
    pub begun_within: Duration,
    /// After this time one that was begun is given up: a later call begins it again.
    pub given_up_after: Duration,
}

/// How an attempt ends.
#[derive(Debug)]
pub enum Ending {
    /// It has its result: how much was read or written, and attributes of the job.
    Done(u64, Item),
    /// It has none, and a later attempt would have none.
    Failed(&'static str),
}

/// A kind of job that makes one result.
pub trait Attempted: Details + Clone + Send + Sync {
    /// Makes the result.
    ///
    /// # Errors
    /// A problem: the job is begun again, until it was begun too often.
    fn make(
        app: &App,
        tenant: &Tenant,
        progress: &mut Progress<'_, Self>,
    ) -> impl Future<Output = Result<Ending, Problem>> + Send;
}

/// An attempt, and when its progress was recorded.
#[derive(Debug)]
pub struct Progress<'a, D> {
    app: &'a App,
    tenant: &'a Tenant,
    /// The job.
    pub job: Leased<Attempt<D>>,
    recorded: Instant,
    time: AttemptTime,
    /// Whether a person stopped the job, or another worker has it.
    is_lost: bool,
}

impl<D: Details> Progress<'_, D> {
    /// Records how much is read or written, if that was not done a moment ago.
    ///
    /// # Errors
    /// 503 if a person stopped the job, another worker has it, it took too long, or the store did not answer.
    pub async fn record(&mut self, done: u64) -> Result<(), Problem> {
        if self.recorded.elapsed() < PROGRESS_EVERY {
            return Ok(());
        }
        self.recorded = Instant::now();
        let id = self.job.head.id;
        if self.time.began.elapsed() >= self.time.given_up_after {
            tracing::warn!(tenant = %self.tenant, job = %id, done, "an attempt took too long and is given up");
            return Err(Problem::busy());
        }
        let progress = built(self.job.progress(count(done), self.app.now()))?;
        self.is_lost = !is_written(self.app, self.tenant, &progress).await?;
        if self.is_lost { Err(Problem::busy()) } else { Ok(()) }
    }
}

/// Makes the result of a job; `false` if another worker has it, it is over, or it is left to a later call.
///
/// # Errors
/// 503 if the store did not answer; 500 if the job cannot be read.
pub async fn run<D: Attempted>(app: &App, tenant: &Tenant, (id, time): (JobId, AttemptTime)) -> Result<bool, Problem> {
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(false) };
    let job = match built(Attempt::<D>::read(&item)?.take(tenant, app.now()))? {
        None => return Ok(false),
        Some(Taken::TooOften(failing)) => {
            tracing::error!(%tenant, job = %id, "a job was begun too often");
            return is_written(app, tenant, &failing).await;
        }
        Some(Taken::Begun(job, taking)) => {
            if !is_written(app, tenant, &taking).await? {
                return Ok(false);
            }
            *job
        }
    };
    let mut progress = Progress { app, tenant, job, recorded: Instant::now(), time, is_lost: false };
    let ending = D::make(app, tenant, &mut progress).await;
    if progress.is_lost {
        return Ok(false);
    }
    let job = progress.job;
    let last = match &ending {
        Ok(Ending::Done(done, result)) => job.finish((count(*done), result.clone()), app.now()),
        Ok(Ending::Failed(code)) => job.fail(code, app.now()),
        Err(problem) if job.fence() >= ATTEMPTS_MAX => {
            tracing::error!(%tenant, job = %id, code = problem.code(), "the last attempt at a job failed");
            job.fail(problem.code(), app.now())
        }
        Err(problem) => {
            tracing::warn!(%tenant, job = %id, code = problem.code(), "an attempt is left to another");
            job.give_back(tenant, app.now())
        }
    };
    let is_written = is_written(app, tenant, &built(last)?).await?;
    ending.map(|_| is_written)
}

fn count(done: u64) -> u32 {
    u32::try_from(done).unwrap_or(u32::MAX)
}

async fn is_written(app: &App, tenant: &Tenant, transaction: &Transaction) -> Result<bool, Problem> {
    app.ledger().apply_as_read(tenant, Operation::JobRun, transaction).await
}

fn built<T>(built: Result<T, BuildError>) -> Result<T, Problem> {
    built.map_err(|error| {
        tracing::error!(%error, "a change of a job cannot be built");
        Problem::internal()
    })
}
