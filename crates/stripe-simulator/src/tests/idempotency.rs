//! Stripe's rules for idempotency keys.

use super::Served;
use crate::{Fault, FaultKind};
use serde_json::json;

const PATH: &str = "/v1/payment_intents";
const BODY: &str = "amount=500&currency=jpy";

#[tokio::test]
async fn same_request_is_executed_once() {
    let it = Served::start().await;
    let first = it.post_with_key(PATH, BODY, "k").await;
    let again = it.post_with_key(PATH, "currency=jpy&amount=500", "k").await;
    assert_eq!((first.status, &first.text), (again.status, &again.text));
    assert_eq!((first.header("idempotent-replayed"), again.header("idempotent-replayed")), (None, Some("true")));
    assert_eq!(again.header("original-request"), first.header("request-id"));
    assert_eq!(it.simulator.payment_intents().len(), 1);
    assert_eq!(
        it.simulator.events()[0]["request"],
        json!({
            "id": first.header("request-id").unwrap(),
            "idempotency_key": "k",
        })
    );
    // Keys of another account are separate.
    let request = it.request("POST", PATH, BODY).header("idempotency-key", "k").header("stripe-account", "acct_1");
    assert_ne!(super::sent(request).await.text, first.text);
    assert_eq!(it.simulator.events()[1]["account"], "acct_1");
}

#[tokio::test]
async fn key_used_for_other_parameters_or_endpoint_is_refused() {
    let it = Served::start().await;
    it.post_with_key(PATH, BODY, "k").await;
    for (path, body) in [(PATH, "amount=501&currency=jpy"), ("/v1/payouts", BODY)] {
        let misused = it.post_with_key(path, body, "k").await;
        assert_eq!((misused.status, misused.error().1.as_str()), (400, "idempotency_error"), "{path}");
    }
    assert_eq!(it.post_with_key(PATH, BODY, &"k".repeat(256)).await.status, 400);
    assert_eq!(it.post_with_key(PATH, BODY, &"k".repeat(255)).await.status, 200);
}

#[tokio::test]
async fn key_can_be_used_again_after_24_hours() {
    let it = Served::start().await;
    let first = it.post_with_key(PATH, BODY, "k").await;
    it.advance_s(24 * 3600 - 1);
    assert_eq!(it.post_with_key(PATH, BODY, "k").await.id(), first.id());
    it.advance_s(1);
    assert_ne!(it.post_with_key(PATH, BODY, "k").await.id(), first.id());
}

#[tokio::test]
async fn executed_errors_are_stored_and_others_are_not() {
    let it = Served::start().await;
    // An invalid parameter or API key is not stored.
    assert_eq!(it.post_with_key(PATH, "amount=5&currency=jpy", "k").await.status, 400);
    let stranger = it.request("POST", PATH, BODY).header("idempotency-key", "k").header("authorization", "Bearer x");
    let mut stranger = stranger.build().unwrap();
    stranger.headers_mut().insert("authorization", "Bearer x".parse().unwrap());
    assert_eq!(it.http.execute(stranger).await.unwrap().status(), 401);
    let intent = it.post_with_key(PATH, BODY, "k").await;
    assert_eq!((intent.status, intent.header("idempotent-replayed")), (200, None));

    // A declined card and a refused cancellation are stored.
    let confirm = format!("{PATH}/{}/confirm", intent.id());
    let refused = it.post_with_key(&confirm, "payment_method=pm_card_chargeDeclined", "c").await;
    let replayed = it.post_with_key(&confirm, "payment_method=pm_card_chargeDeclined", "c").await;
    assert_eq!((refused.status, &refused.text), (402, &replayed.text));
    assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
    it.simulator.process_payment(&intent.id()).unwrap();
    let cancel = format!("{PATH}/{}/cancel", intent.id());
    assert_eq!(it.post_with_key(&cancel, "", "x").await.status, 400);
    it.simulator.fail_payment(&intent.id(), None).unwrap();
    assert_eq!(it.post_with_key(&cancel, "", "x").await.header("idempotent-replayed"), Some("true"));
    assert_eq!(it.post_with_key(&cancel, "", "y").await.status, 200);
}

#[tokio::test]
async fn key_in_use_is_a_conflict() {
    let it = Served::start().await;
    it.simulator.inject(Fault::once(FaultKind::Held).on("POST", PATH));
    let first = it.post_with_key(PATH, BODY, "k");
    let second = async {
        it.simulator.held(1).await;
        let second = it.post_with_key(PATH, BODY, "k").await;
        it.simulator.release_held();
        second
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.status, second.status), (200, 409));
    assert_eq!(second.error().2, "idempotency_key_in_use");
    assert_eq!(second.header("stripe-should-retry"), Some("true"));
    assert_eq!(it.post_with_key(PATH, BODY, "k").await.text, first.text);
    assert_eq!(it.simulator.payment_intents().len(), 1);
}
