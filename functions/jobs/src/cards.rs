//! Batches of cards, slice by slice. A slice is one transaction with the cards and the batch's progress.

use ledger_core::cards::batch::CardBatch;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::{self, JobKind};
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::problem::Problem;
use std::time::Duration;
use tokio::time::Instant;

/// The batches that a run continues; a later run continues the others.
const BATCHES_MAX: usize = 10;
/// A run starts no slice after this time: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(10);

/// Continues the batches of a tenant; returns how many cards this run issued.
pub(crate) async fn run(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<usize, Problem> {
    let (began, mut issued) = (Instant::now(), 0_usize);
    for listed in due.next(JobKind::CardBatch).await?.iter().take(BATCHES_MAX) {
        let id = listed.id(JobId::parse)?;
        while began.elapsed() < RUN_TIME_MAX {
            match advance(app, tenant, id).await? {
                Some(cards) => issued = issued.saturating_add(cards),
                None => break,
            }
        }
    }
    Ok(issued)
}

/// Issues the next slice of a batch; returns its cards, none if another worker issued them, `None` if the batch is finished.
async fn advance(app: &App, tenant: &Tenant, id: JobId) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the batch itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let batch = CardBatch::read(&item)?;
    let slice = batch.advance(tenant, app.now()).map_err(|_| Problem::internal())?;
    let Some(transaction) = slice else { return Ok(None) };
    let is_ours = app.ledger().apply_as_read(tenant, Operation::CardBatch, &transaction).await?;
    Ok(Some(if is_ours { transaction.items().len().saturating_sub(1) } else { 0 }))
}
