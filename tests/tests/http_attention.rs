//! What waits for a person: operations that were parked. Stripe is asked before anything is decided, and what
//! it has counts for more than what anybody wants.
#![cfg(feature = "stack")]

use ledger_local::stripe::API_KEY_DEFAULT;
use ledger_runtime::topups::Recovered;
use ledger_tests::http::parked::{self, ParkedTopup};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Who, World};
use serde_json::{Value, json};

async fn stage(tenant: &str) -> (World, Customer, ParkedTopup) {
    let world = World::alone(tenant).await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let topup = parked::topup(&world, &customer, "3000").await;
    (world, customer, topup)
}

fn resolve(world: &World, id: &str, action: &str) -> Call {
    let path = format!("/v1/admin/attention/operations/{id}/resolve");
    let body = json!({"action": action, "reason": "looked at with Stripe"});
    Call::post(&path, &world.operator.who, &body).key(new_key())
}

async fn reserved(world: &World, customer: &Customer) -> Value {
    world.wallet(customer, "ECOPAY").await["reserved"].clone()
}

async fn state(world: &World, customer: &Customer, topup: &ParkedTopup) -> String {
    let key = topup.call.key.as_deref().expect("a key");
    let lookup = Call::get(&format!("/v1/me/operations/topup/{key}"), &customer.who);
    world.api.send(&lookup).await.good().text("/state")
}

/// What the recovery worker does now.
async fn recover(world: &World) -> Recovered {
    world.recover().await.expect("a whole run")
}

/// The PaymentIntent that the parked top-up has asked for, made after all.
async fn made_at_stripe(world: &World, topup: &ParkedTopup) -> Value {
    let body = format!(
        "amount=3000&currency=jpy&metadata[ecopay_ledger]=ecopay&metadata[ecopay_tenant]={}&metadata[ecopay_topup]={}",
        world.tenant, topup.id
    );
    let who = Who::Bearer(API_KEY_DEFAULT.to_owned());
    let call = Call::post("/stripe/v1/payment_intents", &who, &json!({})).raw(body);
    world.api.send(&call.header("content-type", "application/x-www-form-urlencoded")).await.good().json()
}

#[tokio::test]
async fn given_up() {
    let (world, customer, topup) = stage("given-up").await;
    let listed = world.attention().await;
    let [operation] = listed["operations"].as_array().expect("operations").as_slice() else { panic!("{listed}") };
    let told = ["resource_id", "topup_id", "operation", "why"].map(|name| operation[name].as_str().unwrap_or_default());
    assert_eq!(told, [topup.id.as_str(), &topup.id, "topup", "not_found"]);
    assert_eq!(state(&world, &customer, &topup).await, "parked");
    assert_eq!(reserved(&world, &customer).await, "3000");
    // Neither the worker nor the customer gets any further with it.
    assert_eq!(recover(&world).await, Recovered { attention: 1, ..Recovered::default() });
    let busy = world.api.send(&topup.call).await.problem(409, "idempotency_key_in_use");
    assert!(busy.json()["retry_after_ms"].is_u64(), "{busy:?}");
    let before = world.check_books().await;
    for (call, field) in [
        (resolve(&world, &topup.id, "forget"), "action"),
        (resolve(&world, &topup.id, "give_up").field("reason", " "), "reason"),
    ] {
        assert_eq!(world.api.send(&call).await.problem(400, "invalid_request").text("/field"), field);
    }
    for id in [new_id(), customer.id.clone(), "x".to_owned()] {
        let _ = world.api.send(&resolve(&world, &id, "give_up")).await.problem(404, "not_found");
    }
    world.books().await.unchanged_since(&before, "a decision that is none left something");

    let done = world.api.settle(&resolve(&world, &topup.id, "give_up")).await.good();
    assert_eq!((done.text("/status"), done.text("/resource_id")), ("given_up".to_owned(), topup.id.clone()));
    assert_eq!(reserved(&world, &customer).await, Value::Null);
    assert_eq!(world.topup_view(&topup.id).await["status"], "refused");
    let answer = world.api.send(&topup.call).await.problem(400, "psp_refused");
    assert_eq!((answer.replayed(), answer.text("/psp_code")), (true, "given_up".to_owned()));
    assert_eq!(world.attention().await, json!({"operations": [], "events": []}));
    let _ = world.api.settle(&resolve(&world, &topup.id, "give_up")).await.problem(404, "not_found");
    assert_eq!(world.intents().await, 0);
    let audit = world.api.send(&Call::get("/v1/admin/audit", &world.operator.who)).await.good();
    assert!(audit.body.contains(&topup.id), "{audit:?}");
    world.check_books().await;
}

#[tokio::test]
async fn tried_again() {
    let (world, customer, topup) = stage("tried-again").await;
    let done = world.api.settle(&resolve(&world, &topup.id, "retry")).await.good();
    assert_eq!(done.text("/status"), "retrying");
    assert_eq!(state(&world, &customer, &topup).await, "in_flight");
    assert_eq!(recover(&world).await, Recovered { completed: 1, ..Recovered::default() });
    let answer = world.api.send(&topup.call).await.good();
    assert!(answer.replayed(), "{answer:?}");
    assert_eq!((answer.text("/topup_id"), world.intents().await), (topup.id.clone(), 1));
    let intent = answer.text("/payment_intent_id");
    let _ = world.stripe(&format!("/payment_intents/{intent}/succeed"), &json!({})).await;
    assert_eq!(world.deliver("payment_intent.succeeded", &intent).await, 200);
    assert_eq!(world.balance(&customer, "ECOPAY").await, "3000");
    world.check_books().await;
}

/// Stripe has it, whatever we believed: it is neither given up nor made again.
#[tokio::test]
async fn stripe_has_it_after_all() {
    for action in ["give_up", "retry"] {
        let (world, customer, topup) = stage(&format!("after-all-{}", action.replace('_', "-"))).await;
        let intent = made_at_stripe(&world, &topup).await;
        let _ = world.api.settle(&resolve(&world, &topup.id, action)).await.problem(400, "wrong_state");
        assert_eq!(world.attention().await["operations"], json!([]));
        assert_eq!(reserved(&world, &customer).await, "3000");
        let answer = world.api.send(&topup.call).await.good();
        assert!(answer.replayed(), "{answer:?}");
        assert_eq!(json!(answer.text("/payment_intent_id")), intent["id"]);
        let id = intent["id"].as_str().expect("an id");
        let _ = world.stripe(&format!("/payment_intents/{id}/succeed"), &json!({})).await;
        assert_eq!(world.deliver("payment_intent.succeeded", id).await, 200);
        assert_eq!((world.balance(&customer, "ECOPAY").await, world.intents().await), ("3000".to_owned(), 1));
        world.check_books().await;
    }
}

/// Stripe does not say: nothing is decided, and the key is still good.
#[tokio::test]
async fn stripe_does_not_say() {
    let (world, customer, topup) = stage("no-word").await;
    let before = world.books().await;
    let lost = json!({"kind": "connection_lost_before", "path_prefix": "/v1/", "times": 50});
    let _ = world.stripe("/faults", &lost).await;
    let call = resolve(&world, &topup.id, "give_up");
    let _ = world.api.send(&call).await.problem(503, "outcome_unknown");
    world.books().await.unchanged_since(&before, "a decision without Stripe's word moved something");
    let clear = Call::new(reqwest::Method::DELETE, "/dev/stripe/faults", &Who::Nobody);
    let _ = world.api.send(&clear).await.good();
    let done = world.api.settle(&call).await.good();
    assert!(!done.replayed(), "{done:?}");
    assert_eq!(reserved(&world, &customer).await, Value::Null);
    world.check_books().await;
}
