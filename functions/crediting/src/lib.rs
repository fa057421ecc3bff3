//! Credits merchants with the records of their payments and refunds. The table's stream tells of them as they
//! come, and a schedule calls for a tenant. Two runs at once do nothing twice.

use ledger_runtime::app::App;
use ledger_runtime::crediting::{self, Credited};
use ledger_runtime::problem::Problem;
use ledger_runtime::worker::Due;

/// Credits what has come, or everything that is due to a tenant's merchants.
///
/// # Errors
/// 503 if the store did not tell; a later run goes on where this one stopped. 500 if a record could not be
/// credited, after all others.
pub async fn run_due(app: &App, due: &Due) -> Result<Credited, Problem> {
    crediting::run(app, due).await
}
