//! The endpoints that clients call directly: `/oauth2/token`, `/oauth2/revoke` and `/oauth2/userInfo`. All clients are
//! public: they have an id and no secret.

use super::error::{ErrorCode, Refusal, uncached};
use super::form::Parameters;
use super::provider::{Provider, secret};
use super::sessions::{Lifetimes, Redemption, SignedIn};
use crate::clock;
use crate::issuer::{Api, SignInClaims, TokenError};
use crate::problem::{answer, json_body};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use std::sync::Arc;

/// The lengths of a verifier (RFC 7636, 4.1).
const VERIFIER_LENGTHS: std::ops::RangeInclusive<usize> = 43..=128;

/// The answer to a failure of the stack itself.
pub(super) fn failed(error: &dyn std::fmt::Display) -> Response {
    tracing::error!(%error, "no token could be issued");
    server_error().answer()
}

fn server_error() -> Refusal {
    Refusal(ErrorCode::ServerError, "internal error: see the log")
}

/// Redeems a code, or replaces a refresh token.
pub(super) async fn token(State(provider): State<Arc<Provider>>, headers: HeaderMap, body: Bytes) -> Response {
    granted(&provider, &headers, &body).unwrap_or_else(Refusal::answer)
}

fn granted(provider: &Provider, headers: &HeaderMap, body: &[u8]) -> Result<Response, Refusal> {
    let form = Parameters::of_body(headers, body)?;
    let client = client(headers, &form)?;
    let now_s = clock::epoch_s();
    match required(&form, "grant_type", "grant_type is missing")? {
        "authorization_code" => {
            let verifier = required(&form, "code_verifier", "code_verifier is missing")?;
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
            if !VERIFIER_LENGTHS.contains(&verifier.len()) || !verifier.bytes().all(is_part) {
                return Err(Refusal(
                    ErrorCode::InvalidRequest,
                    "code_verifier must have 43 to 128 unreserved characters",
                ));
            }
            let sent = Redemption {
                code: required(&form, "code", "code is missing")?,
                client,
                redirect_uri: required(&form, "redirect_uri", "redirect_uri is missing")?,
                verifier,
            };
            let id = random()?;
            let refresh = refresh_token(&id)?;
            let (signed_in, nonce) = provider.sessions().redeem(&sent, (&id, &refresh), now_s)?;
            issued(provider, &signed_in, (&id, &refresh), nonce.as_deref(), now_s)
        }
        "refresh_token" => {
            let token = required(&form, "refresh_token", "refresh_token is missing")?;
            let id = sign_in_of(token);
            let next = refresh_token(id)?;
            let signed_in = provider.sessions().refresh((id, token, &next), client, now_s)?;
            issued(provider, &signed_in, (id, &next), None, now_s)
        }
        _ => Err(Refusal(ErrorCode::UnsupportedGrantType, "grant_type must be authorization_code or refresh_token")),
    }
}

/// The tokens of a sign-in.
fn issued(
    provider: &Provider,
    signed_in: &SignedIn,
    (id, refresh): (&str, &str),
    nonce: Option<&str>,
    now_s: i64,
) -> Result<Response, Refusal> {
    let (issuer, client, person) = (provider.issuer(), signed_in.client, &signed_in.person);
    let (scope, auth_time) = (signed_in.scope.clone(), signed_in.auth_time);
    let lifetime_s = Lifetimes::of(client).access_s;
    let logged = |error: TokenError| {
        tracing::error!(%error, "no token could be issued");
        server_error()
    };
    let sign_in = SignInClaims { scope, auth_time, jti: random()?, origin_jti: id.to_owned() };
    let access = issuer.issue_signed_in(person, &sign_in, (now_s, lifetime_s)).map_err(logged)?;
    let mut body = json!({
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": lifetime_s,
        "refresh_token": refresh,
        "scope": signed_in.scope,
    });
    if signed_in.has_scope("openid") {
        let mut claims = json!({
            "iss": issuer.url(),
            "aud": client.name(),
            "sub": person.sub,
            "token_use": "id",
            "iat": now_s,
            "exp": now_s.saturating_add(lifetime_s),
            "auth_time": auth_time,
            "jti": random()?,
            "origin_jti": id,
        });
        let email = signed_in.person.email.as_deref().filter(|_| signed_in.has_scope("email"));
        for (name, value) in [("nonce", nonce), ("email", email)] {
            set(&mut claims, name, value.map(Value::from));
        }
        set(&mut body, "id_token", Some(Value::from(issuer.sign(&claims).map_err(logged)?)));
    }
    Ok(uncached(json_body(StatusCode::OK, &body)))
}

/// Ends the sign-in of a refresh token.
pub(super) async fn revoke(State(provider): State<Arc<Provider>>, headers: HeaderMap, body: Bytes) -> Response {
    let revoked = || {
        let form = Parameters::of_body(&headers, &body)?;
        let client = client(&headers, &form)?;
        let token = required(&form, "token", "token is missing")?;
        if provider.issuer().verify(token).is_ok() {
            return Err(Refusal(ErrorCode::UnsupportedTokenType, "only refresh tokens can be revoked"));
        }
        provider.sessions().revoke((sign_in_of(token), token), client)
    };
    match revoked() {
        Ok(()) => uncached(answer(StatusCode::OK, "application/json", Body::empty())),
        Err(refusal) => refusal.answer(),
    }
}

/// Who signed in, while the sign-in lasts.
pub(super) async fn user_info(State(provider): State<Arc<Provider>>, headers: HeaderMap) -> Response {
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token =
        token.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let claims = token.and_then(|(_, token)| provider.issuer().verify(token.trim()).ok());
    let id = claims.filter(|claims| claims.get("token_use").is_some_and(|of| of == "access"));
    let id = id.and_then(|claims| claims.get("origin_jti").cloned());
    let sessions = provider.sessions();
    let person = id.and_then(|id| sessions.person(&id, clock::epoch_s())).filter(|person| person.has_scope("openid"));
    let Some(person) = person else {
        let text = json!({"error": "invalid_token", "error_description": "the token is not valid here"});
        let mut refused = uncached(json_body(StatusCode::UNAUTHORIZED, &text));
        let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        return refused;
    };
    let mut body = json!({"sub": person.person.sub});
    let email = person.person.email.as_deref().filter(|_| person.has_scope("email"));
    set(&mut body, "email", email.map(Value::from));
    uncached(json_body(StatusCode::OK, &body))
}

/// The client of a request.
fn client(headers: &HeaderMap, form: &Parameters) -> Result<Api, Refusal> {
    if headers.contains_key(header::AUTHORIZATION) || form.get("client_secret").is_some() {
        return Err(Refusal(ErrorCode::InvalidClient, "the clients have no secret: send client_id in the form"));
    }
    let known = form.get("client_id").and_then(Api::parse);
    known.ok_or(Refusal(ErrorCode::InvalidClient, "client_id must be customer, merchant or admin"))
}

fn required<'a>(form: &'a Parameters, name: &str, missing: &'static str) -> Result<&'a str, Refusal> {
    form.get(name).ok_or(Refusal(ErrorCode::InvalidRequest, missing))
}

/// A refresh token: the id of its sign-in and a secret.
fn refresh_token(id: &str) -> Result<String, Refusal> {
    Ok(format!("{id}.{}", random()?))
}

/// The sign-in that a refresh token names.
fn sign_in_of(token: &str) -> &str {
    token.split('.').next().unwrap_or_default()
}

fn random() -> Result<String, Refusal> {
    secret().map_err(|_| Refusal(ErrorCode::ServerError, "the system provides no randomness"))
}

fn set(object: &mut Value, name: &str, value: Option<Value>) {
    if let (Some(members), Some(value)) = (object.as_object_mut(), value) {
        members.insert(name.to_owned(), value);
    }
}
