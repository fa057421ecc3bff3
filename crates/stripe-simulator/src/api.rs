//! One API call, from the key to the response: authentication, endpoint, idempotency, faults, execution.
//!
//! The response is stored under the idempotency key in the same change as its effect.

use crate::error::{ErrorType, StripeError};
use crate::events::API_VERSION;
use crate::faults::{self, FaultKind};
use crate::forms::Params;
use crate::idempotency::{Kept, KeyUse};
use crate::ids;
use crate::operations::{self, Operation};
use crate::shared::Shared;
use crate::simulator::Simulator;
use crate::store::{Caller, Change};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::any;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use serde_json::Value;
use std::io;
use std::sync::Arc;

/// The path of the API: a base URL for Stripe's SDKs ends with it.
pub const API_PATH: &str = "/stripe";
const FORM: &str = "application/x-www-form-urlencoded";

/// The API's routes.
pub(crate) fn router(simulator: Simulator) -> Router {
    Router::new().route("/stripe/{*path}", any(serve)).with_state(simulator)
}

/// Handles a call in a task of its own, so that it continues if its client disconnects, as at Stripe.
async fn serve(State(Simulator(shared)): State<Simulator>, parts: request::Parts, body: Bytes) -> Response {
    match tokio::spawn(async move { call(&shared, &parts, &body).await }).await {
        Ok(Outcome::Answer(answer)) => answer.into_response(),
        Ok(Outcome::ConnectionLost) => lost(),
        Err(error) => {
            tracing::error!(%error, "a call of the Stripe simulator");
            lost()
        }
    }
}

enum Outcome {
    Answer(Answer),
    ConnectionLost,
}

struct Answer {
    status: u16,
    body: String,
    headers: Vec<(&'static str, String)>,
}

/// The identity of a call.
struct Call {
    request_id: String,
    account: Option<String>,
    key: Option<KeyUse>,
}

async fn call(shared: &Arc<Shared>, parts: &request::Parts, body: &[u8]) -> Outcome {
    let request_id = format!("req_{}", ids::random_letters());
    let version = text_of(&parts.headers, "stripe-version").unwrap_or_else(|| API_VERSION.to_owned());
    let key = text_of(&parts.headers, "idempotency-key").filter(|_| parts.method == Method::POST);
    let mut headers = vec![("request-id", request_id.clone()), ("stripe-version", version)];
    headers.extend(key.clone().map(|key| ("idempotency-key", key)));
    let outcome = answer(shared, parts, body, request_id, key).await;
    let mut answer = match outcome {
        Ok(Some(answer)) => answer,
        Ok(None) => return Outcome::ConnectionLost,
        Err(error) => Answer::of_error(&error),
    };
    answer.headers.extend(headers);
    Outcome::Answer(answer)
}

/// The response, or `None` if the connection is to be closed without one. Errors returned here are not stored.
async fn answer(
    shared: &Arc<Shared>,
    parts: &request::Parts,
    body: &[u8],
    request_id: String,
    key: Option<String>,
) -> Result<Option<Answer>, StripeError> {
    authenticate(shared, &parts.headers)?;
    let method = parts.method.as_str();
    let path = parts.uri.path().strip_prefix(API_PATH).unwrap_or_default();
    let params = params(parts, body)?;
    let fingerprint = params.fingerprint();
    let Some(operation) = operations::parse(method, path, params) else {
        return Err(operations::unrecognized(method, path));
    };
    let fault = faults::take(&mut shared.lock().faults, method, path);
    if let Some(refusal) = fault.and_then(|fault| faults::refusal(fault, key.as_deref())) {
        return Err(refusal);
    }
    let account = text_of(&parts.headers, "stripe-account");
    let key = match key {
        Some(key) => Some(KeyUse::new(&key, account.as_deref(), format!("{method} {path}"), fingerprint)?),
        None => None,
    };
    let call = Call { request_id, account, key };
    execute(shared, call, operation, fault).await
}

async fn execute(
    shared: &Arc<Shared>,
    call: Call,
    operation: Result<Operation, StripeError>,
    fault: Option<FaultKind>,
) -> Result<Option<Answer>, StripeError> {
    // INVARIANT: reserved before the stored responses are read, so that a second request finds one of the two.
    let reserved = match &call.key {
        Some(key) => Some(shared.reserve(&key.slot).ok_or_else(|| StripeError::key_in_use(&key.key))?),
        None => None,
    };
    slow_down(shared, fault).await;
    let replay = match &call.key {
        Some(key) => key.answer(&shared.lock().state.kept, shared.now_s())?.map(Answer::of_kept),
        None => None,
    };
    if fault == Some(FaultKind::ConnectionLostBefore) {
        return Ok(None);
    }
    let answer = match replay {
        Some(answer) => answer,
        None => run(shared, &call, operation?, fault)?,
    };
    drop(reserved);
    Ok((fault != Some(FaultKind::ConnectionLostAfter)).then_some(answer))
}

/// Runs the operation and stores its response, in one change.
fn run(shared: &Shared, call: &Call, operation: Operation, fault: Option<FaultKind>) -> Result<Answer, StripeError> {
    let (keyed, reads) = (call.key.is_some(), operation.only_reads());
    let caller = Caller {
        request_id: Some(call.request_id.clone()),
        idempotency_key: call.key.as_ref().map(|key| key.key.clone()),
        account: call.account.clone(),
    };
    // With a key, a retry would only replay the same 500, so Stripe says not to retry.
    let failed = || if keyed { faults::internal_error().retry(false) } else { faults::internal_error() };
    let execute = |change: &mut Change<'_>| -> Result<Answer, StripeError> {
        let result = if fault == Some(FaultKind::ErrorBefore) {
            Err(failed())
        } else if fault == Some(FaultKind::ErrorAfter) {
            operation.run(change).and_then(|_| Err(failed()))
        } else {
            operation.run(change)
        };
        let mut answer = match result {
            Ok(value) => Answer::new(200, &value),
            Err(error) if error.executed => Answer::of_error(&error),
            Err(error) => return Err(error),
        };
        if let Some(key) = &call.key {
            key.keep(&mut change.state.kept, answer.status, &answer.body, &call.request_id, change.now_s);
            answer.headers.push(("original-request", call.request_id.clone()));
        }
        Ok(answer)
    };
    if reads { shared.look(caller, execute) } else { shared.change(caller, execute) }
}

async fn slow_down(shared: &Shared, fault: Option<FaultKind>) {
    match fault {
        Some(FaultKind::Latency(time)) => tokio::time::sleep(time).await,
        Some(FaultKind::Held) => {
            let releases = shared.update(|inner| {
                inner.held = inner.held.saturating_add(1);
                inner.releases
            });
            shared.until(|inner| inner.releases > releases).await;
        }
        Some(
            FaultKind::ErrorBefore
            | FaultKind::ErrorAfter
            | FaultKind::ConnectionLostBefore
            | FaultKind::ConnectionLostAfter
            | FaultKind::Conflict
            | FaultKind::RateLimited
            | FaultKind::LockTimeout,
        )
        | None => {}
    }
}

/// Checks the API key, sent as a bearer token or as the user name of HTTP Basic.
fn authenticate(shared: &Shared, headers: &HeaderMap) -> Result<(), StripeError> {
    let unauthorized = |message: &str| StripeError::new(401, ErrorType::InvalidRequest, None, message).not_executed();
    let given = text_of(headers, "authorization").and_then(|value| {
        let (scheme, credentials) = value.split_once(' ')?;
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => Some(credentials.trim().to_owned()),
            "basic" => {
                let decoded = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
                Some(decoded.split(':').next()?.to_owned())
            }
            _ => None,
        }
    });
    match given {
        Some(key) if key == shared.api_key => Ok(()),
        Some(_) => Err(unauthorized("Invalid API Key provided.")),
        None => Err(unauthorized(
            "You did not provide an API key. You need to provide your API key in the Authorization header, using \
             Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
        )),
    }
}

/// The parameters: of the query for a GET, of the body for a POST.
fn params(parts: &request::Parts, body: &[u8]) -> Result<Params, StripeError> {
    if parts.method != Method::POST {
        return Ok(Params::parse(parts.uri.query().unwrap_or_default().as_bytes()));
    }
    let content_type = text_of(&parts.headers, "content-type").unwrap_or_else(|| FORM.to_owned());
    if body.is_empty() || content_type.starts_with(FORM) {
        return Ok(Params::parse(body));
    }
    let message = format!("Invalid request (check that your POST content type is {FORM}).");
    Err(StripeError::refused(None, message).not_executed())
}

impl Answer {
    fn new(status: u16, value: &Value) -> Self {
        Self { status, body: value.to_string(), headers: Vec::new() }
    }

    fn of_error(error: &StripeError) -> Self {
        let mut answer = Self::new(error.status, &error.body());
        if let Some(should_retry) = error.should_retry {
            answer.headers.push(("stripe-should-retry", should_retry.to_string()));
        }
        if error.status == 401 {
            answer.headers.push(("www-authenticate", "Basic realm=\"Stripe\"".to_owned()));
        }
        answer
    }

    fn of_kept(kept: &Kept) -> Self {
        let mut headers =
            vec![("idempotent-replayed", "true".to_owned()), ("original-request", kept.request_id.clone())];
        if kept.status == 402 || kept.status >= 500 {
            headers.push(("stripe-should-retry", "false".to_owned()));
        }
        Self { status: kept.status, body: kept.body.clone(), headers }
    }

    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// A response whose body fails before its first byte. The server then closes the connection without writing anything,
/// and the client sees a connection error.
fn lost() -> Response {
    let broken = futures::stream::once(async { Err::<Bytes, io::Error>(io::ErrorKind::ConnectionReset.into()) });
    Response::new(Body::from_stream(broken))
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}
