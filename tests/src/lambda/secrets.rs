//! AWS Secrets Manager on the loopback, as far as the functions use it: one secret, with Stripe's keys.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use tokio::net::TcpListener;

const SECRET_ARN: &str = "arn:aws:secretsmanager:ap-northeast-1:123456789012:secret:stripe-AbCdEf";

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
        let text = json!({"api_key": api_key, "webhook_secrets": webhook_secrets}).to_string();
        let router = Router::new().route("/", post(serve)).with_state(text);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url }
    }

    /// The environment variables with the secret for a function: the template's, and the service's address.
    #[must_use]
    pub fn variables(&self) -> [(String, String); 2] {
        [("STRIPE_SECRET_ID", SECRET_ARN), ("AWS_ENDPOINT_URL_SECRETS_MANAGER", self.url.as_str())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }
}

async fn serve(State(text): State<String>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    if request["SecretId"] != SECRET_ARN {
        return StatusCode::NOT_FOUND.into_response();
    }
    Json(json!({"ARN": SECRET_ARN, "Name": "stripe", "SecretString": text})).into_response()
}
