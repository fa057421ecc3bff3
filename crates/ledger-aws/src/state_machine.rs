//! Settlement sagas on AWS Step Functions.

use aws_config::SdkConfig;
use aws_sdk_sfn::Client;
use aws_sdk_sfn::error::ProvideErrorMetadata;
use futures::future::BoxFuture;
use ledger_runtime::settlement::{Sagas, SettlementRef};
use serde::Serialize;

/// A state machine of AWS Step Functions.
#[derive(Clone, Debug)]
pub struct StateMachine {
    client: Client,
    arn: String,
}

/// The input of the state machine and of each of its tasks.
#[derive(Serialize)]
struct Input<'a> {
    tenant: &'a str,
    merchant_id: String,
    settlement_id: String,
}

impl StateMachine {
    /// Makes a client of a state machine with the SDK's shared configuration.
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

#[cfg(test)]
mod tests;
