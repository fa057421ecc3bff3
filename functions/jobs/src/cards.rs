//! Batches of cards. A slice is one transaction with the cards and the batch's progress.

use crate::slices::{self, Sliced};
use ledger_core::cards::batch::{CardBatch, SLICE_CARDS};
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys;
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;

/// Issues the next cards of a batch; returns their number. `None` if the batch is over, or another worker has written it.
pub(crate) async fn slice(app: &App, tenant: &Tenant, id: JobId) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the batch itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let batch = CardBatch::read(&item)?;
    if !slices::begins(app, tenant, &batch).await? {
        return Ok(None);
    }
    // What is refused with others is tried alone: the others are issued.
    let problem = match issue(app, tenant, &batch, SLICE_CARDS).await? {
        Ok(issued) => return Ok(issued),
        Err(problem) => problem,
    };
    tracing::warn!(%tenant, batch = %id, code = problem.code(), "cards are issued one by one");
    let problem = match issue(app, tenant, &batch, 1).await? {
        Ok(issued) => return Ok(issued),
        Err(problem) => problem,
    };
    if problem.status().is_server_error() && !batch.is_last_try() {
        slices::pause(app, tenant, (&batch, &problem)).await?;
        return Ok(None);
    }
    match slices::write(app, tenant, batch.pass_over(tenant, problem.code(), app.now())).await? {
        Sliced::Written => Ok(Some(1)),
        Sliced::Stale => Ok(None),
        Sliced::Refused(problem) => Err(problem),
    }
}

/// Issues at most `limit` cards; returns their number, `None` if another worker has written the batch.
async fn issue(
    app: &App,
    tenant: &Tenant,
    batch: &CardBatch,
    limit: u32,
) -> Result<Result<Option<usize>, Problem>, Problem> {
    let slice = batch.issue(tenant, limit, app.now());
    let cards = slice.as_ref().map_or(0, |slice| slice.items().len().saturating_sub(1));
    Ok(match slices::write(app, tenant, slice).await? {
        Sliced::Written => Ok(Some(cards)),
        Sliced::Stale => Ok(None),
        Sliced::Refused(problem) => Err(problem),
    })
}
