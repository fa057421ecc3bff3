//! Reconciles the books with everything that is derived from them, every night and on request.
//!
//! A schedule calls it for a tenant. It runs the reconciliations that are due, and reports breaks without repairing
//! them. Concurrent calls do nothing twice.

use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::reconcile::{self, Outlets, Reconciled, Settings};
use ledger_runtime::worker::Due;

/// Runs the reconciliations that are due for a tenant.
///
/// # Errors
/// 503 if the store did not answer; a later call starts the run again. 500 if a run cannot be completed.
pub async fn run(app: &App, outlets: &Outlets, due: &Due) -> Result<Reconciled, Problem> {
    run_as((app, outlets), due, &Settings::of(app)).await
}

/// As [`run`], with other settings than a function has.
///
/// # Errors
/// As [`run`].
pub async fn run_as((app, outlets): (&App, &Outlets), due: &Due, settings: &Settings) -> Result<Reconciled, Problem> {
    let provider = app.provider_if_any().await;
    reconcile::run_due((app, outlets), provider.as_ref().map(|provider| provider.psp_executor()), &due.tenant, settings)
        .await
}
