//! Erasing the texts of erased customers, slice by slice. A slice is one transaction with its erasures and the job's progress. The
//! jobs of a run take turns, so that none waits for a customer with a long history.

use ledger_core::dynamo::Item;
use ledger_core::erasure::Erasure;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::{self, JobKind, Key};
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::problem::Problem;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The jobs that a run continues; a later run continues the others.
const JOBS_MAX: usize = 10;
/// The number of records that are read at once.
const PAGE: usize = 25;
/// A run starts no slice after this time: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(10);

/// Continues the jobs of a tenant; returns from how many items this run erased texts.
pub(crate) async fn run(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<usize, Problem> {
    let (began, mut erased, mut fault) = (Instant::now(), 0_usize, None);
    let listed = due.next(JobKind::Erasure).await?;
    let ids = listed.iter().take(JOBS_MAX).map(|listed| listed.id(JobId::parse));
    let mut jobs = ids.collect::<Result<VecDeque<JobId>, _>>()?;
    while let Some(id) = jobs.pop_front().filter(|_| began.elapsed() < RUN_TIME_MAX) {
        match advance(app, tenant, id).await {
            Ok(Some(items)) => {
                erased = erased.saturating_add(items);
                jobs.push_back(id);
            }
            Ok(None) => {}
            Err(problem) => fault = Some(problem),
        }
    }
    fault.map_or(Ok(erased), Err)
}

/// Erases the texts of the next page of a job, and records it; returns from how many items. `None` if the job is over, or another
/// worker has recorded the page.
async fn advance(app: &App, tenant: &Tenant, id: JobId) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let job = Erasure::read(&item)?;
    let Some(query) = job.next(tenant, PAGE) else { return Ok(None) };
    let found: Vec<Item> = app.dynamo().query_readable(&query).await?.into_iter().map(|row| row.item).collect();
    let slice = job.slice(tenant, &found, PAGE)?;
    let sources = readable(app, &slice.sources()).await?;
    let texts = slice.texts(tenant, &sources);
    let items = readable(app, &texts.keys()).await?;
    let transaction = job.advance(tenant, &texts, &items, app.now()).map_err(|_| Problem::internal())?;
    let is_ours = app.ledger().apply_as_read(tenant, Operation::CustomerErase, &transaction).await?;
    Ok(is_ours.then(|| transaction.items().len().saturating_sub(1)))
}

/// The items that exist, as far as they can be read: one that cannot be read whole must not keep the others' texts.
async fn readable(app: &App, keys: &[Key]) -> Result<Vec<Item>, ReadError> {
    Ok(app.dynamo().stored_many(keys).await?.into_iter().map(|row| row.item).collect())
}
