//! Starts, stops and failed starts.

use super::*;
use crate::table::TableError;
use crate::testing::TempDir;
use std::sync::Mutex;

#[tokio::test]
async fn stack_starts_answers_and_stops() {
    let stack = Stack::start(StackConfig::in_memory()).await.unwrap();
    let url = stack.url();
    assert_eq!(reqwest::get(format!("{url}/healthz")).await.unwrap().status(), 200);
    assert!(stack.dynamodb_url().starts_with("http://127.0.0.1:"));
    stack.stop().await;
    assert!(reqwest::get(format!("{url}/healthz")).await.is_err());
}

#[tokio::test]
async fn simulator_is_served_unless_another_stripe_is_given() {
    let stack = Stack::start(StackConfig::in_memory()).await.unwrap();
    let access = stack.stripe().clone();
    let http = reqwest::Client::new();
    let list = format!("{}/v1/payment_intents", access.base_url);
    let answer = http.get(&list).bearer_auth(access.api_key.expose()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(http.get(format!("{}/stripe/v1/none", stack.url())).send().await.unwrap().status(), 401);
    assert_eq!(http.get(format!("{}/dev/stripe/events", stack.url())).send().await.unwrap().status(), 200);
    let given = StripeChoice::Given(access.clone());
    let second = Stack::start(StackConfig { stripe: given, ..StackConfig::in_memory() }).await.unwrap();
    assert!(second.simulator().is_none());
    let config = format!("{:?}", StackConfig { stripe: StripeChoice::Given(access), ..StackConfig::in_memory() });
    assert!(!config.contains("sk_test_local") && !config.contains("whsec_local"), "{config}");
    second.stop().await;
    stack.stop().await;
}

#[tokio::test]
async fn data_and_keys_are_kept_after_a_restart() {
    let dir = TempDir::make();
    let config = || StackConfig {
        store: Store::Embedded(EngineConfig { data: Data::File(dir.path().join("a/ledger.db")), port: None }),
        state_directory: Some(dir.path().to_owned()),
        ..StackConfig::in_memory()
    };
    let stack = Stack::start(config()).await.unwrap();
    let grant = crate::issuer::Grant {
        tenant: "demo".to_owned(),
        sub: "s".to_owned(),
        face: "admin".to_owned(),
        merchant_id: None,
        roles: None,
        email: None,
        email_verified: false,
    };
    let token = stack.issuer().issue(&grant, crate::clock::epoch_s(), 60).unwrap();
    // The port is part of the issuer's URL.
    let port = stack.address.port();
    stack.stop().await;
    let stack = Stack::start(StackConfig { port, ..config() }).await.unwrap();
    assert!(stack.issuer().verify(&token).is_ok());
    stack.stop().await;
}

#[tokio::test]
async fn late_endpoint_is_waited_for_with_one_line_to_the_console() {
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    // A free port: no server listens on it yet.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        Engine::start(&EngineConfig { data: Data::Memory, port: Some(port) }).unwrap()
    });
    let config = StackConfig {
        store: Store::Endpoint(url.clone()),
        endpoint_wait: Duration::from_secs(30),
        on_wait: |line| LINES.lock().unwrap().push(line.to_owned()),
        ..StackConfig::in_memory()
    };
    let stack = Stack::start(config).await.unwrap();
    assert_eq!(reqwest::get(format!("{}/healthz", stack.url())).await.unwrap().status(), 200);
    let lines = LINES.lock().unwrap().clone();
    assert!(lines.len() == 1 && lines[0].contains(&url) && lines[0].contains("30 s"), "{lines:?}");
    stack.stop().await;
    late.join().unwrap().stop().await;
}

#[tokio::test]
async fn cause_of_a_failed_start_is_named() {
    let first = Stack::start(StackConfig::in_memory()).await.unwrap();
    let port = first.address.port();
    let taken = StackConfig { port, ..StackConfig::in_memory() };
    let error = Stack::start(taken).await.unwrap_err();
    assert!(matches!(error, StackError::PortTaken(p) if p == port), "{error}");

    let endpoint = Store::Endpoint("http://127.0.0.1:1".to_owned());
    let error = Stack::start(StackConfig { store: endpoint, ..StackConfig::in_memory() }).await.unwrap_err();
    assert!(matches!(error, StackError::Table(TableError::Unreachable { .. })), "{error}");

    // An endpoint that does not answer in time fails the start.
    let late = StackConfig {
        store: Store::Endpoint("http://127.0.0.1:1".to_owned()),
        endpoint_wait: Duration::from_secs(1),
        ..StackConfig::in_memory()
    };
    let error = Stack::start(late).await.unwrap_err().to_string();
    assert!(error.contains("waited 1 s") && error.contains("--endpoint-url"), "{error}");

    // A second stack may share the first one's table.
    let shared = Store::Endpoint(first.dynamodb_url().to_owned());
    let second = Stack::start(StackConfig { store: shared, ..StackConfig::in_memory() }).await.unwrap();
    second.stop().await;
    first.stop().await;
}
