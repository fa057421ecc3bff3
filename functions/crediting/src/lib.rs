//! Credits merchants with the records of their payments and refunds.
//!
//! The table's stream delivers new records, and a schedule triggers a sweep for each tenant. Concurrent runs credit
//! each record once.

use ledger_runtime::app::App;
use ledger_runtime::crediting::{self, Credited};
use ledger_runtime::problem::Problem;
use ledger_runtime::worker::Due;

/// Credits the records of a stream batch, or everything that is due to a tenant's merchants.
///
/// # Errors
/// 503 if the store did not answer; a later run continues. 500 if a record could not be credited; all others were.
pub async fn run_due(app: &App, due: &Due) -> Result<Credited, Problem> {
    crediting::run(app, due).await
}
