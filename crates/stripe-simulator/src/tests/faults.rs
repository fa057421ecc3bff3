//! Injected faults, and the result of a retry after each.

use super::Served;
use crate::{Fault, FaultKind};
use serde_json::json;

const PATH: &str = "/v1/payment_intents";
const BODY: &str = "amount=500&currency=jpy";

#[tokio::test]
async fn response_500_is_stored_with_or_without_effect() {
    for (kind, effects) in [(FaultKind::ErrorBefore, 0), (FaultKind::ErrorAfter, 1)] {
        let it = Served::start().await;
        it.simulator.inject(Fault::once(kind));
        let failed = it.post_with_key(PATH, BODY, "k").await;
        assert_eq!((failed.status, failed.error().1.as_str()), (500, "api_error"));
        assert_eq!(failed.header("stripe-should-retry"), Some("false"));
        let replayed = it.post_with_key(PATH, BODY, "k").await;
        assert_eq!((replayed.status, &replayed.text), (500, &failed.text));
        assert_eq!(it.simulator.payment_intents().len(), effects, "{kind:?}");
        assert_eq!(it.post_with_key(PATH, BODY, "other").await.status, 200);
    }
}

#[tokio::test]
async fn response_of_lost_connection_is_replayed() {
    let it = Served::start().await;
    it.simulator.inject(Fault::once(FaultKind::ConnectionLostAfter).on("post", PATH));
    let lost = it.request("POST", PATH, BODY).header("idempotency-key", "k").send().await;
    assert!(lost.unwrap_err().is_request());
    assert_eq!(it.simulator.payment_intents().len(), 1);
    let found = it.post_with_key(PATH, BODY, "k").await;
    assert_eq!((found.status, found.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(found.json(), it.simulator.payment_intents()[0]);

    it.simulator.inject(Fault::once(FaultKind::ConnectionLostBefore));
    assert!(it.request("POST", PATH, BODY).header("idempotency-key", "l").send().await.is_err());
    assert_eq!(it.post_with_key(PATH, BODY, "l").await.header("idempotent-replayed"), None);
    assert_eq!(it.simulator.payment_intents().len(), 2);
}

#[tokio::test]
async fn refusals_say_whether_to_retry_and_are_not_stored() {
    let cases = [
        (FaultKind::Conflict, 409, "idempotency_key_in_use", "true"),
        (FaultKind::RateLimited, 429, "rate_limit", "false"),
        (FaultKind::LockTimeout, 429, "lock_timeout", "true"),
    ];
    let it = Served::start().await;
    for (kind, status, code, retry) in cases {
        it.simulator.inject(Fault::once(kind).times(2));
        for _ in 0..2 {
            let refused = it.post_with_key(PATH, BODY, code).await;
            assert_eq!((refused.status, refused.error().2.as_str()), (status, code));
            assert_eq!(refused.header("stripe-should-retry"), Some(retry));
        }
        assert_eq!(it.post_with_key(PATH, BODY, code).await.header("idempotent-replayed"), None);
    }
}

#[tokio::test]
async fn fault_applies_to_matching_calls_only() {
    let it = Served::start().await;
    let fault = r#"{"kind":"error_before","method":"POST","path_prefix":"/v1/refunds","times":1}"#;
    let faults = it.dev("/faults", fault).await.json();
    assert_eq!((&faults["faults"][0]["kind"], &faults["faults"][0]["times"]), (&json!("error_before"), &json!(1)));
    assert_eq!(it.get("/v1/refunds").await.status, 200);
    assert_eq!(it.post(PATH, BODY).await.status, 200);
    assert_eq!(it.post("/v1/refunds", "charge=ch_x").await.status, 500);
    assert_eq!(it.post("/v1/refunds", "charge=ch_x").await.status, 404);
    it.simulator.inject(Fault::once(FaultKind::RateLimited).times(9));
    it.simulator.clear_faults();
    assert_eq!(it.get("/v1/refunds").await.status, 200);
}

#[tokio::test]
async fn call_continues_after_its_client_disconnects() {
    let it = Served::start().await;
    it.simulator.inject(Fault::once(FaultKind::Held));
    let call = tokio::spawn(it.request("POST", PATH, BODY).header("idempotency-key", "k").send());
    it.simulator.held(1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    it.simulator.release_held();
    // The abandoned call and this one create the same PaymentIntent.
    let found = loop {
        let found = it.post_with_key(PATH, BODY, "k").await;
        if found.status != 409 {
            break found;
        }
    };
    assert_eq!(found.status, 200);
    assert_eq!(it.simulator.payment_intents().len(), 1);
}
