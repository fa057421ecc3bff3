//! Recovers operations in flight with the payment provider: claims whose holder is gone, top-ups that
//! nobody paid, refunds whose events were lost. A schedule calls it for a tenant, and so may anybody at
//! any time: two runs at once do nothing twice.

use ledger_core::ids::Tenant;
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::topups::{self, Recovered};

/// Takes on what is due for a tenant.
///
/// # Errors
/// 503 if the store did not tell; a later run goes on where this one stopped. 500 if there are claims and
/// no provider to ask.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Recovered, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    match app.provider_if_any().await {
        Some(provider) => provider.desk().recover(tenant, shards).await,
        // A deployment may come before its Stripe account. But nobody may take the account from under claims.
        None if topups::any_waits(app.dynamo(), tenant, shards).await? => Err(no_provider(tenant)),
        None => Ok(Recovered::default()),
    }
}

fn no_provider(tenant: &Tenant) -> Problem {
    tracing::error!(%tenant, "claims wait for Stripe, which is not set up: put its secret back");
    Problem::internal()
}
