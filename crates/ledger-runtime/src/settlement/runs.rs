//! Starts the sagas of settlements that are due.
//!
//! A settlement is due from its opening until its end. The start of a saga is recorded afterwards: starting one twice
//! has no effect.

use super::SettlementRef;
use crate::app::App;
use crate::due::DueList;
use crate::problem::Problem;
use futures::future::BoxFuture;
use ledger_core::ids::Tenant;
use ledger_core::keys::Work;
use ledger_core::operation::Operation;
use ledger_core::settlements::{Settlement, started};
use serde::Serialize;

/// Runs the sagas of settlements.
pub trait Sagas: Send + Sync {
    /// Starts run number `run` (from 0) of a settlement's saga. Starting the same run again has no effect.
    fn start<'a>(&'a self, at: &'a SettlementRef, run: u32) -> BoxFuture<'a, Result<(), String>>;
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Started {
    /// The number of sagas started.
    pub started: usize,
}

/// Starts the sagas of a tenant's settlements that are due.
///
/// # Errors
/// 503 if the store or the state machine did not answer; a later run continues.
pub async fn start_due(app: &App, sagas: &dyn Sagas, tenant: &Tenant, due: &mut DueList) -> Result<Started, Problem> {
    let mut done = Started::default();
    for listed in due.next(Work::Settlement).await? {
        let item = app.dynamo().get(&listed.key).await?;
        // Another worker may have started it since: its next run is due later.
        let Some(item) = item.filter(|item| listed.is_still_due(item)) else { continue };
        let settlement = Settlement::read(&item)?;
        let at = SettlementRef { tenant: tenant.clone(), merchant: settlement.merchant, id: settlement.id };
        if let Err(code) = sagas.start(&at, settlement.runs).await {
            tracing::warn!(settlement = %at.id, code, "saga not started");
            return Err(Problem::unavailable());
        }
        let noted = started(tenant, &settlement, app.now()).map_err(|_| Problem::internal())?;
        // If not written, the settlement has changed already, or another worker has started it.
        if app.ledger().apply_as_read(tenant, Operation::SettlementRun, &noted).await? {
            done.started = done.started.saturating_add(1);
        }
    }
    Ok(done)
}
