//! Secrets in AWS Secrets Manager.

use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::ProvideErrorMetadata;
use futures::future::{BoxFuture, FutureExt};
use ledger_core::personal::Masked;
use ledger_runtime::secrets::{SecretError, SecretSource};

/// A secret in Secrets Manager.
#[derive(Clone, Debug)]
pub(crate) struct SecretsManager {
    client: Client,
    id: String,
}

impl SecretsManager {
    /// Makes a client of the secret with an ARN, with the SDK's shared configuration.
    #[must_use]
    pub(crate) fn new(sdk: &SdkConfig, id: &str) -> Self {
        Self { client: Client::new(sdk), id: id.to_owned() }
    }
}

impl SecretSource for SecretsManager {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        async {
            let failed = |code: Option<&str>| SecretError { code: code.unwrap_or("no answer").to_owned() };
            let response = self.client.get_secret_value().secret_id(&self.id).send().await;
            let text = response.map_err(|error| failed(error.code()))?.secret_string;
            text.map(Masked::new).ok_or_else(|| failed(Some("the secret is not text")))
        }
        .boxed()
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

    /// A stand-in for Secrets Manager with one response, which checks that the request names the secret.
    #[derive(Debug)]
    struct Service(u16, Value);

    impl HttpConnector for Service {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            assert_eq!(request.headers().get("x-amz-target"), Some("secretsmanager.GetSecretValue"));
            let request_body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
            assert_eq!(request_body, json!({"SecretId": "arn:x"}));
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
    async fn secret_is_read_and_masked_in_debug_output() {
        let secret = read(200, json!({"ARN": "arn:x", "Name": "stripe", "SecretString": "sk_live_1"})).await;
        assert_eq!(secret.as_ref().unwrap().expose(), "sk_live_1");
        assert!(!format!("{secret:?}").contains("sk_live"));
    }

    #[tokio::test]
    async fn unreadable_secret_is_an_error_that_names_the_permission() {
        let denied = json!({"__type": "AccessDeniedException", "Message": "not authorized"});
        for (status, body, code) in
            [(400, denied, "AccessDeniedException"), (200, json!({"ARN": "arn:x"}), "the secret is not text")]
        {
            let error = read(status, body).await.unwrap_err();
            assert_eq!(error.code, code);
            assert!(error.to_string().contains("secretsmanager:GetSecretValue"));
        }
    }
}
