//! AWS Secrets Manager on the loopback, as far as the functions use it: a secret with Stripe's keys, and one with the keys
//! of markers.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use ledger_local::marker_keys;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use tokio::net::TcpListener;

const STRIPE_ARN: &str = "arn:aws:secretsmanager:ap-northeast-1:123456789012:secret:stripe-AbCdEf";
const MARKER_KEYS_ARN: &str = "arn:aws:secretsmanager:ap-northeast-1:123456789012:secret:marker-keys-AbCdEf";

/// The secrets.
#[derive(Clone)]
struct Texts {
    stripe: String,
    marker_keys: String,
}

/// A running Secrets Manager.
#[derive(Clone, Debug)]
pub struct Secrets {
    url: String,
}

impl Secrets {
    /// Starts the server on a free port; it runs until the runtime ends.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(api_key: &str, webhook_secrets: &[&str]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let stripe = json!({"api_key": api_key, "webhook_secrets": webhook_secrets}).to_string();
        // Those of the stack whose table the functions use.
        let texts = Texts { stripe, marker_keys: marker_keys::in_memory().expose().clone() };
        let router = Router::new().route("/", post(serve)).with_state(texts);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url }
    }

    /// The environment variables with the secrets for a function: the template's, and the service's address.
    #[must_use]
    pub fn variables(&self) -> [(String, String); 3] {
        [
            ("STRIPE_SECRET_ID", STRIPE_ARN),
            ("MARKER_KEYS_SECRET_ID", MARKER_KEYS_ARN),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", self.url.as_str()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }
}

async fn serve(State(texts): State<Texts>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (arn, text) = match request["SecretId"].as_str() {
        Some(STRIPE_ARN) => (STRIPE_ARN, texts.stripe),
        Some(MARKER_KEYS_ARN) => (MARKER_KEYS_ARN, texts.marker_keys),
        Some(_) | None => return StatusCode::NOT_FOUND.into_response(),
    };
    Json(json!({"ARN": arn, "Name": "secret", "SecretString": text})).into_response()
}
