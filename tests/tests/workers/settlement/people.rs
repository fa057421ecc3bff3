use ledger_core::settlements::{Outcome, Task};
use ledger_runtime::settlement::Ended;
use ledger_tests::http::settling::{self, Settling};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World};
use serde_json::json;

#[tokio::test]
async fn second_open_settlement_is_refused_and_merchants_list_their_own() {
    let shop = Settling::new("settled-once").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    let _ = shop.world.executes(&shop.closing()).await.problem(409, "already_exists");
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let next = shop.close().await;
    let list = |cursor: &str| {
        let path = format!("/v1/merchant/settlements?limit=1{cursor}");
        Call::get(&path, &shop.merchant.who)
    };
    let first = shop.good(&list("")).await.json();
    assert_eq!(first["items"][0]["settlement_id"], next.id.to_string());
    let cursor = first["next_cursor"].as_str().expect("a cursor").to_owned();
    let second = shop.good(&list(&format!("&cursor={cursor}"))).await.json();
    assert_eq!(second["items"][0]["settlement_id"], at.id.to_string());
    let own = Call::get(&format!("/v1/merchant/settlements/{}", at.id), &shop.merchant.who);
    assert_eq!(shop.good(&own).await.text("/payable"), "2951");
    let other = shop.world.merchant().await;
    let not_own = Call::get(&format!("/v1/merchant/settlements/{}", at.id), &other.who);
    let _ = shop.world.api.send(&not_own).await.problem(404, "not_found");
}

#[tokio::test]
async fn period_without_payout_destination_is_not_closed() {
    let world = World::new("settled-nowhere").await;
    let merchant = world.merchant().await;
    let close = || {
        let body = json!({"merchant_id": merchant.id});
        Call::post("/v1/admin/settlements", &world.operator.who, &body).key(new_key())
    };
    let _ = world.api.settle(&close()).await.problem(400, "invalid_request");
    let path = format!("/v1/admin/merchants/{}", merchant.id);
    let account = json!({"bank_code": "0009", "branch_code": "123", "account_type": "ordinary",
        "account_number": "1234567", "account_holder": "ﾐﾄﾞﾘ"});
    for (field, value) in [
        ("bank_code", "9"),
        ("branch_code", "12a"),
        ("account_type", "gold"),
        ("account_number", "12345678"),
        ("account_holder", "緑商店"),
    ] {
        let mut wrong = account.clone();
        wrong[field] = json!(value);
        let patch = Call::patch(&path, &world.operator.who, &json!({"payout_destination": wrong})).key(new_key());
        let _ = world.api.settle(&patch).await.problem(400, "invalid_request");
    }
    settling::pays_to(&world, &merchant, &json!({"payout_destination": account})).await;
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    assert_eq!(shown.text("/payout_destination"), "0009-123-****567");
    let _ = world.executes(&close()).await.good();
}

#[tokio::test]
async fn saga_is_started_once_and_again_after_resume() {
    let shop = Settling::new("settled-started").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!((shop.start().await, shop.start().await), (1, 0));
    assert_eq!(shop.run(&at, Task::Stop).await, Ok(Outcome::Next));
    assert_eq!(shop.start().await, 0);
    shop.good(&shop.about(&at, "resume", &json!({"reason": "repaired"}))).await;
    assert_eq!(shop.start().await, 1);
    // A state machine refuses a second execution with the same run number.
    assert_eq!(shop.sagas.started(), [(at.clone(), 0), (at.clone(), 2)]);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!(shop.start().await, 0);
    shop.world.check_books().await;
}
