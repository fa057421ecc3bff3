//! What became of a key, as the merchant's staff and the operator's see it.
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, World};
use serde_json::json;

async fn seen_by_operator(stage: &Stage, of: &str, operation: &str, key: &str) -> Answer {
    let path = format!("/v1/admin/{of}/operations/{operation}?key={key}");
    stage.world.api.send(&Call::get(&path, &stage.world.operator.who)).await
}

#[tokio::test]
async fn merchant_reads_the_stored_response_of_a_charge() {
    let stage = Stage::new(World::alone("keys-merchant").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("1000").await;
    let charge = merchant.charges(&customer.code(world).await, "300");
    let key = charge.key.as_deref().unwrap();
    let look = async |path: String| world.api.send(&Call::get(&path, &merchant.who)).await;
    let in_path = format!("/v1/merchant/operations/charge/{key}");
    assert_eq!(look(in_path.clone()).await.good().json()["state"], "not_known_yet");
    let charged = world.api.settle(&charge).await.good().json();
    for path in [in_path, format!("/v1/merchant/operations/charge?key={key}")] {
        let found = look(path).await.good().json();
        assert_eq!((&found["state"], &found["answer"]), (&json!("done"), &charged));
    }
    let other = world.merchant().await;
    let strange = Call::get(&format!("/v1/merchant/operations/charge/{key}"), &other.who);
    assert_eq!(world.api.send(&strange).await.good().json()["state"], "not_known_yet");
    for hidden in ["shop_staff_invite", "pay", "x"] {
        let _ = look(format!("/v1/merchant/operations/{hidden}/{key}")).await.problem(404, "not_found");
    }
    let _ = look("/v1/merchant/operations/charge/order-4711".to_owned()).await.problem(400, "invalid_request");
}

#[tokio::test]
async fn operator_sees_what_became_of_a_key_and_no_secret() {
    let stage = Stage::new(World::alone("keys-operator").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("1000").await;
    let of = format!("customers/{}", customer.id);
    let (pay, above, code) =
        (customer.pays(merchant, "300"), customer.pays(merchant, "5000"), customer.requests_code());
    let paid = world.api.settle(&pay).await.good().json();
    let _ = world.api.settle(&above).await.problem(400, "insufficient_balance");
    let secret = world.api.settle(&code).await.good().text("/code");

    let found = seen_by_operator(&stage, &of, "pay", pay.key.as_deref().unwrap()).await.good().json();
    assert_eq!((&found["state"], &found["status"]), (&json!("done"), &json!(201)));
    for id in ["transaction_id", "payment_id"] {
        assert_eq!(found[id], paid[id]);
    }
    assert!(found.get("answer").is_none() && found.get("amount").is_none(), "{found}");
    let found = seen_by_operator(&stage, &of, "pay", above.key.as_deref().unwrap()).await.good().json();
    assert_eq!((&found["status"], &found["code"]), (&json!(400), &json!("insufficient_balance")));
    let found = seen_by_operator(&stage, &of, "payment_code", code.key.as_deref().unwrap()).await.good();
    assert!(!found.body.contains(&secret), "the one-time code is shown: {found:?}");
    assert_eq!(found.json()["state"], "done");

    let unknown = seen_by_operator(&stage, &of, "pay", &new_key()).await.good().json();
    assert_eq!(unknown["state"], "not_known_yet");
    let key = pay.key.as_deref().unwrap();
    let elsewhere = format!("merchants/{}", merchant.id);
    assert_eq!(seen_by_operator(&stage, &elsewhere, "pay", key).await.good().json()["state"], "not_known_yet");
    let _ = seen_by_operator(&stage, "customers/x", "pay", key).await.problem(404, "not_found");
    let _ = seen_by_operator(&stage, &of, "fly", key).await.problem(404, "not_found");
    let terminals = format!("terminals/{}", stage.terminal.id);
    let (_, call, payment) = stage.paid_by_card("200").await;
    let found = seen_by_operator(&stage, &terminals, "card_pay", call.key.as_deref().unwrap()).await.good().json();
    assert_eq!(found["payment_id"], payment);
}
