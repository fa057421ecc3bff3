//! Routes that only the local stack has: health, the OpenAPI document and its page, demo ids and tokens. No deployed
//! function contains them.

use crate::clock;
use crate::demo::Demo;
use crate::issuer::{Grant, Issuer, TOKEN_LIFETIME_S};
use crate::openapi;
use crate::problem::{answer, json_body, problem};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use ledger_runtime::endpoint::Declarations;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

const FACES: [&str; 3] = ["customer", "merchant", "admin"];
const DOCS: &str = include_str!("docs.html");

/// The routes of the local stack alone.
pub(crate) fn router(issuer: Arc<Issuer>, demo: &Demo, declarations: Declarations) -> Router {
    let demo: Bytes = as_json(demo).into();
    Router::new()
        .route("/healthz", get(async || json_body(StatusCode::OK, &json!({"status": "ok"}))))
        .route("/openapi.json", get(document).with_state(Arc::new(declarations)))
        .route("/docs", get(async || answer(StatusCode::OK, "text/html; charset=utf-8", DOCS)))
        .route("/dev/demo", get(async move || answer(StatusCode::OK, "application/json", demo)))
        .route("/dev/token", post(token).with_state(issuer))
}

/// The OpenAPI document. It is made for each request, so that a start does not wait for it.
async fn document(State(declarations): State<Arc<Declarations>>) -> Response {
    json_body(StatusCode::OK, &openapi::complete(&declarations))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    tenant: String,
    face: String,
    sub: String,
    merchant_id: Option<String>,
    roles: Option<Vec<String>>,
    email: Option<String>,
}

/// Issues a token for any tenant and user: the local stack is for development only.
async fn token(State(issuer): State<Arc<Issuer>>, body: Bytes) -> Response {
    let bad = |detail: &str| problem(StatusCode::BAD_REQUEST, "invalid_request", detail);
    let request: TokenRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => {
            return bad(&format!("send {{tenant, face, sub, merchant_id?, roles?, email?}}: {error}"));
        }
    };
    if !FACES.contains(&request.face.as_str()) {
        return bad("`face` must be customer, merchant or admin; a terminal signs its requests instead");
    }
    if request.tenant.is_empty() || request.sub.is_empty() {
        return bad("`tenant` and `sub` must not be empty: see /dev/demo for ids");
    }
    let TokenRequest { tenant, face, sub, merchant_id, roles, email } = request;
    let grant = Grant { tenant, sub, face, merchant_id, roles, email: None, email_verified: false }.with_email(email);
    let now_s = clock::epoch_s();
    match issuer.issue(&grant, now_s, TOKEN_LIFETIME_S) {
        Ok(token) => {
            let expires_at = jiff::Timestamp::from_second(now_s.saturating_add(TOKEN_LIFETIME_S));
            let expires_at = expires_at.map(|time| time.to_string()).unwrap_or_default();
            json_body(StatusCode::OK, &json!({"token": token, "token_type": "Bearer", "expires_at": expires_at}))
        }
        Err(error) => {
            tracing::error!(%error, "no token could be issued");
            problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error: see the log")
        }
    }
}

/// Serialises to JSON. Maps and strings never fail.
fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap_or(Value::Null).to_string()
}
