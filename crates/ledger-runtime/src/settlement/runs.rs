//! Starting the sagas of settlements that are due. A settlement is due from its opening until it is over, and
//! whether its saga was started is written down after the fact: starting one twice does nothing twice.

use super::SettlementRef;
use crate::app::App;
use crate::problem::Problem;
use aws_config::SdkConfig;
use aws_sdk_sfn::Client;
use aws_sdk_sfn::error::ProvideErrorMetadata;
use futures::future::BoxFuture;
use ledger_core::failure::Failure;
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

/// The state machine of AWS Step Functions.
#[derive(Clone, Debug)]
pub struct StateMachine {
    client: Client,
    arn: String,
}

/// What a state machine is given, and each of its tasks after it.
#[derive(Serialize)]
struct Input<'a> {
    tenant: &'a str,
    merchant_id: String,
    settlement_id: String,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Started {
    /// Sagas started.
    pub started: usize,
}

impl StateMachine {
    /// A state machine, by the SDK's shared configuration.
    #[must_use]
    pub fn new(sdk: &SdkConfig, arn: &str) -> Self {
        Self { client: Client::new(sdk), arn: arn.to_owned() }
    }
}

impl Sagas for StateMachine {
    fn start<'a>(&'a self, at: &'a SettlementRef, run: u32) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let input = Input {
                tenant: at.tenant.as_str(),
                merchant_id: at.merchant.to_string(),
                settlement_id: at.id.to_string(),
            };
            let input = serde_json::to_string(&input).map_err(|error| error.to_string())?;
            let start = self.client.start_execution().state_machine_arn(&self.arn);
            match start.name(format!("{}-{run}", at.id)).input(input).send().await {
                Ok(_) => Ok(()),
                Err(error) => match error.code() {
                    Some("ExecutionAlreadyExists") => Ok(()),
                    Some(code) => Err(code.to_owned()),
                    None => Err("no answer".to_owned()),
                },
            }
        })
    }
}

/// Starts the sagas of a tenant's settlements that are due.
///
/// # Errors
/// 503 if the store or the state machine did not tell; a later run goes on.
pub async fn start_due(app: &App, tenant: &Tenant) -> Result<Started, Problem> {
    let Some(sagas) = app.sagas() else { return Ok(Started::default()) };
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
            match app.ledger().apply(tenant, Operation::SettlementRun, &noted).await {
                Ok(()) => done.started = done.started.saturating_add(1),
                // It has gone on already, or somebody else has started it.
                Err(error) if error.failure() == Some(Failure::StalePlan) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests;
