//! Stripe's bodies through API Gateway's payload format 2.0: the signed bytes are verified, whether the gateway sends
//! them as text or in base64.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test's helpers fail the test")]

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::BehaviorVersion;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::{BoxFuture, FutureExt};
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::BodyExt;
use ledger_core::personal::Masked;
use ledger_core::time::Timestamp;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{Config, KeptStripe, StripeConfig};
use ledger_runtime::dynamo::Dynamo;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::psp::Stripe;
use ledger_runtime::routing;
use ledger_runtime::secrets::{SecretError, SecretSource};
use serde_json::{Value, json};
use sha2::Sha256;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tower::ServiceExt;

const SECRET: &str = "whsec_of_this_test";
const TABLE: &str = "ecopay";
/// An event as Stripe writes it, indented and with characters beyond ASCII. The ledger ignores its type.
const EVENT: &str = "{\n  \"id\": \"evt_1\",\n  \"object\": \"event\",\n  \"type\": \"customer.created\",\n  \
                     \"livemode\": false,\n  \"data\": {\n    \"object\": {\n      \"object\": \"customer\",\n      \
                     \"name\": \"\u{9752}\u{8449} \u{1f33f} \\u9752\"\n    }\n  }\n}";

/// The function as Lambda runs it, with a secret from the environment and a store that it does not call.
fn function() -> axum::Router {
    let stripe = StripeConfig {
        base_url: "http://127.0.0.1:9".to_owned(),
        api_key: Masked::new("sk_test_1".to_owned()),
        webhook_secrets: vec![Masked::new(SECRET.to_owned())],
        account: None,
    };
    let psp = Stripe::new(&stripe, TABLE).unwrap();
    finished(app(Clock::system()).with_psp(psp, &stripe))
}

fn app(clock: Clock) -> App {
    let config = aws_sdk_dynamodb::Config::builder().behavior_version(BehaviorVersion::v2026_01_12()).build();
    let entropy = Entropy::system();
    let dynamo = Dynamo::from_client(Client::from_conf(config), TABLE, entropy.clone());
    let metrics = Metrics::to(Counting::new(clock.clone()));
    let ledger = Ledger::new(dynamo, clock, entropy, metrics);
    App::new(ledger, Config::of_table(TABLE))
}

fn finished(app: App) -> axum::Router {
    let (router, _) = stripe_webhook::router().into_parts();
    routing::finish(router, app)
}

fn signature(body: &[u8]) -> String {
    signature_with(SECRET, body)
}

fn signature_with(secret: &str, body: &[u8]) -> String {
    let at_s = Clock::system().now().seconds();
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    let mac = mac.chain_update(format!("{at_s}.")).chain_update(body).finalize().into_bytes();
    format!("t={at_s},v1={}", hex::encode(mac))
}

/// The event with which API Gateway calls the function.
fn payload(signature: &str, body: &str, base64: bool) -> String {
    json!({
        "version": "2.0",
        "routeKey": "POST /v1/webhooks/stripe",
        "rawPath": "/v1/webhooks/stripe",
        "rawQueryString": "",
        "headers": {
            "content-length": body.len().to_string(),
            "content-type": "application/json; charset=utf-8",
            "host": "api.example.com",
            "stripe-signature": signature,
            "user-agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api-id",
            "domainName": "api.example.com",
            "domainPrefix": "api",
            "http": {
                "method": "POST",
                "path": "/v1/webhooks/stripe",
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "Stripe/1.0",
            },
            "requestId": "id",
            "routeKey": "POST /v1/webhooks/stripe",
            "stage": "$default",
            "time": "21/Nov/2026:12:00:00 +0000",
            "timeEpoch": 1_795_262_400_000_i64,
        },
        "body": body,
        "isBase64Encoded": base64,
    })
    .to_string()
}

/// The status of the response, and `status` or `code` of its body.
async fn answered(payload: &str) -> (u16, String) {
    answered_by(function(), payload).await
}

async fn answered_by(function: axum::Router, payload: &str) -> (u16, String) {
    let request = lambda_http::request::from_str(payload).unwrap();
    let response = function.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body: Value = serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    let word = if status == 200 { &body["status"] } else { &body["code"] };
    (status, word.as_str().unwrap().to_owned())
}

#[tokio::test]
async fn text_and_base64_bodies_are_verified_alike() {
    let good = (200, "ignored".to_owned());
    let signed = signature(EVENT.as_bytes());
    assert_eq!(answered(&payload(&signed, EVENT, false)).await, good);
    assert_eq!(answered(&payload(&signed, &STANDARD.encode(EVENT), true)).await, good);
}

#[tokio::test]
async fn bytes_that_were_not_signed_are_refused() {
    let (signed, refused) = (signature(EVENT.as_bytes()), (400, "signature_invalid".to_owned()));
    let others = [
        EVENT.replace('\n', "\r\n"),
        format!("\u{feff}{EVENT}"),
        format!("{EVENT}\n"),
        EVENT.replace("evt_1", "evt_2"),
        serde_json::from_str::<Value>(EVENT).unwrap().to_string(),
        STANDARD.encode(EVENT),
        String::new(),
    ];
    for other in others {
        assert_eq!(answered(&payload(&signed, &other, false)).await, refused, "{other}");
        assert_eq!(answered(&payload(&signed, &STANDARD.encode(&other), true)).await, refused, "{other}");
    }
}

/// Signed bytes that are not text are refused as an invalid request, not reported as a fault of the ledger.
#[tokio::test]
async fn signed_bytes_that_are_not_json_are_refused() {
    for bytes in [&b"\xff\xfe{}"[..], b"", b"{}", b"[1]", b"{\"id\":\"evt_1\""] {
        let signed = signature(bytes);
        let answer = answered(&payload(&signed, &STANDARD.encode(bytes), true)).await;
        assert_eq!(answer, (400, "invalid_request".to_owned()), "{bytes:?}");
    }
}

/// A secret in a store, which an operator changes while the function runs.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<&'static str>>>);

impl SecretSource for Kept {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        let text = json!({"api_key": "sk_test_1", "webhook_secrets": *self.0.lock().unwrap()}).to_string();
        std::future::ready(Ok(Masked::new(text))).boxed()
    }
}

/// Rotates secrets as the runbook says: the second one is added, Stripe signs with both and then with the second only,
/// and the first is removed. No event is refused, and no deployment is needed.
#[tokio::test]
async fn secrets_rotate_while_the_function_runs() {
    let offset_ms = Arc::new(AtomicI64::new(0));
    let read = Arc::clone(&offset_ms);
    let clock =
        Clock::from_fn(move || Timestamp::from_millis(Clock::system().now().millis() + read.load(Ordering::SeqCst)));
    let kept = Kept(Arc::new(Mutex::new(vec!["whsec_1"])));
    let access = KeptStripe { secret_id: "arn:x".to_owned(), base_url: "http://127.0.0.1:9".to_owned(), account: None };
    let function = finished(app(clock).with_kept_secrets(kept.clone(), access));
    let sent = async |secrets: &[&str]| {
        let signed: Vec<String> = secrets.iter().map(|secret| signature_with(secret, EVENT.as_bytes())).collect();
        let (first, rest) = signed.split_first().unwrap();
        let header = rest.iter().fold(first.clone(), |all, one| format!("{all},{}", one.split_once(',').unwrap().1));
        answered_by(function.clone(), &payload(&header, EVENT, false)).await.0
    };
    assert_eq!(sent(&["whsec_1"]).await, 200);
    assert_eq!(sent(&["whsec_2"]).await, 400);
    *kept.0.lock().unwrap() = vec!["whsec_1", "whsec_2"];
    assert_eq!(sent(&["whsec_2"]).await, 400, "the secret is not read again within 10 seconds");
    offset_ms.store(11_000, Ordering::SeqCst);
    assert_eq!(sent(&["whsec_2"]).await, 200, "an unknown signature makes the function read the secret again");
    assert_eq!(sent(&["whsec_1", "whsec_2"]).await, 200);
    *kept.0.lock().unwrap() = vec!["whsec_2"];
    assert_eq!(sent(&["whsec_1"]).await, 200, "a secret is cached for five minutes");
    offset_ms.store(11_000 + 299_000, Ordering::SeqCst);
    assert_eq!(sent(&["whsec_1"]).await, 400);
}
