//! What approved commands have moved and set, as views and balances show it.
#![cfg(feature = "stack")]

use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World, host};
use ledger_tests::limits::overridable;
use serde_json::{Value, json};

async fn seen(world: &World, path: &str) -> Value {
    world.api.send(&Call::get(path, &world.operator.who)).await.good().json()
}

/// What was unclaimed of a closed account, by asset.
async fn unclaimed(world: &World, path: &str) -> Value {
    seen(world, path).await["unclaimed"].clone()
}

#[tokio::test]
async fn approved_commands_show_what_was_moved_and_what_was_set() {
    let rules = overridable(&[("customer", "pay_operation=1000"), ("customer", "pay_day=1000")]);
    let world = World::with_terms(host::shared(), "approvals-effects", |terms| {
        terms.limits = Some(rules.clone());
    });
    let world = world.await;
    let (shop, customer) = (world.merchant().await, world.customer_with("300").await);
    let card = world.card(Some(&customer), "200").await;
    let fresh = world.card(None, "0").await;
    let replace = json!({"new_card_id": fresh, "reason": "lost"});
    let replace = Call::post(&format!("/v1/admin/cards/{card}/replace"), &world.operator.who, &replace);
    let _ = world.executes(&replace.key(new_key())).await.good();
    assert_eq!((world.card_balance(&card).await, world.card_balance(&fresh).await), ("0".to_owned(), "200".to_owned()));
    let _ = world.executes(&world.closes_card(&fresh, true)).await.good();
    assert_eq!(unclaimed(&world, &format!("/v1/admin/cards/{fresh}")).await["ECOPAY"], "200");
    let _ = world.executes(&world.closes(&customer.id, true)).await.good();
    assert_eq!(unclaimed(&world, &format!("/v1/admin/customers/{}", customer.id)).await["ECOPAY"], "300");
    // An account without a rest is closed by one person.
    let spent = world.customer_with("100").await;
    let _ = world.api.settle(&spent.pays(&shop, "100")).await.good();
    let alone = world.customer().await;
    let closed = world.api.settle(&world.closes(&alone.id, true)).await.good();
    assert_eq!((closed.status, &closed.json()["rest"]["ECOPAY"]), (200, &Value::Null));
    let _ = world.executes(&world.closes(&spent.id, true)).await.good();
    assert_eq!(unclaimed(&world, &format!("/v1/admin/customers/{}", spent.id)).await["ECOPAY"], Value::Null);

    let heir = world.customer().await;
    let body = json!({
        "account": format!("customer:{}", heir.id), "asset": "ECOPAY",
        "limits": {"pay_operation": "none", "pay_day": "2000"}, "reason": "a shop of her own",
    });
    let limits = Call::post("/v1/admin/account-limits", &world.operator.who, &body).key(new_key());
    let limits = world.executes(&limits).await.good().json();
    let changes = json!([
        {"name": "pay_day", "from": "default", "to": "2000"}, {"name": "pay_operation", "from": "default", "to": "none"},
    ]);
    assert_eq!(limits["changes"], changes, "{limits}");
    for schedule in ["weekly:friday bank_days:2", "by_hand"] {
        let _ = world.executes(&world.schedules(&shop.id, Some(schedule))).await.good();
        assert_eq!(seen(&world, &format!("/v1/admin/merchants/{}", shop.id)).await["settlement_schedule"], schedule);
    }
    let run = world.executes(&world.runs_settlements("2026-11-20")).await.good().text("/job_id");
    let run = seen(&world, &format!("/v1/admin/settlement-runs/{run}")).await;
    assert_eq!(run["details"]["closing_on"], "2026-11-20", "{run}");
    assert_eq!(run["status"], "waiting", "{run}");
    let account = format!("customer:{}", customer.id);
    let _ = world.executes(&world.claims(&account, &heir.id, "100")).await.good();
    assert_eq!(world.balance(&heir, "ECOPAY").await, "100");
    let _ = world.executes(&world.pays_out(&account, "200")).await.good();
    assert_eq!(world.check_books().await.posted("bank", "ECOPAY"), 200.into());
}
