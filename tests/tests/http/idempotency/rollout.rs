//! Keys become mandatory in a tenant.
use ledger_core::terms::KeyPhase;
use ledger_tests::http::{Call, Host, World};
use serde_json::{Value, json};

/// The rollout of mandatory keys: the operator sees how many requests have no key, then requires them.
#[tokio::test]
async fn keys_become_mandatory_after_rollout() {
    let world = World::with_terms(Host::fresh(), "rollout", |terms| terms.key_phase = KeyPhase::Optional).await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("100").await);
    let readiness = async || {
        let call = Call::get("/v1/admin/idempotency/readiness", &world.operator.who);
        world.api.send(&call).await.good().json()
    };
    let before = readiness().await;
    assert_eq!((&before["phase"], &before["missing"], &before["ready"]), (&json!("optional"), &json!(0), &json!(true)));
    let pay = customer.pays(&merchant, "1");
    let _ = world.api.send(&pay.clone().keyless()).await.good();
    let _ = world.api.send(&pay).await.good();
    let after = readiness().await;
    assert_eq!((&after["missing"], &after["ready"]), (&json!(1), &json!(false)), "{after}");
    let requests = |view: &Value| view["requests"].as_u64().expect("a count");
    assert_eq!(requests(&after) - requests(&before), 2);

    let phase = |phase: &str| {
        let path = "/v1/admin/idempotency/phase";
        Call::new(reqwest::Method::PUT, path, &world.operator.who).json(&json!({"phase": phase}))
    };
    let _ = world.api.send(&phase("never")).await.problem(400, "invalid_request");
    assert_eq!(world.api.send(&phase("mandatory")).await.good().text("/phase"), "mandatory");
    let _ = world.api.send(&pay.clone().keyless()).await.problem(400, "idempotency_key_missing");
    assert!(world.api.send(&pay).await.good().replayed());
    assert_eq!(readiness().await["phase"], "mandatory");
    assert_eq!(world.check_books().await.entries_of("pay"), 2);
}
