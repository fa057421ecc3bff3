//! Terminals charge customers' one-time codes, and reverse their charges, over HTTP.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_core::terms::TenantTerms;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Customer, World, host};
use ledger_tests::limits::limits;
use serde_json::{Value, json};

async fn stage_with(tenant: &str, change: impl Fn(&mut TenantTerms)) -> Stage {
    Stage::new(World::with_terms(host::shared(), tenant, change).await).await
}

async fn stage(tenant: &str) -> Stage {
    stage_with(tenant, |_| {}).await
}

async fn settle(stage: &Stage, call: &Call) -> Answer {
    stage.world.api.settle(call).await
}

async fn seen(stage: &Stage, path: &str, who: &ledger_tests::http::Who) -> Value {
    stage.world.api.send(&Call::get(path, who)).await.good().json()
}

/// What the customer has of money and points, and what the merchant has been posted.
async fn balances(stage: &Stage, customer: &Customer) -> (String, String, String) {
    let world = &stage.world;
    let books = world.check_books().await;
    let merchant = books.posted(&format!("merchant:{}", stage.merchant.id), "ECOPAY").to_string();
    (world.balance(customer, "ECOPAY").await, world.balance(customer, "POINT").await, merchant)
}

fn three(money: &str, points: &str, merchant: &str) -> (String, String, String) {
    (money.to_owned(), points.to_owned(), merchant.to_owned())
}

async fn outcome(stage: &Stage, reversal: &Call) -> String {
    settle(stage, reversal).await.good().text("/outcome")
}

#[tokio::test]
async fn charge_pays_the_merchant_and_names_its_terminal() {
    let stage = stage("charge-terminal").await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let customer = world.customer_with("2000").await;
    let call = Call::post(
        "/v1/terminal/charges",
        &terminal.who,
        &json!({"code": customer.code(world).await, "amount": "1000", "memo": "till 2"}),
    );
    let call = call.key(terminal.next_key());
    let paid = settle(&stage, &call).await.good();
    assert_eq!((paid.status, paid.text("/amount")), (201, "1000".to_owned()));
    let again = settle(&stage, &call).await;
    assert_eq!((again.stored(), again.replayed()), (paid.stored(), true));
    assert_eq!(balances(&stage, &customer).await, three("1000", "10", "1000"));

    let key = call.key.as_deref().unwrap();
    let looked_up = seen(&stage, &format!("/v1/terminal/operations/terminal_charge/{key}"), &terminal.who).await;
    assert_eq!((&looked_up["state"], &looked_up["answer"]["payment_id"]), (&json!("done"), &paid.json()["payment_id"]));
    let by_merchant = world.api.settle(&stage.merchant.charges(&customer.code(world).await, "100")).await.good();
    let listed = seen(&stage, "/v1/merchant/payments", &stage.merchant.who).await;
    let of = |payment: &Answer| {
        let id = payment.text("/payment_id");
        listed["items"].as_array().unwrap().iter().find(|line| line["payment_id"] == id).unwrap()["terminal_id"].clone()
    };
    assert_eq!((of(&paid), of(&by_merchant)), (json!(terminal.id), Value::Null), "{listed}");
    let path = format!("/v1/merchant/payments/{}", paid.text("/payment_id"));
    assert_eq!(seen(&stage, &path, &stage.merchant.who).await["terminal_id"], json!(terminal.id));
    let history = seen(&stage, "/v1/me/transactions?operation=terminal_charge", &customer.who).await;
    assert_eq!(history["items"].as_array().unwrap().len(), 1, "{history}");
    assert_eq!(world.reconciled().await["status"], "clean");
}

#[tokio::test]
async fn charge_in_points_is_refunded_by_the_merchant_as_any_payment() {
    let stage = stage("charge-points").await;
    let world = &stage.world;
    let customer = world.customer_with("100").await;
    world.grant(&customer, "POINT", "50").await;
    let body = json!({"code": customer.code(world).await, "amount": "30", "asset": "POINT"});
    let call = Call::post("/v1/terminal/charges", &stage.terminal.who, &body).key(stage.terminal.next_key());
    let payment = settle(&stage, &call).await.good().text("/payment_id");
    assert_eq!(world.balance(&customer, "POINT").await, "20");
    let _ = settle(&stage, &stage.merchant.refunds(&payment, "10")).await.good();
    assert_eq!(world.balance(&customer, "POINT").await, "30");
    let reversal = stage.terminal.reverses_charge(&call);
    let _ = settle(&stage, &reversal).await.problem(400, "wrong_state");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn code_that_several_tills_send_is_charged_once() {
    let stage = stage("charge-race").await;
    let world = &stage.world;
    let other = world.merchant().await;
    let foreign = world.terminal(&other).await;
    let customer = world.customer_with("10000").await;
    for _ in 0..6 {
        let code = customer.code(world).await;
        let calls = [
            stage.terminal.charges(&code, "100"),
            foreign.charges(&code, "100"),
            other.charges(&code, "100"),
            stage.terminal.charges(&code, "100"),
        ];
        let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        let paid = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(paid, 1, "{answers:?}");
        for refused in answers.into_iter().filter(|answer| answer.status != 201) {
            let refused = refused.problem(400, "wrong_state");
            assert!(!refused.body.contains(&customer.id), "{refused:?}");
        }
    }
    assert_eq!(world.balance(&customer, "ECOPAY").await, "9400");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn reversal_undoes_a_charge_once() {
    let stage = stage("charge-undone").await;
    let (customer, call, payment) = stage.charged("1000").await;
    assert_eq!(balances(&stage, &customer).await, three("0", "10", "1000"));
    let reversal = stage.terminal.reverses_charge(&call);
    let reversed = settle(&stage, &reversal).await.good();
    assert_eq!(reversed.text("/outcome"), "undone");
    assert_eq!(balances(&stage, &customer).await, three("1000", "0", "0"));
    let again = settle(&stage, &reversal).await;
    assert_eq!((again.stored(), again.replayed()), (reversed.stored(), true));
    assert_eq!(outcome(&stage, &stage.terminal.reverses_charge(&call)).await, "already_reversed");
    let _ = settle(&stage, &call).await.problem(409, "operation_reversed");
    let path = format!("/v1/merchant/payments/{payment}");
    assert_eq!(seen(&stage, &path, &stage.merchant.who).await["status"], "reversed");
    let listed = seen(&stage, "/v1/merchant/payments?kind=payment_reversal", &stage.merchant.who).await;
    assert_eq!(listed["items"][0]["terminal_id"], json!(stage.terminal.id), "{listed}");
    let _ = settle(&stage, &stage.merchant.refunds(&payment, "1")).await.problem(400, "wrong_state");
    assert_eq!(balances(&stage, &customer).await, three("1000", "0", "0"));
    assert_eq!(stage.world.reconciled().await["status"], "clean");
}

#[tokio::test]
async fn totals_of_a_till_have_its_charges_beside_its_cards() {
    let stage = stage("charge-totals").await;
    let (_, first, _) = stage.charged("700").await;
    let _ = stage.charged("300").await;
    let _ = stage.paid_by_card("200").await;
    assert_eq!(outcome(&stage, &stage.terminal.reverses_charge(&first)).await, "undone");
    let totals = seen(&stage, "/v1/terminal/totals", &stage.terminal.who).await;
    let line = |operation: &str, count: u64, amount: &str| json!({"operation": operation, "count": count, "asset": "ECOPAY", "amount": amount});
    assert_eq!(totals["totals"], json!([line("card_pay", 1, "-200")]), "{totals}");
    let charges = [line("terminal_charge", 2, "-1000"), line("terminal_charge_reverse", 1, "700")];
    assert_eq!(totals["charges"], json!(charges), "{totals}");
}

#[tokio::test]
async fn reversal_before_its_charge_forbids_it() {
    let stage = stage("charge-overtaken").await;
    let customer = stage.world.customer_with("500").await;
    let call = stage.terminal.charges(&customer.code(&stage.world).await, "300");
    assert_eq!(outcome(&stage, &stage.terminal.reverses_charge(&call)).await, "forbidden");
    let _ = settle(&stage, &call).await.problem(409, "operation_reversed");
    let poor = stage.terminal.charges(&customer.code(&stage.world).await, "501");
    let refused = settle(&stage, &poor).await.problem(400, "insufficient_balance");
    assert!(refused.json().get("balance_short").is_none(), "{refused:?}");
    assert_eq!(outcome(&stage, &stage.terminal.reverses_charge(&poor)).await, "nothing_moved");
    assert_eq!(balances(&stage, &customer).await, three("500", "0", "0"));
}

#[tokio::test]
async fn concurrent_charge_and_reversals_move_nothing() {
    let stage = stage("charge-reversal-race").await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let customer = world.customer_with("1000").await;
    for _ in 0..8 {
        let charge = terminal.charges(&customer.code(world).await, "700");
        let reversals = [terminal.reverses_charge(&charge), terminal.reverses_charge(&charge)];
        let (paid, reversed) = futures::join!(
            world.api.settle(&charge),
            join_all(reversals.iter().map(|reversal| world.api.settle(reversal)))
        );
        let mut outcomes: Vec<String> = reversed.into_iter().map(|answer| answer.good().text("/outcome")).collect();
        outcomes.sort();
        let expected = match outcomes.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["already_reversed", "undone"] => 201,
            ["already_reversed", "forbidden"] => 409,
            _ => panic!("{outcomes:?}"),
        };
        assert_eq!(paid.status, expected, "{outcomes:?}: {paid:?}");
        assert_eq!(balances(&stage, &customer).await, three("1000", "0", "0"));
    }
    let books = world.check_books().await;
    assert_eq!(books.entries_of("terminal_charge"), books.entries_of("terminal_charge_reverse"));
}

#[tokio::test]
async fn limits_of_payer_and_terminal_bound_a_charge_and_its_reversal_gives_back() {
    let rules = limits(&[("customer", "pay_day=1000"), ("terminal", "pay_operation=600")]);
    let stage = stage_with("charge-limits", |terms| terms.limits = Some(rules.clone())).await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let customer = world.customer_with("5000").await;
    let code = customer.code(world).await;
    let above = settle(&stage, &terminal.charges(&code, "601")).await.problem(400, "limit_exceeded");
    assert!(above.json().get("limit_kind").is_none_or(Value::is_null), "{above:?}");
    // The merchant's own charge has no limit of terminals.
    let _ = world.api.settle(&stage.merchant.charges(&code, "601")).await.good();
    let first = terminal.charges(&customer.code(world).await, "399");
    let _ = settle(&stage, &first).await.good();
    let code = customer.code(world).await;
    let _ = settle(&stage, &terminal.charges(&code, "1")).await.problem(400, "limit_exceeded");
    assert_eq!(outcome(&stage, &terminal.reverses_charge(&first)).await, "undone");
    let _ = settle(&stage, &terminal.charges(&code, "399")).await.good();
    let _ = world.check_books().await;
}

#[tokio::test]
async fn suspended_merchants_terminal_reverses_and_does_not_charge() {
    let stage = stage("charge-suspended").await;
    let world = &stage.world;
    let (customer, call, _) = stage.charged("300").await;
    let code = customer.code(world).await;
    let path = format!("/v1/admin/merchants/{}", stage.merchant.id);
    let suspend = Call::patch(&path, &world.operator.who, &json!({"status": "suspended", "reason": "kyc"}));
    let _ = world.api.settle(&suspend.key(new_key())).await.good();
    let _ = settle(&stage, &stage.terminal.charges(&code, "1")).await.problem(400, "wrong_state");
    assert_eq!(outcome(&stage, &stage.terminal.reverses_charge(&call)).await, "undone");
    assert_eq!(balances(&stage, &customer).await, three("300", "0", "0"));
}

#[tokio::test]
async fn another_tills_charge_and_a_counter_are_refused() {
    let stage = stage_with("charge-others", |_| {}).await;
    let world = &stage.world;
    let (customer, call, _) = stage.charged("300").await;
    let other = world.terminal(&world.merchant().await).await;
    let _ = settle(&stage, &other.reverses_charge(&call)).await.problem(400, "idempotency_key_invalid");
    let counter = world.counter("500").await;
    let code = customer.code(world).await;
    let _ = settle(&stage, &counter.charges(&code, "1")).await.problem(403, "not_at_counter");
    let _ = settle(&stage, &counter.reverses_charge(&counter.charges(&code, "1"))).await.problem(403, "not_at_counter");
    let foreign = Stage::new(World::new("charge-foreign").await).await;
    let _ = settle(&foreign, &foreign.terminal.charges(&code, "1")).await.problem(404, "not_found");
    let malformed = stage.terminal.charges("epc_short", "1");
    let _ = settle(&stage, &malformed).await.problem(400, "invalid_request");
    assert_eq!(balances(&stage, &customer).await, three("0", "3", "300"));
}
