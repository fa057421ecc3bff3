//! Scheduled work of a tenant: bulk grants, expired holds, settlements to start, and sealing the audit trail.
//! Concurrent workers do nothing twice.

mod grants;
mod holds;

use ledger_core::ids::Tenant;
use ledger_core::terms::{RecordVersion, TenantTerms};
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::sealing::{self, Sealed};
use ledger_runtime::settlement::{self, Sagas, Started};
use serde::Serialize;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Customers of bulk grants who were processed.
    pub done: usize,
    /// The number of them who could not be granted to.
    pub failed: usize,
    /// Payments whose hold was released to the payer.
    pub expired: usize,
}

/// Releases expired holds, and processes slices of every due job of a tenant. A failure of one does not stop the other.
///
/// # Errors
/// 503 if the store did not answer; a later run continues.
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
/// 503 if the store or the state machine did not answer; a later run continues.
pub async fn start_settlements(app: &App, sagas: &dyn Sagas, tenant: &Tenant) -> Result<Started, Problem> {
    settlement::start_due(app, sagas, tenant).await
}

/// Seals the due records of a tenant's audit trail.
///
/// # Errors
/// 503 if the store did not answer; a later run continues. 500 if a record could not be sealed, or the chain was
/// changed.
pub async fn seal_trail(app: &App, tenant: &Tenant) -> Result<Sealed, Problem> {
    let terms = app.terms(tenant).await?;
    sealing::run(app, tenant, terms.due_shards, opens_lanes(&terms)).await
}

/// Whether a tenant's trail that has no lanes yet gets them: once every environment reads them, as the version of the
/// tenant's records says.
fn opens_lanes(terms: &TenantTerms) -> bool {
    match terms.records {
        RecordVersion::V1 => false,
        RecordVersion::V2 => true,
    }
}
