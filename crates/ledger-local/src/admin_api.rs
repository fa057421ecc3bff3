//! The operator API as a command calls it: as the person whose token it has.

use ledger_runtime::clock::Clock;
use ledger_runtime::entropy::Entropy;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminApiError {
    /// The token cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The API could not be reached, or the answer could not be read.
    #[error("no answer from {url}: {cause}")]
    NoAnswer {
        /// The URL that was called.
        url: String,
        /// What went wrong.
        cause: reqwest::Error,
    },
    /// The API refused the request.
    #[error("{0}")]
    Refused(String),
}

/// The API at a base URL, and a person's token.
pub(crate) struct AdminApi {
    client: Client,
    base: String,
    token: String,
}

impl AdminApi {
    /// Reads the token from a file; without one, gets a token of the demo's first operator for `tenant` from a local stack.
    pub(crate) async fn connect(url: &str, token_file: Option<&Path>, tenant: &str) -> Result<Self, AdminApiError> {
        let base = url.trim_end_matches('/').to_owned();
        let client = Client::builder().timeout(ANSWER_WITHIN).build();
        let client = client.map_err(|cause| AdminApiError::NoAnswer { url: base.clone(), cause })?;
        let mut api = Self { client, base, token: String::new() };
        api.token = match token_file {
            Some(path) => {
                let read = std::fs::read_to_string(path);
                read.map_err(|cause| AdminApiError::Token { path: path.to_owned(), cause })?.trim().to_owned()
            }
            None => {
                let demo = api.send(Method::GET, "/dev/demo", None).await?;
                let staff = demo.pointer("/staff/0").and_then(Value::as_str).unwrap_or_default();
                let grant = json!({"tenant": tenant, "face": "admin", "sub": staff});
                text(&api.send(Method::POST, "/dev/token", Some(grant)).await?, "token").to_owned()
            }
        };
        Ok(api)
    }

    /// Sends a request, a POST under a fresh idempotency key, and returns the body of a success.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, AdminApiError> {
        let url = format!("{}{path}", self.base);
        let mut request = self.client.request(method.clone(), &url).bearer_auth(&self.token);
        if method == Method::POST {
            let key = Entropy::system().uuid_v7(Clock::system().now());
            let key = key.map_err(|error| AdminApiError::Refused(error.to_string()))?;
            request = request.header("idempotency-key", key.to_string());
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let no_answer = |cause| AdminApiError::NoAnswer { url: url.clone(), cause };
        let answer = request.send().await.map_err(no_answer)?;
        let (status, body) = (answer.status(), answer.bytes().await.map_err(no_answer)?);
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status == StatusCode::OK || status == StatusCode::ACCEPTED || status == StatusCode::CREATED {
            return Ok(body);
        }
        let detail = match text(&body, "detail") {
            "" => "without a detail".to_owned(),
            detail => detail.to_owned(),
        };
        Err(AdminApiError::Refused(format!("{} {}: {detail}", status.as_u16(), text(&body, "code"))))
    }
}

/// A text of a JSON object; empty if there is none of this name.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
