//! Carries on what an operator has asked for on a tenant's way from a legacy model to split records: a pass over all
//! customers, in slices. A schedule calls it for a tenant; two calls at once do nothing twice, and a call that dies
//! loses nothing.

use ledger_runtime::app::App;
use ledger_runtime::migration::{self, Migrated};
use ledger_runtime::problem::Problem;
use ledger_runtime::worker::Due;
use std::time::Duration;

/// How long a slice goes on: well within the time of a function, and of the tick that calls it.
const SLICE: Duration = Duration::from_secs(45);

/// A slice of what is due to a tenant.
///
/// # Errors
/// 503 if the store did not tell; a later call goes on where this one stopped.
pub async fn run(app: &App, due: &Due) -> Result<Migrated, Problem> {
    migration::run_due(app, &due.tenant, SLICE).await
}
