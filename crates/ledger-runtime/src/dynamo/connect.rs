//! The SDK's configuration, which sets every timeout and retry explicitly.

use super::Dynamo;
use super::reads::ReadError;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use ledger_core::ids::Tenant;
use ledger_core::keys;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1500);
/// The limit of all attempts and pauses together.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(9);
const ATTEMPTS_MAX: u32 = 4;
const REGION_OF_ENDPOINTS: &str = "us-east-1";

/// Loads the configuration of every AWS client from AWS's default chain.
///
/// With an endpoint URL, the Region falls back to `us-east-1` and the credentials to dummies, so that DynamoDB Local
/// needs no AWS account.
pub async fn sdk_config(endpoint_url: Option<&str>) -> SdkConfig {
    sdk_loader(endpoint_url).load().await
}

/// The same before it is loaded, so that an HTTP client can be added.
#[must_use]
pub fn sdk_loader(endpoint_url: Option<&str>) -> ConfigLoader {
    let mut loader =
        aws_config::defaults(BehaviorVersion::v2026_01_12()).timeout_config(timeouts()).retry_config(retries());
    if endpoint_url.is_none() {
        return loader;
    }
    if is_unset("AWS_REGION") && is_unset("AWS_DEFAULT_REGION") {
        loader = loader.region(Region::new(REGION_OF_ENDPOINTS));
    }
    if is_unset("AWS_ACCESS_KEY_ID") && is_unset("AWS_PROFILE") {
        loader = loader.credentials_provider(Credentials::new("local", "local", None, None, "ledger-runtime"));
    }
    loader
}

pub(super) fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build()
}

/// Returns the retry configuration: standard, at most four attempts.
///
/// Adaptive retries would delay every tenant when one is throttled. The pauses are random, up to 1, 2 and 4 s, so that
/// the transaction behind a `TransactionInProgressException` can end before the last attempt.
pub(super) fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(ATTEMPTS_MAX).with_initial_backoff(Duration::from_secs(1))
}

/// Creates the DynamoDB client. The endpoint URL applies to it alone; an `http://` URL gets a client without TLS.
#[must_use]
pub fn client(config: &SdkConfig, endpoint_url: Option<&str>) -> Client {
    let mut own = aws_sdk_dynamodb::config::Builder::from(config);
    if let Some(url) = endpoint_url {
        own = own.endpoint_url(url);
        if url.starts_with("http://") {
            own = own.http_client(aws_smithy_http_client::Builder::new().build_http());
        }
    }
    Client::from_conf(own.build())
}

impl Dynamo {
    /// Reads one item during init, so that the first request does not wait for the TLS handshake. The item need not
    /// exist.
    ///
    /// # Errors
    /// [`ReadError`] if DynamoDB does not answer. The start need not fail: the first request reports the same error.
    pub async fn warm_up(&self) -> Result<(), ReadError> {
        let Ok(tenant) = Tenant::parse("warm-up") else { return Ok(()) };
        self.get(&keys::config(&tenant)).await.map(drop)
    }
}

fn is_unset(name: &str) -> bool {
    std::env::var_os(name).is_none_or(|value| value.is_empty())
}

/// Creates a client that sends through `http` with the production timeouts and retries.
#[cfg(test)]
pub(crate) fn scripted_client(http: aws_smithy_runtime_api::client::http::SharedHttpClient) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(REGION_OF_ENDPOINTS))
        .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
        .timeout_config(timeouts())
        .retry_config(retries())
        .http_client(http);
    Client::from_conf(config.build())
}
