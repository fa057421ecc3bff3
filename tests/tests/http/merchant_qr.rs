//! A merchant's QR code, and the merchant that it names. Other libraries read the drawing in `.ci/openapi`.
use ledger_core::merchant_qr::IDENTIFIER;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Answer, Call, World};
use serde_json::json;

const QR: &str = "/v1/merchant/qr";

async fn presents(stage: &Stage, query: &str) -> Answer {
    stage.world.api.send(&Call::get(&format!("{QR}{query}"), &stage.merchant.who)).await
}

#[tokio::test]
async fn code_names_the_merchant_whom_the_customer_pays() {
    let stage = Stage::new(World::alone("qr-pays").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let view = presents(&stage, "?amount=1240").await.good().json();
    let payload = view["payload"].as_str().unwrap();
    let account = format!("26760032{IDENTIFIER}0136{}", merchant.id);
    assert!(payload.starts_with("000201010212") && payload.contains(&account), "{payload}");
    assert!(payload.contains("54041240") && payload.contains("5303392"), "{payload}");
    let svg = view["svg"].as_str().unwrap();
    assert!(svg.contains("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    let fixed = presents(&stage, "").await.good().json();
    assert!(fixed["payload"].as_str().unwrap().starts_with("000201010211"), "{fixed}");

    let customer = world.customer_with("2000").await;
    let found = world.api.send(&Call::get(&format!("/v1/me/merchants/{}", merchant.id), &customer.who)).await.good();
    let seen = found.json();
    assert_eq!((&seen["merchant_id"], &seen["status"]), (&json!(merchant.id), &json!("active")));
    assert_eq!(seen.as_object().unwrap().len(), 3, "a customer sees the name and the status: {seen}");
    let _ = world.api.settle(&customer.pays(merchant, "1240")).await.good();
}

#[tokio::test]
async fn code_of_another_tenants_merchant_is_as_unknown_as_one_of_none() {
    let (stage, other) = (Stage::new(World::alone("qr-a").await).await, Stage::new(World::alone("qr-b").await).await);
    let customer = stage.world.customer().await;
    for code in [other.merchant.id.to_string(), new_id(), customer.id.to_string(), "x".to_owned()] {
        let call = Call::get(&format!("/v1/me/merchants/{code}"), &customer.who);
        let _ = stage.world.api.send(&call).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn invalid_amount_of_a_code_is_named() {
    let stage = Stage::new(World::alone("qr-invalid").await).await;
    let wrong = [
        ("?amount=0", "amount"),
        ("?amount=-5", "amount"),
        ("?amount=1.5", "amount"),
        ("?amount=99999999999999", "amount"),
        ("?amount=NaN", "amount"),
        ("?amount=5&asset=GOLD", "asset"),
        ("?amount=5&asset=REGIONAL%23unknown", "asset"),
        ("?asset=ECOPAY", "asset"),
        ("?amount=5&amount=6", "amount"),
        ("?reference=5", "reference"),
    ];
    for (query, field) in wrong {
        let refused = presents(&stage, query).await.problem(400, "invalid_request");
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains(field), "{query}: {detail}");
    }
}
