//! Files that staff asked for, one after the other. A worker that stops leaves the job, and a later one makes the file again.

use ledger_core::dynamo::Attributes;
use ledger_core::files::FileJob;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::transaction::{BuildError, Transaction};
use ledger_runtime::app::App;
use ledger_runtime::files::{self, FileProgress};
use ledger_runtime::problem::Problem;
use std::time::Duration;
use tokio::time::Instant;

/// The files that a run makes; a later run makes the others.
const FILES_MAX: usize = 5;
/// How often a job's progress is recorded: far more often than its lease ends.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// Makes the files that are due; returns their number.
pub(crate) async fn run(app: &App, tenant: &Tenant) -> Result<usize, Problem> {
    if app.files().is_none() {
        return Ok(0);
    }
    let mut made = 0_usize;
    for listed in app.dynamo().query(&reads::files_to_make(tenant).limit(FILES_MAX)).await? {
        let id = listed.parsed("file_id", JobId::parse)?;
        made = made.saturating_add(usize::from(make(app, tenant, id).await?));
    }
    Ok(made)
}

/// Makes a file; `false` if another worker has it, or it is over.
async fn make(app: &App, tenant: &Tenant, id: JobId) -> Result<bool, Problem> {
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::file(tenant, id)).await? else { return Ok(false) };
    let taken = built(FileJob::read(&item)?.take(tenant, app.now()))?;
    let Some((job, transaction)) = taken else { return Ok(false) };
    if !is_written(app, tenant, &transaction).await? {
        return Ok(false);
    }
    if job.failed_at.is_some() {
        tracing::error!(%tenant, file = %id, "a file could not be made");
        return Ok(false);
    }
    let mut progress = Progress { app, tenant, job, last: Instant::now() };
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
}

impl FileProgress for Progress<'_> {
    async fn wrote(&mut self, rows: u64) -> Result<(), Problem> {
        if self.last.elapsed() < PROGRESS_EVERY {
            return Ok(());
        }
        self.last = Instant::now();
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
