//! Files that staff asked for, one after the other. A worker that stops leaves the job, and a later one makes the file again.

use ledger_core::files::FileJob;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::{self, JobKind};
use ledger_core::operation::Operation;
use ledger_core::transaction::{BuildError, Transaction};
use ledger_runtime::app::App;
use ledger_runtime::due::{DueList, ListedWork};
use ledger_runtime::files::{self, FileProgress};
use ledger_runtime::problem::Problem;
use std::time::Duration;
use tokio::time::Instant;

/// The files that a run makes; a later run makes the others.
const FILES_MAX: usize = 5;
/// How often a job's progress is recorded: far more often than its lease ends.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// The time that the files of a call have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileTime {
    /// When the call began.
    pub(crate) began: Instant,
    /// After this time no file is begun.
    pub(crate) begun_within: Duration,
    /// After this time a file that was begun is given up: a later call makes it again.
    pub(crate) given_up_after: Duration,
}

/// Makes the files that are due; returns their number. A file that cannot be made does not stop the others: the first error is
/// returned when they are made.
pub(crate) async fn run(app: &App, tenant: &Tenant, (due, time): (&mut DueList, FileTime)) -> Result<usize, Problem> {
    if app.files().is_none() {
        return Ok(0);
    }
    let (mut made, mut failed) = (0_usize, None);
    for listed in due.next(JobKind::File).await? {
        if made >= FILES_MAX || time.began.elapsed() >= time.begun_within {
            break;
        }
        match make(app, tenant, &listed, time).await {
            Ok(is_made) => made = made.saturating_add(usize::from(is_made)),
            Err(problem) => failed = failed.or(Some(problem)),
        }
    }
    failed.map_or(Ok(made), Err)
}

/// Makes a file; `false` if another worker has it, or it is over.
async fn make(app: &App, tenant: &Tenant, listed: &ListedWork, time: FileTime) -> Result<bool, Problem> {
    let id = listed.id(JobId::parse)?;
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(false) };
    let taken = built(FileJob::read(&item)?.take(tenant, app.now()))?;
    let Some((job, transaction)) = taken else { return Ok(false) };
    if !is_written(app, tenant, &transaction).await? {
        return Ok(false);
    }
    if job.failed_at.is_some() {
        tracing::error!(%tenant, file = %id, "a file could not be made");
        return Ok(false);
    }
    let mut progress = Progress { app, tenant, job, last: Instant::now(), time };
    let wanted = progress.job.clone();
    let (file, rows) = files::make(app, tenant, &wanted, &mut progress).await?;
    let Some(store) = app.files() else { return Ok(false) };
    if let Err(why) = store.put(file).await {
        tracing::error!(%tenant, file = %id, why, "a file could not be stored");
        return Err(Problem::unavailable());
    }
    let finish = built(progress.job.finish(tenant, rows, app.now()))?;
    is_written(app, tenant, &finish).await
}

struct Progress<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    job: FileJob,
    last: Instant,
    time: FileTime,
}

impl FileProgress for Progress<'_> {
    async fn wrote(&mut self, rows: u64) -> Result<(), Problem> {
        if self.last.elapsed() < PROGRESS_EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        if self.time.began.elapsed() >= self.time.given_up_after {
            tracing::warn!(tenant = %self.tenant, file = %self.job.id, rows, "a file took too long and is given up");
            return Err(Problem::busy());
        }
        let (job, transaction) = built(self.job.advance(self.tenant, rows, self.app.now()))?;
        if !is_written(self.app, self.tenant, &transaction).await? {
            return Err(Problem::busy());
        }
        self.job = job;
        Ok(())
    }
}

async fn is_written(app: &App, tenant: &Tenant, transaction: &Transaction) -> Result<bool, Problem> {
    app.ledger().apply_as_read(tenant, Operation::FileMake, transaction).await
}

fn built<T>(built: Result<T, BuildError>) -> Result<T, Problem> {
    built.map_err(|error| {
        tracing::error!(%error, "a change of a file's job cannot be built");
        Problem::internal()
    })
}
