//! The operator's AWS credentials, for commands on a deployed table: the SDK's default chain, and if that has none, the
//! AWS CLI.
//!
//! The CLI supports every kind of profile, including IAM Identity Center (SSO). So two more SDKs need not be compiled.

use crate::opening::LOCAL;
use aws_config::{Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use ledger_runtime::clock::Clock;
use ledger_runtime::dynamo::{self, Dynamo};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use serde::Deserialize;
use std::process::Command;

/// Prints the credentials of the profile in `AWS_PROFILE`; for SSO, after `aws sso login`.
const EXPORT: [&str; 5] = ["aws", "configure", "export-credentials", "--format", "process"];

/// No credentials were found.
#[derive(Debug, thiserror::Error)]
#[error(
    "no AWS credentials: {chain}; and from the AWS CLI: {cli}. Set AWS_PROFILE to a profile that may use the table; \
     if it signs in by SSO, run `aws sso login` first (needs the AWS CLI, version 2)"
)]
pub struct CredentialsError {
    chain: String,
    cli: String,
}

/// The output of the AWS CLI.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Exported {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
}

/// The ledger over a table, and where it is.
pub struct Operator {
    /// The ledger.
    pub ledger: Ledger,
    /// The Region of the table; `local` for an engine at an endpoint.
    pub region: String,
}

/// The ledger over a table and its Region, for a command.
///
/// # Errors
/// [`CredentialsError`], whose text says what to do.
pub async fn operator(table: &str, endpoint_url: Option<&str>) -> Result<Operator, CredentialsError> {
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let sdk = sdk_config(endpoint_url).await?;
    let region = sdk.region().filter(|_| endpoint_url.is_none()).map_or(LOCAL, Region::as_ref).to_owned();
    let dynamo = Dynamo::from_client(dynamo::client(&sdk, endpoint_url), table, entropy.clone());
    let ledger = Ledger::new(dynamo, clock.clone(), entropy, Metrics::to(Counting::new(clock)));
    Ok(Operator { ledger, region })
}

/// The ledger over a table, for a command.
///
/// # Errors
/// As [`operator`].
pub async fn ledger(table: &str, endpoint_url: Option<&str>) -> Result<Ledger, CredentialsError> {
    Ok(operator(table, endpoint_url).await?.ledger)
}

/// The configuration of the operator's AWS clients, with credentials that were found.
///
/// # Errors
/// [`CredentialsError`], whose text says what to do.
pub async fn sdk_config(endpoint_url: Option<&str>) -> Result<SdkConfig, CredentialsError> {
    with_credentials(dynamo::sdk_config(endpoint_url).await, &EXPORT).await
}

async fn with_credentials(sdk: SdkConfig, export: &[&str]) -> Result<SdkConfig, CredentialsError> {
    let chain = match sdk.credentials_provider() {
        None => "the default chain is empty".to_owned(),
        Some(provider) => match provider.provide_credentials().await {
            Ok(_) => return Ok(sdk),
            Err(error) => reason(&error),
        },
    };
    let command: Vec<String> = export.iter().map(|&part| part.to_owned()).collect();
    let exported = tokio::task::spawn_blocking(move || exported(&command)).await;
    match exported.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(own) => Ok(sdk.into_builder().credentials_provider(SharedCredentialsProvider::new(own)).build()),
        Err(cli) => Err(CredentialsError { chain, cli }),
    }
}

/// The innermost error, which has the reason.
fn reason(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

fn exported(command: &[String]) -> Result<Credentials, String> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let ended = Command::new(program).args(arguments).output().map_err(|error| format!("`{program}`: {error}"))?;
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned());
    }
    // The parser's own text is not used: it may repeat a secret.
    let Exported { access_key_id, secret_access_key, session_token } =
        serde_json::from_slice(&ended.stdout).map_err(|_| "no credentials in its output".to_owned())?;
    Ok(Credentials::new(access_key_id, secret_access_key, session_token, None, "aws-cli"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_config::BehaviorVersion;

    /// A configuration whose chain finds no credentials, as this build's does for an SSO profile.
    fn without_credentials() -> SdkConfig {
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("ap-northeast-1"))
            .build()
    }

    async fn key_of(sdk: &SdkConfig) -> String {
        sdk.credentials_provider().unwrap().provide_credentials().await.unwrap().access_key_id().to_owned()
    }

    #[tokio::test]
    async fn profile_that_the_chain_cannot_read_is_read_by_the_cli() {
        let json = r#"{"Version":1,"AccessKeyId":"ASIA1","SecretAccessKey":"s","SessionToken":"t","Expiration":"x"}"#;
        let sdk = with_credentials(without_credentials(), &["echo", json]).await.unwrap();
        assert_eq!(key_of(&sdk).await, "ASIA1");
        // Credentials of the chain have precedence.
        let given = SharedCredentialsProvider::new(Credentials::new("AKIA2", "s", None, None, "tests"));
        let sdk = without_credentials().into_builder().credentials_provider(given).build();
        assert_eq!(key_of(&with_credentials(sdk, &["echo", json]).await.unwrap()).await, "AKIA2");
    }

    #[tokio::test]
    async fn missing_credentials_name_the_sign_in_and_no_secret() {
        for export in [&["false"][..], &["/nowhere/aws"], &["echo", "SECRET"], &["echo", r#"{"AccessKeyId":"SECRET"}"#]]
        {
            let error = with_credentials(without_credentials(), export).await.unwrap_err().to_string();
            assert!(error.contains("aws sso login") && error.contains("AWS_PROFILE"), "{error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
    }
}
