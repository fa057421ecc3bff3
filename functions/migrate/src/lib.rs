//! Runs the migration pass that an operator has requested, in slices over all customers.
//!
//! A schedule calls it for a tenant. Concurrent calls do nothing twice, and a later call continues one that was
//! aborted.

use ledger_runtime::app::App;
use ledger_runtime::migration::{self, Migrated};
use ledger_runtime::problem::Problem;
use ledger_runtime::worker::Due;
use std::time::Duration;

/// The duration of a slice: below the timeout of the function, and below the interval of ticks.
const SLICE_TIME_MAX: Duration = Duration::from_secs(45);

/// Runs a slice of the pass that is due for a tenant.
///
/// # Errors
/// 503 if the store did not answer; a later call continues.
pub async fn run(app: &App, due: &Due) -> Result<Migrated, Problem> {
    migration::run_due(app, &due.tenant, SLICE_TIME_MAX).await
}
