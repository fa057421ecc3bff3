//! Previews of changes of terms over HTTP: the payments of the last days, planned again, beside how they were made.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_core::terms::TenantTerms;
use ledger_tests::cloud::gate;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::terms::{PREVIEWS, schedule};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, World, host};
use ledger_tests::limits::overridable;
use serde_json::{Value, json};

fn request(world: &World, changes: &Value, days: u32) -> Call {
    Call::post(PREVIEWS, &world.operator.who, &json!({"changes": changes, "days": days})).key(new_key())
}

async fn get(world: &World, id: &str) -> Answer {
    world.api.send(&Call::get(&format!("{PREVIEWS}/{id}"), &world.operator.who)).await
}

/// Requests a preview, runs it, and returns it.
async fn preview(world: &World, changes: &Value) -> Value {
    let requested = world.api.settle(&request(world, changes, 1)).await.good();
    assert_eq!(world.run_previews().await.expect("a run"), 1);
    get(world, &requested.text("/job_id")).await.good().json()
}

/// A merchant, a terminal, and customers under limits.
async fn stage(tenant: &str, rules: &[(&str, &str)]) -> Stage {
    let change = |terms: &mut TenantTerms| terms.limits = Some(overridable(rules));
    Stage::new(World::with_terms(host::shared(), tenant, change).await).await
}

/// One payment of every kind, and refusals for a balance and for a limit of a day.
async fn trade(Stage { world, merchant, terminal }: &Stage) {
    let customer = world.customer_with("5000").await;
    world.grant(&customer, "POINT", "50").await;
    let pays = |amount: &str| customer.pays(merchant, amount);
    let mixed = pays("300").field("points", "50");
    for call in [&pays("1000"), &mixed] {
        let _ = world.api.settle(call).await.good();
    }
    let refunded = world.api.settle(&pays("100")).await.good().text("/payment_id");
    let _ = world.api.settle(&merchant.refunds(&refunded, "40")).await.good();
    let charge = merchant.charges(&customer.code(world).await, "200");
    let _ = world.api.settle(&charge).await.good();
    for (held, captured) in [("500", Some("300")), ("400", None)] {
        let authorize = merchant.authorizes(&customer.code(world).await, held);
        let payment = world.api.settle(&authorize).await.good().text("/payment_id");
        let after = match captured {
            Some(_) => merchant.captures(&payment, captured),
            None => merchant.voids(&payment),
        };
        let _ = world.api.settle(&after).await.good();
    }
    let card = world.card(None, "1000").await;
    let paid = terminal.does("pay", &card, &json!({"amount": "700"}));
    let reversed = terminal.does("pay", &card, &json!({"amount": "100"}));
    for call in [&paid, &reversed, &terminal.reverses("card_pay", &reversed)] {
        let _ = world.api.settle(call).await.good();
    }
    // 2,450 are used of the day's 2,950.
    let _ = world.api.settle(&pays("501")).await.problem(400, "limit_exceeded");
    let _ = world.api.settle(&pays("3001")).await.problem(400, "limit_exceeded");
    let code = customer.code(world).await;
    let _ = world.api.settle(&merchant.authorizes(&code, "501")).await.problem(400, "limit_exceeded");
    let poor = world.customer_with("10").await;
    let _ = world.api.settle(&poor.pays(merchant, "11")).await.problem(400, "insufficient_balance");
}

const RULES: [(&str, &str); 2] = [("customer", "pay_day=2950"), ("card", "pay_month=1000")];

#[tokio::test]
async fn preview_of_unchanged_terms_differs_on_nothing() {
    let stage = stage("previews-same", &RULES).await;
    let world = &stage.world;
    trade(&stage).await;
    let done = preview(world, &json!({})).await;
    assert_eq!(done["status"], "done", "{done}");
    assert_eq!(done["payments"], 11, "{done}");
    let result = &done["result"];
    assert_eq!(result["differing"], 0, "{done}");
    assert_eq!(result["differences"], json!([]));
    assert_eq!(result["made"], result["planned"], "{done}");
    let made = json!({
        "accepted": 7, "refused": {"limit_exceeded": 3, "insufficient_balance": 1},
        "paid": {"ECOPAY": "2550", "POINT": "50"},
        // 1 % of 1000, 250, 100, 200 and of the captured 300, each rounded down; cards earn none.
        "points": "18", "fee": result["made"]["fee"], "tax": result["made"]["tax"],
    });
    assert_eq!(result["made"], made, "{done}");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn preview_of_changed_terms_has_points_fees_and_refusals_of_both() {
    let stage = stage("previews-changed", &RULES).await;
    let world = &stage.world;
    trade(&stage).await;
    // Twice the points, and a fee.
    let done = preview(world, &json!({"points_rate": "0.02", "settlement.fee_rate": "0.1"})).await;
    let (made, planned) = (&done["result"]["made"], &done["result"]["planned"]);
    assert_eq!([&made["points"], &planned["points"]], ["18", "37"], "{done}");
    assert_eq!(planned["fee"], "260", "{done}");
    assert_eq!(made["refused"], planned["refused"]);
    assert_eq!(done["result"]["differing"], 5, "{done}");
    assert_eq!(
        done["changes"][0],
        json!({"field": "points_rate", "old": "0.01", "new": "0.02", "old_percent": "1", "new_percent": "2"})
    );
    // A higher limit of the day: two of the three refusals were its own, and they are counted in their order.
    let done = preview(world, &json!({"limits.customer.ECOPAY.pay_day": "2951"})).await;
    let (made, planned) = (&done["result"]["made"], &done["result"]["planned"]);
    assert_eq!(made["refused"], json!({"limit_exceeded": 3, "insufficient_balance": 1}));
    assert_eq!(planned["refused"], json!({"limit_exceeded": 2, "insufficient_balance": 1}), "{done}");
    assert_eq!([&made["accepted"], &planned["accepted"]], [7, 8]);
    assert_eq!(planned["paid"]["ECOPAY"], "3051", "{done}");
    let difference = &done["result"]["differences"][0];
    assert_eq!(difference["made"], json!({"refusal": "limit_exceeded"}));
    assert_eq!(difference["planned"], json!({"points": "5"}));
    // A lower one refuses what comes after it is used: 1,000 and 250 fit, then 100 and 150 more.
    let lower = json!({"limits.customer.ECOPAY.pay_day": "1350", "limits.card.ECOPAY.pay_month": null});
    let done = preview(world, &lower).await;
    let (made, planned) = (&done["result"]["made"], &done["result"]["planned"]);
    assert_eq!([&made["accepted"], &planned["accepted"]], [7, 4], "{done}");
    assert_eq!(planned["paid"], json!({"ECOPAY": "2050", "POINT": "50"}), "{done}");
    // A PIN that cards would have needed, and an asset that merchants would not have taken: the 250 yen that were paid with
    // it leave room in the day's limit.
    let done = preview(world, &json!({"card.pin_above": "699", "assets.POINT.spendable": "false"})).await;
    let refused = &done["result"]["planned"]["refused"];
    let expected = json!({"limit_exceeded": 2, "insufficient_balance": 1, "pin_required": 1, "invalid_request": 1});
    assert_eq!(*refused, expected, "{done}");
    let page = world
        .api
        .send(&Call::get("/v1/admin/jobs?kind=terms_preview&limit=3", &world.operator.who))
        .await
        .good()
        .json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(3));
    assert!(page["next_cursor"].is_string(), "{page}");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn preview_follows_the_own_limits_of_accounts() {
    let stage = stage("previews-own", &[("customer", "pay_day=1000")]).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (free, bound) = (world.customer_with("5000").await, world.customer_with("5000").await);
    let own = |customer: &str, to: &str| {
        let body = ledger_tests::http::account_limits::body(&format!("customer:{customer}"), "pay_day", to);
        Call::post("/v1/admin/account-limits", &world.operator.who, &body).key(new_key())
    };
    let _ = world.executes(&own(&free.id, "4000")).await.good();
    for (customer, amount) in [(&free, "3000"), (&bound, "900")] {
        let _ = world.api.settle(&customer.pays(merchant, amount)).await.good();
    }
    let done = preview(world, &json!({"limits.customer.ECOPAY.pay_day": "800"})).await;
    assert_eq!(done["result"]["planned"]["refused"], json!({"limit_exceeded": 1}), "{done}");
    assert_eq!(done["result"]["planned"]["paid"], json!({"ECOPAY": "3000"}), "{done}");
}

#[tokio::test]
async fn refused_request_of_a_preview_names_the_field_and_stores_nothing() {
    let world = World::new("previews-invalid").await;
    for (body, field) in [
        (json!({"changes": {}, "days": 0}), "days"),
        (json!({"changes": {}, "days": 32}), "days"),
        (json!({"changes": {"colour": "red"}, "days": 1}), "colour"),
        (json!({"changes": {"points_rate": "5%"}, "days": 1}), "points_rate"),
        (json!({"changes": {"points_rate": "0.01"}, "days": 1}), "changes"),
    ] {
        let call = Call::post(PREVIEWS, &world.operator.who, &body).key(new_key());
        let refused = world.api.settle(&call).await.problem(400, "invalid_request").json();
        assert_eq!(refused["field"], field, "{refused}");
    }
    assert_eq!(world.jobs("terms_preview").await, Vec::<Value>::new());
    let _ = get(&world, &new_id()).await.problem(404, "not_found");
}

#[tokio::test]
async fn preview_is_run_once_by_workers_in_parallel_and_again_after_one_that_stopped() {
    let world = World::new("previews-parallel").await;
    let call = request(&world, &json!({"points_rate": "0.02"}), 31);
    let requested = world.api.settle(&call).await.good();
    assert!(world.api.settle(&call).await.replayed());
    let ended = join_all((0..8).map(|_| world.run_previews())).await;
    assert_eq!(ended.into_iter().map(|ended| ended.expect("a run")).sum::<usize>(), 1);
    let done = get(&world, &requested.text("/job_id")).await.good().json();
    assert_eq!(done["status"], "done", "{done}");
    assert_eq!(done["result"]["made"]["accepted"], 0);
    assert_eq!(world.run_previews().await.expect("a run"), 0);
}

#[tokio::test]
async fn preview_whose_terms_were_changed_meanwhile_has_no_result() {
    let (world, clock) = ledger_tests::http::terms::timed("previews-stale", |_| {}).await;
    let call = request(&world, &json!({"points_rate": "0.02"}), 1);
    let requested = world.api.settle(&call).await.good();
    let from = ledger_tests::http::terms::in_an_hour(&world);
    let _ = gate::as_test(schedule(&world, "points_rate", "0.03", from)).await;
    clock.forward(std::time::Duration::from_secs(60 * 60 + 61));
    assert_eq!(world.run_previews().await.expect("a run"), 1);
    let ended = get(&world, &requested.text("/job_id")).await.good().json();
    assert_eq!((&ended["status"], &ended["code"]), (&json!("failed"), &json!("terms_changed")), "{ended}");
    assert!(ended.get("result").is_none(), "{ended}");
    // What the response was is stored.
    assert!(world.api.settle(&call).await.replayed());
}
