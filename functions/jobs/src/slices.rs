//! A slice of a job that is one transaction with its effects.

use crate::subjects::{built, is_written};
use ledger_core::ids::Tenant;
use ledger_core::jobs::{CursorJob, Details, Next, SliceError};
use ledger_core::operation::Operation;
use ledger_core::transaction::Transaction;
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use std::collections::BTreeMap;

/// What became of a slice.
pub(crate) enum Sliced {
    /// It is written.
    Written,
    /// Another worker has written the job.
    Stale,
    /// It is not, because of this problem.
    Refused(Problem),
}

/// Whether there is a slice to be dealt with. A job that was stopped is ended.
pub(crate) async fn begins<D: Details>(app: &App, tenant: &Tenant, job: &CursorJob<D>) -> Result<bool, Problem> {
    match job.next() {
        Next::Work => Ok(true),
        Next::Nothing => Ok(false),
        Next::SettleStop(_) => {
            let _ = is_written(app, tenant, &built(job.settle_stop(tenant, &BTreeMap::new(), app.now()))?).await?;
            Ok(false)
        }
    }
}

/// Writes a slice.
///
/// # Errors
/// 500 if it cannot be built.
pub(crate) async fn write(
    app: &App,
    tenant: &Tenant,
    slice: Result<Transaction, SliceError>,
) -> Result<Sliced, Problem> {
    let slice = slice.map_err(|error| {
        tracing::error!(%tenant, %error, "a slice of a job cannot be built");
        Problem::internal()
    })?;
    Ok(match app.ledger().apply_as_read(tenant, Operation::JobRun, &slice).await {
        Ok(true) => Sliced::Written,
        Ok(false) => Sliced::Stale,
        Err(problem) => Sliced::Refused(problem),
    })
}

/// Leaves a slice that is not written: it is tried again after some minutes.
pub(crate) async fn pause<D: Details>(
    app: &App,
    tenant: &Tenant,
    (job, problem): (&CursorJob<D>, &Problem),
) -> Result<(), Problem> {
    tracing::warn!(%tenant, job = %job.head.id, code = problem.code(), "a slice of a job is tried again");
    let _ = is_written(app, tenant, &built(job.pause(tenant, app.now()))?).await?;
    Ok(())
}
