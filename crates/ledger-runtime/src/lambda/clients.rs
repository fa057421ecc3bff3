//! The services that a function may call beside the store. Each function names its own, so that no
//! other's client is linked into it: a binary's size is the time that Lambda takes to fetch it.

use super::StartError;
use crate::app::App;
use crate::config::StripeAccess;
use crate::psp::Stripe;
use crate::publishing::SqsSink;
use crate::readback::CloudWatch;
use crate::reconcile::{EventBus, S3Reports};
use crate::secrets::SecretsManager;
use crate::settlement::{HttpKyc, S3Files, StateMachine};
use aws_config::SdkConfig;
use std::sync::Arc;

/// A service that a function may call: its client is made at the start.
pub type Client = fn(App, &SdkConfig) -> Result<App, StartError>;

/// Stripe, if the environment sets it up: there, or by a secret that is kept in Secrets Manager.
///
/// # Errors
/// [`StartError::Stripe`].
pub fn stripe(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    let name = app.config().ledger.clone();
    Ok(match app.config().stripe.clone() {
        Some(StripeAccess::Given(given)) => app.with_psp(Stripe::new(&given, &name)?, &given),
        Some(StripeAccess::Kept(kept)) => app.with_kept_secrets(SecretsManager::new(sdk, &kept.secret_id), kept),
        None => app,
    })
}

/// CloudWatch, where metrics are read back.
///
/// # Errors
/// None.
pub fn cloud_watch(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    Ok(app.with_metric_source(CloudWatch::new(aws_sdk_cloudwatch::Client::new(sdk))))
}

/// The queues of events, if the environment names them.
///
/// # Errors
/// None.
pub fn event_queues(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    Ok(match app.config().events.clone() {
        Some(queues) => app.with_event_sink(SqsSink::new(sdk, queues)),
        None => app,
    })
}

/// Whoever checks merchants, if the environment names one.
///
/// # Errors
/// [`StartError::Kyc`].
pub fn kyc(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    let Some(config) = app.config().settlement.kyc.clone() else { return Ok(app) };
    let kyc = HttpKyc::new(&config, SecretsManager::new(sdk, &config.secret_id), app.ledger())?;
    Ok(app.with_kyc(Arc::new(kyc)))
}

/// The bucket of the bank's files, if the environment names one.
///
/// # Errors
/// None.
pub fn payout_files(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    let Some(bucket) = app.config().settlement.bucket.clone() else { return Ok(app) };
    Ok(app.with_payout_files(Arc::new(S3Files::new(sdk, &bucket))))
}

/// The bucket of the reports of reconciliations, if the environment names one.
///
/// # Errors
/// None.
pub fn reports(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    let Some(bucket) = app.config().reconcile.bucket.clone() else { return Ok(app) };
    Ok(app.with_reports(Arc::new(S3Reports::new(sdk, &bucket))))
}

/// The bus that is told of breaks, if the environment names one.
///
/// # Errors
/// None.
pub fn event_bus(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    let Some(bus) = app.config().reconcile.bus.clone() else { return Ok(app) };
    Ok(app.with_announcer(Arc::new(EventBus::new(sdk, &bus))))
}

/// The state machine that runs the sagas of settlements, if the environment names one.
///
/// # Errors
/// None.
pub fn sagas(app: App, sdk: &SdkConfig) -> Result<App, StartError> {
    let Some(arn) = app.config().settlement.state_machine.clone() else { return Ok(app) };
    Ok(app.with_sagas(Arc::new(StateMachine::new(sdk, &arn))))
}
