//! The local OpenID Connect provider: discovery, keys, the authorization code flow with PKCE, refresh tokens that are
//! replaced by each use, and revocation. Its paths are those of Cognito, so one client configuration fits both.
//!
//! It asks for no password: a developer types who signs in. Codes and refresh tokens are kept in memory and end with the
//! process. Access tokens are valid until they expire, also after a revocation, as at API Gateway.
//!
//! The modules in order: each uses only those before it. `error` and `form` are how requests are read and refused,
//! `sessions` is the state, `provider` the clients with their URLs, `page`, `authorize` and `tokens` the endpoints.

mod authorize;
mod error;
mod form;
mod page;
mod provider;
mod sessions;
mod tokens;

pub use provider::SHELL_CALLBACK;
pub(crate) use provider::{Provider, secret};

use crate::problem::json_body;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::json;
use std::sync::Arc;

/// Where a client finds the endpoints, below the issuer's URL.
pub(crate) const DISCOVERY: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/.well-known/jwks.json";
const AUTHORIZE: &str = "/oauth2/authorize";
const TOKEN: &str = "/oauth2/token";
const REVOKE: &str = "/oauth2/revoke";
const USER_INFO: &str = "/oauth2/userInfo";

/// The provider's routes.
pub(crate) fn router(provider: Arc<Provider>) -> Router {
    Router::new()
        .route(DISCOVERY, get(discovery))
        .route(KEYS, get(keys))
        .route(AUTHORIZE, get(authorize::page).post(authorize::sign_in))
        .route(TOKEN, post(tokens::token))
        .route(REVOKE, post(tokens::revoke))
        .route(USER_INFO, get(tokens::user_info).post(tokens::user_info))
        .with_state(provider)
}

async fn discovery(State(provider): State<Arc<Provider>>) -> Response {
    let issuer = provider.issuer().url();
    let document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}{AUTHORIZE}"),
        "token_endpoint": format!("{issuer}{TOKEN}"),
        "revocation_endpoint": format!("{issuer}{REVOKE}"),
        "userinfo_endpoint": format!("{issuer}{USER_INFO}"),
        "jwks_uri": format!("{issuer}{KEYS}"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": sessions::SCOPES,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    });
    json_body(StatusCode::OK, &document)
}

async fn keys(State(provider): State<Arc<Provider>>) -> Response {
    match provider.issuer().key_set() {
        Ok(keys) => json_body(StatusCode::OK, &json!(keys)),
        Err(error) => tokens::failed(&error),
    }
}

#[cfg(test)]
mod tests;
