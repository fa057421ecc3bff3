//! The dev controls under `/dev/stripe`: actions of payers, banks and the network, on request.
//!
//! They need no key. Errors are RFC 9457 problems, unlike Stripe's.

use crate::controls::ControlError;
use crate::deliveries::{DeliveryError, DeliveryOptions, DeliveryOrder};
use crate::events::Attempt;
use crate::faults::{Fault, FaultKind};
use crate::simulator::Simulator;
use crate::statuses::RefundStatus;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

const BASE: &str = "/dev/stripe";

/// The controls' routes.
pub(crate) fn router(simulator: Simulator) -> Router {
    let at = |path: &str| format!("{BASE}{path}");
    Router::new()
        .route(&at("/payment_intents/{id}/{action}"), post(payment))
        .route(&at("/refunds/{id}/{action}"), post(refund))
        .route(&at("/disputes/{id}/{action}"), post(dispute))
        .route(&at("/payouts/{id}/{action}"), post(payout))
        .route(&at("/next_refund_status"), post(next_refund_status))
        .route(&at("/webhook_url"), post(webhook_url))
        .route(&at("/events"), get(async |State(it): State<Simulator>| ok(&json!({"events": it.events()}))))
        .route(&at("/events/{id}/deliver"), post(deliver))
        .route(&at("/deliveries"), get(async |State(it): State<Simulator>| ok(&deliveries(&it))).post(deliver_all))
        .route(&at("/deliveries/pause"), post(pause))
        .route(&at("/deliveries/resume"), post(resume))
        .route(&at("/faults"), get(async |State(it): State<Simulator>| ok(&faults(&it))).post(inject).delete(clear))
        .route(&at("/faults/release"), post(release))
        .with_state(simulator)
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PaymentRequest {
    amount: Option<i64>,
    reason: Option<String>,
    decline_code: Option<String>,
}

async fn payment(State(it): State<Simulator>, Path((id, action)): Path<(String, String)>, body: Bytes) -> Response {
    let allowed: &[&str] = match action.as_str() {
        "fail" => &["decline_code"],
        "cancel" => &["reason"],
        "dispute" | "refund" => &["amount", "reason"],
        _ => &[],
    };
    let PaymentRequest { amount, reason, decline_code } = match read_only(&body, allowed) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    match action.as_str() {
        "succeed" => controlled(it.succeed_payment(&id)),
        "fail" => controlled(it.fail_payment(&id, decline_code)),
        "cancel" => controlled(it.cancel_payment(&id, reason)),
        "process" => controlled(it.process_payment(&id)),
        "dispute" => controlled(it.dispute_payment(&id, amount, reason)),
        "refund" => controlled(it.refund_payment(&id, amount, reason)),
        _ => no_action(&action, "succeed, fail, cancel, process, dispute and refund"),
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FailureRequest {
    failure_reason: Option<String>,
    failure_code: Option<String>,
}

async fn refund(State(it): State<Simulator>, Path((id, action)): Path<(String, String)>, body: Bytes) -> Response {
    let allowed: &[&str] = if action == "fail" { &["failure_reason"] } else { &[] };
    let request: FailureRequest = match read_only(&body, allowed) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    match action.as_str() {
        "succeed" => controlled(it.succeed_refund(&id)),
        "fail" => controlled(it.fail_refund(&id, request.failure_reason)),
        _ => no_action(&action, "succeed and fail"),
    }
}

async fn dispute(State(it): State<Simulator>, Path((id, action)): Path<(String, String)>, body: Bytes) -> Response {
    if let Err(refusal) = read_only::<FailureRequest>(&body, &[]) {
        return *refusal;
    }
    match action.as_str() {
        "win" => controlled(it.win_dispute(&id)),
        "lose" => controlled(it.lose_dispute(&id)),
        "overturn" => controlled(it.overturn_dispute(&id)),
        _ => no_action(&action, "win, lose and overturn"),
    }
}

async fn payout(State(it): State<Simulator>, Path((id, action)): Path<(String, String)>, body: Bytes) -> Response {
    let allowed: &[&str] = if action == "fail" { &["failure_code"] } else { &[] };
    let request: FailureRequest = match read_only(&body, allowed) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    match action.as_str() {
        "pay" => controlled(it.pay_payout(&id)),
        "fail" => controlled(it.fail_payout(&id, request.failure_code)),
        _ => no_action(&action, "pay and fail"),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NextRefundsRequest {
    status: RefundStatus,
    /// The number of refunds; one if absent.
    times: Option<u32>,
}

async fn next_refund_status(State(it): State<Simulator>, body: Bytes) -> Response {
    let NextRefundsRequest { status, times } = match read(&body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    it.set_next_refunds(status, Some(times.unwrap_or(1)));
    ok(&json!({"status": status, "times": times.unwrap_or(1)}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookRequest {
    /// `null` stops all deliveries.
    #[serde(deserialize_with = "Option::deserialize")]
    url: Option<String>,
}

async fn webhook_url(State(it): State<Simulator>, body: Bytes) -> Response {
    let WebhookRequest { url } = match read(&body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    if let Some(url) = url.as_deref().filter(|url| !url.starts_with("http://")) {
        return bad(&format!("`url` must begin with http://, and {url} does not"));
    }
    it.deliver_to(url.clone());
    ok(&json!({"url": url}))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DeliverRequest {
    repeats: u32,
    as_another_event: bool,
    signed_at_s: Option<i64>,
}

async fn deliver(State(it): State<Simulator>, Path(id): Path<String>, body: Bytes) -> Response {
    let DeliverRequest { repeats, as_another_event, signed_at_s } = match read(&body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let options = DeliveryOptions { repeats, as_another_event, signed_at_s };
    delivered(it.deliver_with(&id, &options).await)
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum OrderRequest {
    #[default]
    Created,
    Reversed,
    Given(Vec<String>),
    Shuffled(u64),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DeliverAllRequest {
    order: OrderRequest,
}

async fn deliver_all(State(it): State<Simulator>, body: Bytes) -> Response {
    let DeliverAllRequest { order } = match read(&body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let order = match order {
        OrderRequest::Created => DeliveryOrder::Created,
        OrderRequest::Reversed => DeliveryOrder::Reversed,
        OrderRequest::Given(events) => DeliveryOrder::Given(events),
        OrderRequest::Shuffled(seed) => DeliveryOrder::Shuffled(seed),
    };
    delivered(it.deliver_all(&order).await)
}

async fn pause(State(it): State<Simulator>) -> Response {
    it.pause_deliveries();
    ok(&deliveries(&it))
}

async fn resume(State(it): State<Simulator>) -> Response {
    it.resume_deliveries();
    ok(&deliveries(&it))
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FaultWord {
    Latency,
    Held,
    ErrorBefore,
    ErrorAfter,
    ConnectionLostBefore,
    ConnectionLostAfter,
    Conflict,
    RateLimited,
    LockTimeout,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultRequest {
    kind: FaultWord,
    latency_ms: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    path_prefix: String,
    times: Option<u32>,
}

async fn inject(State(it): State<Simulator>, body: Bytes) -> Response {
    let FaultRequest { kind, latency_ms, method, path_prefix, times } = match read(&body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let kind = match (kind, latency_ms) {
        (FaultWord::Latency, Some(millis)) => FaultKind::Latency(Duration::from_millis(millis)),
        (FaultWord::Latency, None) => return bad("the fault latency needs `latency_ms`"),
        (_, Some(_)) => return bad("only the fault latency takes `latency_ms`"),
        (FaultWord::Held, None) => FaultKind::Held,
        (FaultWord::ErrorBefore, None) => FaultKind::ErrorBefore,
        (FaultWord::ErrorAfter, None) => FaultKind::ErrorAfter,
        (FaultWord::ConnectionLostBefore, None) => FaultKind::ConnectionLostBefore,
        (FaultWord::ConnectionLostAfter, None) => FaultKind::ConnectionLostAfter,
        (FaultWord::Conflict, None) => FaultKind::Conflict,
        (FaultWord::RateLimited, None) => FaultKind::RateLimited,
        (FaultWord::LockTimeout, None) => FaultKind::LockTimeout,
    };
    it.inject(Fault { kind, method, path_prefix, times: times.unwrap_or(1) });
    ok(&faults(&it))
}

async fn clear(State(it): State<Simulator>) -> Response {
    it.clear_faults();
    ok(&faults(&it))
}

async fn release(State(it): State<Simulator>) -> Response {
    it.release_held();
    ok(&json!({"released": true}))
}

fn deliveries(it: &Simulator) -> Value {
    json!({
        "webhook_url": it.webhook_url(),
        "paused": it.deliveries_paused(),
        "waiting": it.waiting_events(),
        "attempts": it.attempts().iter().map(attempt).collect::<Vec<_>>(),
    })
}

fn attempt(attempt: &Attempt) -> Value {
    json!({"event": attempt.event_id, "type": attempt.event_type, "status": attempt.status})
}

fn faults(it: &Simulator) -> Value {
    let faults = it.faults().into_iter().map(|fault| {
        let kind = fault.kind.name();
        json!({"kind": kind, "method": fault.method, "path_prefix": fault.path_prefix, "times": fault.times})
    });
    json!({"faults": faults.collect::<Vec<_>>()})
}

fn delivered(result: Result<Vec<Attempt>, DeliveryError>) -> Response {
    match result {
        Ok(attempts) => ok(&json!({"attempts": attempts.iter().map(attempt).collect::<Vec<_>>()})),
        Err(error @ DeliveryError::NoSuchEvent(_)) => missing(&error.to_string()),
        Err(error @ DeliveryError::NoWebhook) => conflict(&error.to_string()),
    }
}

fn controlled(result: Result<Value, ControlError>) -> Response {
    match result {
        Ok(value) => ok(&value),
        Err(ControlError::Missing(message)) => missing(&message),
        Err(ControlError::State(message)) => conflict(&message),
    }
}

/// Parses a body that may have these members only. An empty body means `{}`.
fn read_only<T: DeserializeOwned>(body: &[u8], allowed: &[&str]) -> Result<T, Box<Response>> {
    let value: Value = read(body)?;
    let strange = value.as_object().and_then(|members| members.keys().find(|name| !allowed.contains(&name.as_str())));
    if let Some(name) = strange {
        let detail = if allowed.is_empty() {
            format!("unknown member `{name}`: this control takes none")
        } else {
            format!("unknown member `{name}`: this control takes {}", allowed.join(", "))
        };
        return Err(Box::new(bad(&detail)));
    }
    read(body)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Box<Response>> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| Box::new(bad(&format!("the body does not fit: {error}"))))
}

fn no_action(action: &str, known: &str) -> Response {
    missing(&format!("there is no {action} here, but {known}"))
}

fn ok(value: &Value) -> Response {
    Json(value).into_response()
}

fn bad(detail: &str) -> Response {
    problem(StatusCode::BAD_REQUEST, "invalid_request", detail)
}

fn missing(detail: &str) -> Response {
    problem(StatusCode::NOT_FOUND, "not_found", detail)
}

fn conflict(detail: &str) -> Response {
    problem(StatusCode::CONFLICT, "unexpected_state", detail)
}

/// `application/problem+json` with a stable `code`.
fn problem(status: StatusCode, code: &str, detail: &str) -> Response {
    let body = json!({"type": "about:blank", "title": status.canonical_reason(), "status": status.as_u16(),
        "detail": detail, "code": code});
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}
