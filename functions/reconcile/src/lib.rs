//! Compares the books with everything that says something of them: every night, and when somebody asks. A
//! schedule calls it for a tenant; it looks for what is due, reads the table and tells what does not agree.
//! It repairs nothing, and two calls at once run nothing twice.

use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::reconcile::{self, Outlets, Reconciled, Settings};
use ledger_runtime::worker::Due;

/// Runs what is due to a tenant.
///
/// # Errors
/// 503 if the store did not tell; a later call begins the run again. 500 if a run cannot be brought to its end.
pub async fn run(app: &App, outlets: &Outlets, due: &Due) -> Result<Reconciled, Problem> {
    run_as((app, outlets), due, &Settings::of(app)).await
}

/// The same, otherwise than a function goes about it.
///
/// # Errors
/// As [`run`].
pub async fn run_as((app, outlets): (&App, &Outlets), due: &Due, settings: &Settings) -> Result<Reconciled, Problem> {
    let provider = app.provider_if_any().await;
    reconcile::run_due((app, outlets), provider.as_ref().map(|provider| provider.desk()), &due.tenant, settings).await
}
