//! Erasing the texts of erased customers. A slice is one transaction with its erasures and the job's progress.

use crate::slices::{self, Sliced};
use ledger_core::dynamo::Item;
use ledger_core::erasure::Erasure;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::{self, Key};
use ledger_runtime::app::App;
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::problem::Problem;

/// The number of records that are read at once.
const PAGE: usize = 25;

/// Erases the texts of the next page of a job; returns how many items it wrote. `None` if the job is over, waits, or another worker
/// has written it.
///
/// A record whose texts cannot be erased is not passed over, however often it was tried: the job ends when they are gone.
pub(crate) async fn slice(app: &App, tenant: &Tenant, id: JobId) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let job = Erasure::read(&item)?;
    if !slices::begins(app, tenant, &job).await? {
        return Ok(None);
    }
    let problem = match erase(app, tenant, &job, PAGE).await? {
        Ok(erased) => return Ok(erased),
        Err(problem) => problem,
    };
    tracing::warn!(%tenant, job = %id, code = problem.code(), "texts are erased record by record");
    match erase(app, tenant, &job, 1).await? {
        Ok(erased) => Ok(erased),
        Err(problem) => {
            slices::pause(app, tenant, (&job, &problem)).await?;
            Ok(None)
        }
    }
}

/// Erases the texts of at most `limit` records; returns how many items it wrote, `None` if another worker has written the job.
async fn erase(
    app: &App,
    tenant: &Tenant,
    job: &Erasure,
    limit: usize,
) -> Result<Result<Option<usize>, Problem>, Problem> {
    let Some(query) = job.query(tenant, limit)? else { return Ok(Ok(None)) };
    let found: Vec<Item> = app.dynamo().query_readable(&query).await?.into_iter().map(|row| row.item).collect();
    let page = job.slice(tenant, &found, limit)?;
    let sources = readable(app, &page.sources()).await?;
    let texts = page.texts(tenant, &sources);
    let items = readable(app, &texts.keys()).await?;
    let slice = job.erase(tenant, (&texts, &items), app.now());
    let erased = slice.as_ref().map_or(0, |slice| slice.items().len().saturating_sub(1));
    Ok(match slices::write(app, tenant, slice).await? {
        Sliced::Written => Ok(Some(erased)),
        Sliced::Stale => Ok(None),
        Sliced::Refused(problem) => Err(problem),
    })
}

/// The items that exist, as far as they can be read: one that cannot be read whole must not keep the others' texts.
async fn readable(app: &App, keys: &[Key]) -> Result<Vec<Item>, ReadError> {
    Ok(app.dynamo().stored_many(keys).await?.into_iter().map(|row| row.item).collect())
}
