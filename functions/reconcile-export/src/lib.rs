//! The tasks of reconciling a table's export to S3: what the state machine calls, `export.asl.json`. Each may be
//! called any number of times. They read objects, and no table.

use ledger_runtime::reconcile::export::{ExportDone, ExportError, ExportRun, ExportTask, Exports};

/// Takes a task to its end.
///
/// # Errors
/// [`ExportError`], whose name says whether another try may mend it.
pub async fn run(exports: &Exports, of: &ExportRun, task: &ExportTask) -> Result<ExportDone, ExportError> {
    exports.run(of, task).await
}
