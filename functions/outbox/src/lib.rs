//! Recovers operations in flight with the payment provider: claims whose holder is gone, top-ups that
//! nobody paid, refunds whose events were lost. A schedule calls it for a tenant, and so may anybody at
//! any time: two runs at once do nothing twice.

use ledger_core::ids::Tenant;
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::topups::Recovered;

/// Takes on what is due for a tenant.
///
/// # Errors
/// 503 if the store did not tell; a later run goes on where this one stopped.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Recovered, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    app.desk().await?.recover(tenant, shards).await
}
