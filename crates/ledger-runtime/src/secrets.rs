//! Secrets that are not in the environment: AWS Secrets Manager behind one small port. Nothing of a
//! secret gets into an error or a log.

use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::ProvideErrorMetadata;
use futures::future::{BoxFuture, FutureExt};
use ledger_core::personal::Masked;

/// A secret could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret cannot be read ({code}): check its ARN and the permission secretsmanager:GetSecretValue")]
pub struct SecretError {
    /// What the service answered, a code.
    pub code: String,
}

/// Where one secret is kept.
pub trait SecretSource: Send + Sync {
    /// Its text as it stands.
    ///
    /// # Errors
    /// [`SecretError`] if that is not known.
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>>;
}

/// A secret in Secrets Manager.
#[derive(Clone, Debug)]
pub struct SecretsManager {
    client: Client,
    id: String,
}

impl SecretsManager {
    /// The secret with an ARN, by the SDK's shared configuration.
    #[must_use]
    pub fn new(sdk: &SdkConfig, id: &str) -> Self {
        Self { client: Client::new(sdk), id: id.to_owned() }
    }
}

impl SecretSource for SecretsManager {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        async {
            let failed = |code: Option<&str>| SecretError { code: code.unwrap_or("no answer").to_owned() };
            let asked = self.client.get_secret_value().secret_id(&self.id).send().await;
            let text = asked.map_err(|error| failed(error.code()))?.secret_string;
            text.map(Masked::new).ok_or_else(|| failed(Some("no text")))
        }
        .boxed()
    }
}
