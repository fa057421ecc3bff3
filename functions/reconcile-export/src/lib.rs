//! The tasks of reconciling a table's export to S3, for the state machine `export.asl.json`. Each task may be repeated.
//! They read objects, and no table.

use ledger_runtime::reconcile::export::{ExportDone, ExportError, ExportRun, ExportTask, Exports};

/// Runs a task to its end.
///
/// # Errors
/// [`ExportError`], whose name says whether a retry may succeed.
pub async fn run(exports: &Exports, of: &ExportRun, task: &ExportTask) -> Result<ExportDone, ExportError> {
    exports.run(of, task).await
}
