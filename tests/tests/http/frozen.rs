//! Frozen accounts, suspended merchants and empty balances: a freeze stops debits, not credits.
mod bulk;

use futures::future::join_all;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Customer, World, staff};
use serde_json::{Value, json};

async fn set_status(world: &World, path: String, status: &str) {
    world.change(&path, &json!({"status": status, "reason": "for a test"})).await;
}

#[tokio::test]
async fn frozen_customer_cannot_be_debited() {
    let stage = Stage::new(World::alone("frozen-customer").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (customer, friend) = (world.customer_with("1000").await, world.customer_with("1000").await);
    world.grant(&customer, "POINT", "100").await;
    let payment = world.api.settle(&customer.pays(merchant, "300")).await.good().text("/payment_id");
    let issue = || Call::post("/v1/me/payment-code", &customer.who, &json!({})).key(new_key());
    let code = world.api.settle(&issue()).await.good().text("/code");
    let charge = json!({"code": code, "amount": "1"});
    let debit = world.approval(&json!({"customer_id": customer.id}), "debit", "1").await;
    let path = format!("/v1/admin/customers/{}", customer.id);
    set_status(world, path.clone(), "frozen").await;

    let with_points = json!({"merchant_id": merchant.id, "amount": "50", "points": "50"});
    let before = world.check_books().await;
    for call in [
        customer.pays(merchant, "1"),
        customer.pays(merchant, "1").json(&with_points),
        customer.sends(&friend, "1"),
        issue(),
        Call::post("/v1/merchant/charges", &merchant.who, &charge).key(new_key()),
        debit,
    ] {
        let _ = world.api.settle(&call).await.problem(400, "account_frozen");
    }
    assert_eq!(world.check_books().await.under("TXN#").count(), before.under("TXN#").count());
    // Incoming money is accepted: a transfer, a refund, a grant, a credit.
    let _ = world.api.settle(&friend.sends(&customer, "10")).await.good();
    let _ = world.api.settle(&merchant.refunds(&payment, "20")).await.good();
    world.grant(&customer, "POINT", "1").await;
    world.adjust(&json!({"customer_id": customer.id}), "credit", "5").await;
    assert_eq!(world.balance(&customer, "ECOPAY").await, "735");
    // A top-up is accepted too, but cannot be refunded to the card during the freeze.
    let topup = world.paid_topup(&customer, "100").await;
    let _ = world.api.settle(&topup.refund(world, "100")).await.problem(400, "account_frozen");
    let view = world.api.send(&Call::get("/v1/me/balances", &customer.who)).await.good().json();
    assert!(
        view["balances"].as_array().is_some_and(|all| all.iter().all(|balance| balance["frozen"] == true)),
        "{view}"
    );

    set_status(world, path, "active").await;
    let _ = world.api.settle(&customer.pays(merchant, "735")).await.good();
    let _ = world.api.settle(&topup.refund(world, "100")).await.good();
    world.check_books().await;
}

#[tokio::test]
async fn frozen_card_cannot_be_debited() {
    let stage = Stage::new(World::alone("frozen-card").await).await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let customer = world.customer().await;
    let card = world.card(Some(&customer), "1000").await;
    let pay = || terminal.does("pay", &card, &json!({"amount": "100"}));
    let payment = world.api.settle(&pay()).await.good().text("/payment_id");
    let own = |status: &str| {
        Call::patch(&format!("/v1/me/cards/{card}"), &customer.who, &json!({"status": status})).key(new_key())
    };

    let _ = world.api.settle(&own("frozen")).await.good();
    let _ = world.api.settle(&pay()).await.problem(400, "account_frozen");
    let refund = json!({"payment_id": payment, "amount": "40"});
    let _ = world.api.settle(&terminal.does("refund", &card, &refund)).await.good();
    let _ = world.api.settle(&own("active")).await.good();
    let _ = world.api.settle(&pay()).await.good();

    // The owner cannot unfreeze what the operator froze.
    set_status(world, format!("/v1/admin/cards/{card}"), "frozen").await;
    let _ = world.api.settle(&own("active")).await.problem(400, "wrong_state");
    let _ = world.api.settle(&pay()).await.problem(400, "account_frozen");
    set_status(world, format!("/v1/admin/cards/{card}"), "active").await;
    let _ = world.api.settle(&pay()).await.good();
    assert_eq!(world.card_balance(&card).await, "740");
    world.check_books().await;
}

#[tokio::test]
async fn suspended_merchant_takes_no_payment() {
    let stage = Stage::new(World::alone("suspended").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (customer, payment) = stage.paid("300").await;
    let other = world.customer_with("100").await;
    let card = world.card(None, "100").await;
    let issue = Call::post("/v1/me/payment-code", &other.who, &json!({})).key(new_key());
    let code = world.api.settle(&issue).await.good().text("/code");
    let path = format!("/v1/admin/merchants/{}", merchant.id);
    set_status(world, path.clone(), "suspended").await;
    let charge = |code: &str| {
        Call::post("/v1/merchant/charges", &merchant.who, &json!({"code": code, "amount": "1"})).key(new_key())
    };
    for call in [other.pays(merchant, "1"), charge(&code), stage.terminal.does("pay", &card, &json!({"amount": "1"}))] {
        let _ = world.api.settle(&call).await.problem(400, "wrong_state");
    }
    let _ = world.api.settle(&merchant.refunds(&payment, "100")).await.good();
    assert_eq!(world.balance(&customer, "ECOPAY").await, "100");
    set_status(world, path, "active").await;
    // A refused charge does not use the code up.
    let _ = world.api.settle(&charge(&code)).await.good();
    world.check_books().await;
}

#[tokio::test]
async fn insufficient_balance_states_the_shortfall() {
    let stage = Stage::new(World::new("empty").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (empty, friend) = (world.customer().await, world.customer().await);
    let issue = Call::post("/v1/me/payment-code", &empty.who, &json!({})).key(new_key());
    let code = world.api.settle(&issue).await.good().text("/code");
    let card = world.card(None, "0").await;
    let points = json!({"merchant_id": merchant.id, "amount": "30", "points": "30"});
    let regional = json!({"merchant_id": merchant.id, "amount": "30", "regional": {"aoba": "30"}});
    for (call, asset) in [
        (empty.pays(merchant, "30"), "ECOPAY"),
        (empty.pays(merchant, "30").json(&points), "POINT"),
        (empty.pays(merchant, "30").json(&regional), "REGIONAL#aoba"),
        (empty.sends(&friend, "30"), "ECOPAY"),
    ] {
        let answer = world.api.settle(&call).await.problem(400, "insufficient_balance");
        assert_eq!((answer.text("/balance_short"), answer.text("/asset")), ("30".to_owned(), asset.to_owned()));
    }
    // Only the account's holder learns what it has.
    for call in [
        Call::post("/v1/merchant/charges", &merchant.who, &json!({"code": code, "amount": "30"})).key(new_key()),
        stage.terminal.does("pay", &card, &json!({"amount": "30"})),
        world.approval(&json!({"customer_id": empty.id}), "debit", "30").await,
    ] {
        let answer = world.api.settle(&call).await.problem(400, "insufficient_balance");
        assert!(answer.json().get("balance_short").is_none(), "{answer:?}");
    }
    assert_eq!(world.check_books().await.under("TXN#").count(), 0);
}

/// Another person than the requester decides, and concurrent decisions decide once.
#[tokio::test]
async fn adjustment_needs_second_person_and_is_decided_once() {
    let world = World::new("four-eyes").await;
    let customer = world.customer().await;
    let account = json!({"customer_id": customer.id});
    let approve = world.approval(&account, "credit", "100").await;
    let reject = approve.clone().at(approve.path.replace("/approve", "/reject"));
    for own in [&approve, &reject] {
        let answer = world.api.settle(&own.clone().by(&world.operator.who).key(new_key())).await;
        let _ = answer.problem(403, "four_eyes_required");
    }
    let (_, third) = staff::member(&world, "approver").await;
    let calls = [approve.clone(), approve.clone().by(&third).key(new_key()), reject.by(&third).key(new_key())];
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
    for lost in answers.iter().filter(|answer| answer.status != 200) {
        let _ = lost.clone().problem(400, "wrong_state");
    }
    let approved = answers.iter().any(|answer| answer.status == 200 && answer.text("/status") == "approved");
    assert_eq!(world.balance(&customer, "ECOPAY").await, if approved { "100" } else { "0" });
    world.check_books().await;
}

/// A bulk grant is run by several workers, in several runs: each customer gets it once.
#[tokio::test]
async fn bulk_grant_reaches_each_customer_once() {
    let world = World::new("bulk").await;
    let customers: Vec<Customer> = join_all((0..7).map(|_| world.customer())).await;
    let mut ids: Vec<String> = customers.iter().map(|customer| customer.id.clone()).collect();
    ids.push(ledger_tests::http::world::new_id());
    let bulk = json!({"customer_ids": ids, "asset": "POINT", "amount": "25", "reason": "campaign"});
    let bulk = Call::post("/v1/admin/grants", &world.operator.who, &bulk).key(new_key());
    let job = world.executes(&bulk).await.good().text("/job_id");
    let progress = async || world.job(&job).await;
    assert_eq!(progress().await["status"], "waiting");
    // An operator's grant under a key in the form of those that the job derives.
    let own = json!({"customer_id": ids[0], "asset": "POINT", "amount": "3", "reason": "apart"});
    let own = Call::post("/v1/admin/grants", &world.operator.who, &own).key(format!("{job}-customer:{}", ids[0]));
    let _ = world.executes(&own).await.good();
    for _ in 0..2 {
        let runs = join_all((0..3).map(|_| world.run_jobs())).await;
        assert!(runs.iter().any(Result::is_ok), "{runs:?}");
    }
    let done: Value = progress().await;
    assert_eq!((&done["status"], &done["done"], &done["failed"]), (&json!("done"), &json!(7), &json!(1)), "{done}");
    let failed = world.job_lines(&job, Some("failed"), 20).await;
    assert_eq!((failed.len(), &failed[0]["code"]), (1, &json!("not_found")));
    assert_eq!(failed[0]["subject"], json!(format!("customer:{}", ids[7])));
    for (at, customer) in customers.iter().enumerate() {
        assert_eq!(world.balance(customer, "POINT").await, if at == 0 { "28" } else { "25" });
    }
    let books = world.check_books().await;
    assert_eq!((books.entries_of("bulk_grant"), books.entries_of("grant")), (7, 1));
}
