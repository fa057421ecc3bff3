//! Starting the sagas of settlements that are due. A settlement is due from its opening until it is over, and
//! whether its saga was started is written down after the fact: starting one twice does nothing twice.

use super::SettlementRef;
use crate::app::App;
use crate::problem::Problem;
use futures::future::BoxFuture;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::ops::settlement::{Settlement, started};
use ledger_core::reads;
use serde::Serialize;

/// How many settlements of a shard are started in one run.
const STARTS: usize = 25;

/// Whoever runs sagas.
pub trait Sagas: Send + Sync {
    /// Starts the run of a settlement, counted from 0. The same run is started once.
    fn start<'a>(&'a self, at: &'a SettlementRef, run: u32) -> BoxFuture<'a, Result<(), String>>;
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Started {
    /// Sagas started.
    pub started: usize,
}

/// Starts the sagas of a tenant's settlements that are due.
///
/// # Errors
/// 503 if the store or the state machine did not tell; a later run goes on.
pub async fn start_due(app: &App, sagas: &dyn Sagas, tenant: &Tenant) -> Result<Started, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    let mut done = Started::default();
    for shard in 0..shards.count() {
        let query = reads::settlements_due(tenant, shard, app.now()).limit(STARTS);
        for item in app.dynamo().query(&query).await? {
            let settlement = Settlement::read(&item)?;
            let at = SettlementRef { tenant: tenant.clone(), merchant: settlement.merchant, id: settlement.id };
            if let Err(code) = sagas.start(&at, settlement.runs).await {
                tracing::warn!(settlement = %at.id, code, "a saga was not started");
                return Err(Problem::unavailable());
            }
            let noted = started(tenant, &settlement, app.now()).map_err(|_| Problem::internal())?;
            // If not, it has gone on already, or another worker has started it.
            if app.ledger().apply_as_read(tenant, Operation::SettlementRun, &noted).await? {
                done.started = done.started.saturating_add(1);
            }
        }
    }
    Ok(done)
}
