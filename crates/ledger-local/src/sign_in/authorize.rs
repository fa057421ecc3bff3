//! `/oauth2/authorize`: checks the request, shows the page, and redirects to the client with a code.

use super::error::{ErrorCode, Refusal, uncached};
use super::form::Parameters;
use super::page::{self, Page};
use super::provider::{Provider, secret};
use super::sessions::{Pending, SCOPES, SignedIn};
use crate::issuer::{Api, Grant};
use crate::{clock, local_only};
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use ledger_core::ids::{CustomerId, MerchantId, StaffId, Tenant};
use std::sync::Arc;

/// The length of an S256 challenge.
const CHALLENGE_LENGTH: usize = 43;

/// A request that may be answered by a redirect to its client.
struct Request {
    client: Api,
    redirect_uri: String,
    state: Option<String>,
    parameters: Parameters,
}

/// What is asked for, once nothing is wrong with the request.
struct Asked {
    scope: String,
    challenge: String,
    nonce: Option<String>,
}

/// Shows the page.
pub(super) async fn page(State(provider): State<Arc<Provider>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let request = match Request::read(&provider, &query) {
        Ok(request) => request,
        Err(refused) => return *refused,
    };
    match request.asked() {
        Ok(_) => {
            let sub = request.parameters.get("login_hint");
            page::form(&Page { client: request.client, request: &query, sub, complaint: None }, provider.demo())
        }
        Err(refusal) => request.refused(refusal),
    }
}

/// Takes the form of the page.
pub(super) async fn sign_in(State(provider): State<Arc<Provider>>, headers: HeaderMap, body: Bytes) -> Response {
    if local_only::is_foreign(&headers) {
        return local_only::foreign();
    }
    let form = match Parameters::of_body(&headers, &body) {
        Ok(form) => form,
        Err(refusal) => return unusable(refusal.1),
    };
    let query = form.get("request").unwrap_or_default();
    let request = match Request::read(&provider, query) {
        Ok(request) => request,
        Err(refused) => return *refused,
    };
    let asked = match request.asked() {
        Ok(asked) => asked,
        Err(refusal) => return request.refused(refusal),
    };
    if form.get("decision").is_some() {
        return request.refused(Refusal(ErrorCode::AccessDenied, "the person cancelled"));
    }
    let person = match person(request.client, &form) {
        Ok(person) => person,
        Err(complaint) => {
            let (client, sub) = (request.client, form.get("sub"));
            return page::form(&Page { client, request: query, sub, complaint: Some(complaint) }, provider.demo());
        }
    };
    let Ok(code) = secret() else {
        return request.refused(Refusal(ErrorCode::ServerError, "the system provides no randomness"));
    };
    let now_s = clock::epoch_s();
    let signed_in = SignedIn { client: request.client, person, scope: asked.scope, auth_time: now_s };
    let pending = Pending {
        signed_in,
        redirect_uri: request.redirect_uri.clone(),
        challenge: asked.challenge,
        nonce: asked.nonce,
    };
    provider.sessions().add_code(&code, pending, now_s);
    request.redirect(&[("code", &code)])
}

/// The person of a form.
fn person(client: Api, form: &Parameters) -> Result<Grant, &'static str> {
    let text = |name: &str| form.get(name).unwrap_or_default().trim().to_owned();
    let (tenant, sub) = (text("tenant"), text("sub"));
    Tenant::parse(&tenant).map_err(|_| "The tenant is malformed.")?;
    let is_id = match client {
        Api::Customer => CustomerId::parse(&sub).is_ok(),
        Api::Merchant | Api::Admin => StaffId::parse(&sub).is_ok(),
    };
    if !is_id {
        return Err("The person's id is not a UUID.");
    }
    let merchant_id = match client {
        Api::Merchant => Some(text("merchant_id")),
        Api::Customer | Api::Admin => None,
    };
    if merchant_id.as_ref().is_some_and(|id| MerchantId::parse(id).is_err()) {
        return Err("The merchant's id is not a UUID.");
    }
    let face = client.name().to_owned();
    let email = form.get("email").map(|email| email.trim().to_owned());
    Ok(Grant { tenant, sub, face, merchant_id, roles: None, email: None, email_verified: false }.with_email(email))
}

impl Request {
    /// Reads a request whose client and redirect URI are registered. Otherwise nothing is redirected.
    fn read(provider: &Provider, query: &str) -> Result<Self, Box<Response>> {
        let parameters = Parameters::parse(query.as_bytes()).map_err(|refusal| unusable(refusal.1))?;
        let client = parameters.get("client_id").and_then(Api::parse);
        let client = client.ok_or_else(|| unusable("client_id must be customer, merchant or admin."))?;
        let redirect_uri = parameters.get("redirect_uri").filter(|uri| provider.is_callback(uri));
        let redirect_uri = redirect_uri.ok_or_else(|| {
            unusable("redirect_uri is not registered: start the stack with --callback-url and the same text.")
        })?;
        let state = parameters.get("state").map(str::to_owned);
        Ok(Self { client, redirect_uri: redirect_uri.to_owned(), state, parameters })
    }

    /// What the request asks for.
    fn asked(&self) -> Result<Asked, Refusal> {
        let get = |name: &str| self.parameters.get(name);
        let invalid = |why| Err(Refusal(ErrorCode::InvalidRequest, why));
        if get("response_type") != Some("code") {
            return Err(Refusal(ErrorCode::UnsupportedResponseType, "response_type must be code"));
        }
        if get("response_mode").is_some_and(|mode| mode != "query") {
            return invalid("response_mode must be query");
        }
        if get("request").is_some() || get("request_uri").is_some() {
            return invalid("request objects are not supported");
        }
        let scope = get("scope").map_or_else(|| SCOPES.join(" "), str::to_owned);
        if scope.split(' ').any(|one| !SCOPES.contains(&one)) {
            return Err(Refusal(ErrorCode::InvalidScope, "scope must be of openid and email"));
        }
        if get("code_challenge_method") != Some("S256") {
            return invalid("code_challenge_method must be S256");
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let challenge = get("code_challenge")
            .filter(|challenge| challenge.len() == CHALLENGE_LENGTH && challenge.bytes().all(is_part));
        let Some(challenge) = challenge else { return invalid("code_challenge must be the SHA-256 of the verifier") };
        if get("prompt").is_some_and(|prompt| prompt.split(' ').any(|one| one == "none")) {
            return Err(Refusal(ErrorCode::LoginRequired, "the local stack keeps no session"));
        }
        Ok(Asked { scope, challenge: challenge.to_owned(), nonce: get("nonce").map(str::to_owned) })
    }

    fn refused(&self, Refusal(code, description): Refusal) -> Response {
        self.redirect(&[("error", code.name()), ("error_description", description)])
    }

    /// Redirects to the client with these parameters and its state.
    fn redirect(&self, parameters: &[(&str, &str)]) -> Response {
        let state = self.state.iter().map(|state| ("state", state.as_str()));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters.iter().copied().chain(state))
            .finish();
        let separator = if self.redirect_uri.contains('?') { '&' } else { '?' };
        let Ok(location) = HeaderValue::try_from(format!("{}{separator}{query}", self.redirect_uri)) else {
            return unusable("redirect_uri cannot be a header.");
        };
        let mut response =
            uncached(page::message(StatusCode::SEE_OTHER, "Signed in", "You are sent to the application."));
        response.headers_mut().insert(header::LOCATION, location);
        response
    }
}

/// A request that names no client to redirect to.
fn unusable(why: &str) -> Response {
    page::message(StatusCode::BAD_REQUEST, "The application's request cannot be used", why)
}
