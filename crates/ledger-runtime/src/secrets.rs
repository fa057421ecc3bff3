//! Secrets that are not in the environment: AWS Secrets Manager behind one small port. Nothing of a
//! secret gets into an error or a log.

use crate::execute::Ledger;
use crate::metrics::Metric;
use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::ProvideErrorMetadata;
use futures::future::{BoxFuture, FutureExt};
use ledger_core::personal::Masked;
use ledger_core::time::Timestamp;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a secret that was read is believed.
pub(crate) const BELIEVED_FOR: Duration = Duration::from_secs(300);
/// How soon one that could not be read is asked for again.
pub(crate) const RETRIED_AFTER: Duration = Duration::from_secs(30);
/// How soon one is read again for a caller whom its text was refused to: refusals must not become calls.
pub(crate) const DOUBTED_AFTER: Duration = Duration::from_secs(10);

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

/// A secret that is read again every five minutes, so that it can be exchanged while functions run. Where it cannot
/// be read, the text before stays in use.
pub struct KeptSecret {
    source: Box<dyn SecretSource>,
    ledger: Ledger,
    state: Mutex<KeptText>,
}

#[derive(Default)]
struct KeptText {
    text: Option<Masked<String>>,
    /// When it was last asked for, and whether that went well.
    asked: Option<(Timestamp, bool)>,
}

impl KeptSecret {
    /// A secret that is read when it is first needed.
    pub fn new(source: impl SecretSource + 'static, ledger: &Ledger) -> Self {
        Self { source: Box::new(source), ledger: ledger.clone(), state: Mutex::default() }
    }

    /// Its text, as it was at most five minutes ago.
    ///
    /// # Errors
    /// [`SecretError`] if it has never been read.
    pub async fn read(&self) -> Result<Masked<String>, SecretError> {
        let mut state = self.state.lock().await;
        let believed = if state.asked.is_some_and(|(_, well)| well) { BELIEVED_FOR } else { RETRIED_AFTER };
        self.text(&mut state, believed).await
    }

    /// Its text for a caller whom the one before was refused to, as it was at most ten seconds ago.
    ///
    /// # Errors
    /// As [`KeptSecret::read`].
    pub async fn read_anew(&self) -> Result<Masked<String>, SecretError> {
        let mut state = self.state.lock().await;
        self.text(&mut state, DOUBTED_AFTER).await
    }

    async fn text(&self, state: &mut KeptText, believed: Duration) -> Result<Masked<String>, SecretError> {
        let now = self.ledger.clock().now();
        let is_fresh = state.asked.is_some_and(|(at, _)| at <= now && now < at.plus(believed));
        if let (Some(text), true) = (&state.text, is_fresh) {
            return Ok(text.clone());
        }
        let read = self.source.read().await;
        state.asked = Some((now, read.is_ok()));
        match read {
            Ok(text) => {
                state.text = Some(text.clone());
                Ok(text)
            }
            Err(error) => {
                let before = state.text.clone().ok_or_else(|| error.clone())?;
                self.ledger.metrics().count_of(Metric::SecretsStale, None, None);
                tracing::error!(%error, "secret not read again: the text before stays in use");
                Ok(before)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_config::{BehaviorVersion, Region};
    use aws_credential_types::Credentials;
    use aws_credential_types::provider::SharedCredentialsProvider;
    use aws_smithy_runtime_api::client::http::{
        HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
    };
    use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
    use aws_smithy_types::body::SdkBody;
    use serde_json::{Value, json};

    /// Secrets Manager as its wire has it: one answer, if the request asks for the secret.
    #[derive(Debug)]
    struct Service(u16, Value);

    impl HttpConnector for Service {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            assert_eq!(request.headers().get("x-amz-target"), Some("secretsmanager.GetSecretValue"));
            let asked: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
            assert_eq!(asked, json!({"SecretId": "arn:x"}));
            let status = http::StatusCode::from_u16(self.0).unwrap();
            let answer = HttpResponse::new(status.into(), SdkBody::from(self.1.to_string()));
            HttpConnectorFuture::ready(Ok(answer))
        }
    }

    async fn read(status: u16, body: Value) -> Result<Masked<String>, SecretError> {
        let http: SharedHttpClient =
            http_client_fn(move |_, _| SharedHttpConnector::new(Service(status, body.clone())));
        let sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("ap-northeast-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "tests")))
            .http_client(http)
            .build();
        SecretsManager::new(&sdk, "arn:x").read().await
    }

    #[tokio::test]
    async fn the_text_is_read_and_never_printed() {
        let secret = read(200, json!({"ARN": "arn:x", "Name": "stripe", "SecretString": "sk_live_1"})).await;
        assert_eq!(secret.as_ref().unwrap().expose(), "sk_live_1");
        assert!(!format!("{secret:?}").contains("sk_live"));
    }

    #[tokio::test]
    async fn what_is_no_text_is_an_error_that_says_what_to_check() {
        let denied = json!({"__type": "AccessDeniedException", "Message": "not authorized"});
        for (status, body, code) in [(400, denied, "AccessDeniedException"), (200, json!({"ARN": "arn:x"}), "no text")]
        {
            let error = read(status, body).await.unwrap_err();
            assert_eq!(error.code, code);
            assert!(error.to_string().contains("secretsmanager:GetSecretValue"));
        }
    }
}
