//! What has to be carried on for a tenant that a schedule names: bulk grants, what merchants hold and have not
//! captured in time, settlements, which are started, and the audit trail, which is sealed. Two workers at once do
//! nothing twice.

mod grants;
mod holds;

use ledger_core::ids::Tenant;
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::sealing::{self, Sealed};
use ledger_runtime::settlement::{self, Sagas, Started};
use serde::Serialize;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Customers of bulk grants dealt with.
    pub done: usize,
    /// How many of them could not be granted to.
    pub failed: usize,
    /// Payments whose held money went back to the payer.
    pub expired: usize,
}

/// Gives back what was held for too long, and does one slice of every due job of a tenant. One that fails
/// does not keep the other from its work.
///
/// # Errors
/// 503 if the store did not tell; a later run goes on where this one stopped.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Progress, Problem> {
    let terms = app.terms(tenant).await?;
    let expired = holds::run(app, tenant, &terms).await;
    let granted = grants::run(app, tenant, terms.due_shards).await;
    let (expired, granted) = (expired?, granted?);
    Ok(Progress { done: granted.done, failed: granted.failed, expired })
}

/// Starts the sagas of a tenant's settlements that are due.
///
/// # Errors
/// 503 if the store or the state machine did not tell; a later run goes on.
pub async fn start_settlements(app: &App, sagas: &dyn Sagas, tenant: &Tenant) -> Result<Started, Problem> {
    settlement::start_due(app, sagas, tenant).await
}

/// Seals what is due of a tenant's audit trail.
///
/// # Errors
/// 503 if the store did not tell; a later run goes on where this one stopped. 500 if a record could not be
/// sealed, or the chain is not as it was written.
pub async fn seal_trail(app: &App, tenant: &Tenant) -> Result<Sealed, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    sealing::run(app, tenant, shards).await
}
