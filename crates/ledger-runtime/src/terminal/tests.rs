//! Signed requests against cached and stored terminal records. The signature base is written by hand here,
//! independently of the verifier.

use super::*;
use crate::clock::Clock;
use crate::config::Config;
use crate::metrics::Counting;
use crate::request::{Json, RequestKey};
use crate::testing::{Step, Store, now, terms};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http_body_util::BodyExt;
use httpsig::prelude::{AlgorithmName, SecretKey, SigningKey};
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::MerchantId;
use ledger_core::operation::Operation;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicU64, Ordering};
use tower::Service;

mod vectors;

const OLD_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpflwuH2azxJUlA4S
KgHzhkfyb3cdJ4FC+449GdzLU7yhRANCAASN9PR7DXyMEtH0LdBmM3sC76nZEths
n6BDuuzmyvAdtVQMgCPSenRLyYHTNjy2gX7dWJ9M5N8/VyeRgbqG/qYg
-----END PRIVATE KEY-----
";
const OLD_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjfT0ew18jBLR9C3QZjN7Au+p2RLY
bJ+gQ7rs5srwHbVUDIAj0np0S8mB0zY8toF+3VifTOTfP1cnkYG6hv6mIA==
-----END PUBLIC KEY-----
";
const OTHER_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEh0VSagEpUeTNL62vZSb6Ju2Rx6Uk
RRzZv6o8AW421zdlyGIjQ8k2Tv/wiJiLp3frcGFPfbdAwNkH+jM2Br1ucA==
-----END PUBLIC KEY-----
";
const TERMINAL: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d31";
const MERCHANT: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d32";
const PATH: &str = "/v1/terminal/cards/c/pay";

fn record(epoch: u32, public_key: &str, state: &str) -> Step {
    Step::Ok(json!({"Item": {
        "uuid": {"S": format!("demo#terminal#{TERMINAL}")}, "type": {"S": "PROFILE"},
        "terminal_id": {"S": TERMINAL}, "merchant_id": {"S": MERCHANT}, "state": {"S": state},
        "epoch": {"N": epoch.to_string()}, "public_key": {"S": public_key},
        "created_at": {"S": "2026-11-01T00:00:00.000Z"},
    }}))
}

fn signed(epoch: u32, at: Timestamp, body: &str) -> http::Request<Body> {
    let digest = format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(body)));
    let params = format!(
        r#"("@method" "@path" "@query" "content-digest");created={};keyid="demo/{TERMINAL}/{epoch}";alg="ecdsa-p256-sha256""#,
        at.seconds()
    );
    let base = format!(
        "\"@method\": POST\n\"@path\": {PATH}\n\"@query\": ?\n\"content-digest\": {digest}\n\"@signature-params\": {params}"
    );
    let key = SecretKey::from_pem(&AlgorithmName::EcdsaP256Sha256, OLD_PRIVATE).unwrap();
    let signature = STANDARD.encode(key.sign(base.as_bytes()).unwrap());
    http::Request::post(PATH)
        .header("content-type", "application/json")
        .header("content-digest", digest)
        .header("signature-input", format!("sig={params}"))
        .header("signature", format!("sig=:{signature}:"))
        .body(Body::from(body.to_owned()))
        .unwrap()
}

/// A function over the store. Its clock is ahead of `now` by the returned number of milliseconds.
fn function(store: &Store) -> (Router, Counting, Arc<AtomicU64>) {
    async fn pay(terminal: Terminal, Json(body): Json<Value>) -> String {
        format!("{} {} {}", terminal.owner(), terminal.epoch(), body["amount"])
    }
    let later = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&later);
    let clock = Clock::from_fn(move || now().plus(Duration::from_millis(read.load(Ordering::SeqCst))));
    let (ledger, counting) = store.ledger_at(clock);
    let config = Config::of_table("ledger");
    let app = App::new(ledger, config);
    let routes = Router::new().route(PATH, post(pay)).route_layer(from_fn_with_state(app.clone(), verify_terminal));
    (crate::routing::finish(routes, app), counting, later)
}

async fn call(router: &mut Router, request: http::Request<Body>) -> (u16, String) {
    let (parts, body) = router.call(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (parts.status.as_u16(), String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn signed_request_names_its_terminal_and_the_record_is_cached() {
    let store = Store::script([record(3, OLD_PUBLIC, "active"), terms("mandatory")]);
    let (mut router, counting, _) = function(&store);
    for _ in 0..2 {
        let (status, body) = call(&mut router, signed(3, now(), r#"{"amount":"100"}"#)).await;
        assert_eq!((status, body), (200, format!("{MERCHANT} 3 \"100\"")));
    }
    // From the second request of a window on, the tenant's terms are read for its rate.
    assert_eq!((store.seen().len(), counting.total(Metric::SignatureRefused)), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn unknown_frozen_and_wrongly_signed_terminals_get_the_same_answer() {
    let steps = [
        Step::Ok(json!({})),
        record(3, OLD_PUBLIC, "frozen"),
        record(3, OTHER_PUBLIC, "active"),
        record(4, OLD_PUBLIC, "active"),
    ];
    let mut bodies = std::collections::BTreeSet::new();
    for step in steps {
        let store = Store::script([step]);
        let (mut router, counting, _) = function(&store);
        let (status, body) = call(&mut router, signed(3, now(), "{}")).await;
        assert_eq!((status, counting.total(Metric::SignatureRefused)), (401, 1), "{body}");
        assert!(body.contains("\"signature_invalid\""));
        bodies.insert(body);
    }
    assert_eq!(bodies.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn unknown_terminal_is_read_again_after_a_minute() {
    let store = Store::script([Step::Ok(json!({})), record(3, OLD_PUBLIC, "active")]);
    let (mut router, counting, later) = function(&store);
    for (ms, want) in [(0, (401, 1)), (59_999, (401, 1)), (60_000, (200, 2))] {
        later.store(ms, Ordering::SeqCst);
        let status = call(&mut router, signed(3, now(), r#"{"amount":"1"}"#)).await.0;
        assert_eq!((status, store.seen().len()), want, "{ms}");
    }
    assert_eq!((counting.total(Metric::UnknownTerminal), counting.total(Metric::SignatureRefused)), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn new_enrolment_is_accepted_after_one_reread_per_second_at_most() {
    let store = Store::script([
        record(2, OTHER_PUBLIC, "active"),
        record(2, OTHER_PUBLIC, "active"),
        record(3, OLD_PUBLIC, "active"),
    ]);
    let (mut router, _, later) = function(&store);
    let mut status_at = async |ms: u64| {
        later.store(ms, Ordering::SeqCst);
        call(&mut router, signed(3, now(), "{}")).await.0
    };
    assert_eq!(status_at(0).await, 401);
    assert_eq!(status_at(999).await, 401);
    assert_eq!(store.seen().len(), 1, "the terminal is not read again within a second");
    assert_eq!(status_at(1000).await, 401);
    assert_eq!(store.seen().len(), 2);
    assert_eq!(status_at(2000).await, 200, "the enrolment is read before the cached entry expires");
}

#[tokio::test(start_paused = true)]
async fn request_with_a_wrong_clock_gets_the_server_time() {
    let store = Store::script([record(3, OLD_PUBLIC, "active")]);
    let (mut router, ..) = function(&store);
    let (status, body) = call(&mut router, signed(3, now().minus(Duration::from_secs(301)), "{}")).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["code"]), (401, &"signature_expired".into()));
    assert_eq!(body["server_time"], "2026-11-21T09:30:00.000Z");
}

#[tokio::test(start_paused = true)]
async fn body_changed_in_transit_is_refused() {
    let store = Store::script([record(3, OLD_PUBLIC, "active")]);
    let (mut router, ..) = function(&store);
    let (parts, _) = signed(3, now(), r#"{"amount":"100"}"#).into_parts();
    let changed = http::Request::from_parts(parts, Body::from(r#"{"amount":"900"}"#));
    assert_eq!(call(&mut router, changed).await.0, 401);
}

#[tokio::test]
async fn unsigned_request_is_refused_without_a_read() {
    let store = Store::default();
    let (mut router, ..) = function(&store);
    let bare = http::Request::post(PATH).body(Body::from("{}")).unwrap();
    let (status, body) = call(&mut router, bare).await;
    assert_eq!(status, 401);
    assert!(body.contains("signature_invalid") && store.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn key_of_an_earlier_enrolment_is_only_looked_up_and_other_terminals_keys_are_refused() {
    let store = Store::script([terms("mandatory")]);
    let (ledger, _) = store.ledger();
    let config = Config::of_table("ledger");
    let app = App::new(ledger, config);
    let terminal = Terminal {
        shop: None,
        tenant: Tenant::parse("demo").unwrap(),
        id: TerminalId::parse(TERMINAL).unwrap(),
        owner: TerminalOwner::Merchant(MerchantId::parse(MERCHANT).unwrap()),
        epoch: 3,
    };
    let claim = async |key: &str| {
        let key = RequestKey(IdempotencyKey::parse(key));
        let request = CanonicalRequest { method: "POST", path: PATH.to_owned(), fields: Fields::new() };
        let claimed = app.claim(&terminal, Operation::CardPay, key, request).await;
        claimed.map(|(_, admission)| admission).map_err(|problem| problem.code())
    };
    assert_eq!(claim(&format!("{TERMINAL}-3-1")).await, Ok(Admission::Execute));
    assert_eq!(claim(&format!("{TERMINAL}-2-1")).await, Ok(Admission::LookUpOnly));
    assert_eq!(claim(&format!("{MERCHANT}-3-1")).await, Err("idempotency_key_invalid"));
    assert_eq!(claim("anything").await, Err("idempotency_key_invalid"));
}
