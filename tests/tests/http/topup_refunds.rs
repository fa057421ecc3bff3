//! Money of a top-up that goes back to the card, over HTTP: the operator's refunds, disputes, and dashboard refunds.
use futures::future::join_all;
use ledger_tests::http::stripe::Topup;
use ledger_tests::http::{Answer, Call, Customer, World};
use serde_json::{Value, json};

/// A stack that delivers only what the test delivers, and a customer with a paid top-up of 10,000 and its 500 points.
async fn topped_up(tenant: &str) -> (World, Customer, Topup) {
    let world = World::alone(tenant).await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let topup = world.paid_topup(&customer, "10000").await;
    (world, customer, topup)
}

/// Available and held money, then available and held points.
async fn wallet(world: &World, customer: &Customer) -> [String; 4] {
    let (money, points) = (world.wallet(customer, "ECOPAY").await, world.wallet(customer, "POINT").await);
    let text = |wallet: &Value, name: &str| wallet[name].as_str().expect("a quantity").to_owned();
    [text(&money, "balance"), text(&money, "held"), text(&points, "balance"), text(&points, "held")]
}

async fn refunded(world: &World, topup: &Topup, amount: &str) -> Answer {
    world.api.settle(&topup.refund(world, amount)).await.good()
}

async fn refund_view(world: &World, refund: &Answer) -> Value {
    let path = format!("/v1/admin/topups/{}/refunds/{}", refund.text("/topup_id"), refund.text("/refund_id"));
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()
}

/// Stripe's refunds of a top-up, oldest first.
async fn at_stripe(world: &World, topup: &Topup) -> Vec<Value> {
    let events =
        world.api.send(&Call::get("/dev/stripe/events", &ledger_tests::http::Who::Anonymous)).await.good().json();
    let created = events["events"].as_array().expect("events").iter().filter(|event| event["type"] == "refund.created");
    let objects = created.map(|event| event["data"]["object"].clone());
    objects.filter(|refund| refund["payment_intent"] == topup.intent).collect()
}

fn less(balance: &str, taken: i64) -> String {
    (balance.parse::<i64>().expect("a whole number") - taken).to_string()
}

fn id(object: &Value) -> &str {
    object["id"].as_str().expect("an id")
}

#[tokio::test]
async fn topup_is_refunded_in_parts() {
    let (world, customer, topup) = topped_up("refund-parts").await;
    let part = refunded(&world, &topup, "4000").await.json();
    let expected = ("pending", "4000", "4000", "200");
    let field = |name: &str| part[name].as_str().unwrap_or_default();
    assert_eq!((field("status"), field("amount"), field("paid"), field("points_taken_back")), expected, "{part}");
    assert_eq!(wallet(&world, &customer).await, ["6000", "0", "300", "0"]);
    assert_eq!(world.topup_view(&topup.id).await["refundable"], "6000");

    // Without an amount, all that is left is refunded.
    let rest = topup.refund(&world, "1").json(&json!({"reason": "closing"}));
    let rest = world.api.settle(&rest).await.good();
    assert_eq!((rest.text("/amount"), rest.text("/points_taken_back")), ("6000".to_owned(), "300".to_owned()));
    assert_eq!(refund_view(&world, &rest).await["status"], "succeeded");
    assert_eq!(wallet(&world, &customer).await, ["0", "0", "0", "0"]);
    for amount in [json!({"reason": "x"}), json!({"amount": "1", "reason": "x"})] {
        let _ = world.api.settle(&topup.refund(&world, "1").json(&amount)).await.problem(400, "over_refund");
    }
    let amounts: Vec<_> = at_stripe(&world, &topup).await.iter().map(|refund| refund["amount"].clone()).collect();
    assert_eq!(amounts, [json!(4000), json!(6000)]);
    let books = world.check_books().await;
    assert_eq!(books.posted("stripe_clearing", "ECOPAY"), 0.into());
    assert_eq!(books.posted("points_issued", "POINT"), 0.into());
    // Stripe's events about them arrive late, and change nothing.
    for refund in at_stripe(&world, &topup).await {
        assert_eq!(world.deliver("refund.created", id(&refund)).await, 200);
    }
    world.books().await.unchanged_since(&books, "an event behind our record moved something");
    let history = world.api.send(&Call::get("/v1/me/transactions", &customer.who)).await.good().json();
    let lines = history["items"].as_array().expect("items");
    assert!(lines.iter().all(|line| line["topup_id"] == topup.id), "{history}");
}

/// Points of the top-up that were spent are kept from the refund, one yen each.
#[tokio::test]
async fn spent_points_are_kept_from_the_refund() {
    let (world, customer, topup) = topped_up("refund-spent").await;
    let merchant = world.merchant().await;
    let spend = json!({"merchant_id": merchant.id, "amount": "400", "points": "400"});
    let _ = world.api.settle(&customer.pays(&merchant, "1").json(&spend)).await.good();
    let refund = refunded(&world, &topup, "10000").await.json();
    let field = |name: &str| refund[name].as_str().unwrap_or_default();
    assert_eq!((field("paid"), field("kept"), field("points_taken_back")), ("9600", "400", "100"), "{refund}");
    assert_eq!(wallet(&world, &customer).await, ["0", "0", "0", "0"]);
    assert_eq!(at_stripe(&world, &topup).await[0]["amount"], 9600);
    let books = world.check_books().await;
    assert_eq!(books.posted("stripe_clearing", "ECOPAY"), (-400).into());
    assert_eq!(books.posted("points_issued", "ECOPAY"), 400.into());
}

/// A pending refund: held money cannot be spent, the rest can.
#[tokio::test]
async fn pending_refund_holds_money_until_paid_out() {
    let (world, customer, topup) = topped_up("refund-pending").await;
    let merchant = world.merchant().await;
    let _ = world.stripe("/next_refund_status", &json!({"status": "pending"})).await;
    let refund = refunded(&world, &topup, "4000").await;
    assert_eq!(wallet(&world, &customer).await, ["6000", "4000", "300", "200"]);
    assert_eq!(refund_view(&world, &refund).await["status"], "pending");
    let _ = world.api.settle(&customer.pays(&merchant, "6001")).await.problem(400, "insufficient_balance");
    let _ =
        world.api.settle(&customer.sends(&world.customer().await, "6001")).await.problem(400, "insufficient_balance");
    let _ = world.api.settle(&topup.refund(&world, "6001")).await.problem(400, "over_refund");
    let _ = world.api.settle(&customer.pays(&merchant, "50")).await.good();
    let _ = world.api.settle(&topup.refund(&world, "6000")).await.problem(400, "insufficient_balance");
    world.check_books().await;

    let psp = at_stripe(&world, &topup).await.remove(0);
    let _ = world.stripe(&format!("/refunds/{}/succeed", id(&psp)), &json!({})).await;
    for kind in ["refund.updated", "charge.refund.updated", "refund.updated", "refund.created"] {
        assert_eq!(world.deliver(kind, id(&psp)).await, 200);
    }
    assert_eq!(wallet(&world, &customer).await, ["5950", "0", "300", "0"]);
    assert_eq!(refund_view(&world, &refund).await["status"], "succeeded");
    world.check_books().await;
}

/// A failed refund returns money and points, and can be requested again: a pending one, and one already paid out.
#[tokio::test]
async fn failed_refund_returns_money_and_points() {
    let (world, customer, topup) = topped_up("refund-failed").await;
    for status in ["pending", "succeeded"] {
        let _ = world.stripe("/next_refund_status", &json!({"status": status})).await;
        let refund = refunded(&world, &topup, "4000").await;
        let psp = at_stripe(&world, &topup).await.pop().expect("a refund");
        assert_eq!(world.topup_view(&topup.id).await["refundable"], "6000");
        let _ = world.stripe(&format!("/refunds/{}/fail", id(&psp)), &json!({})).await;
        for kind in ["refund.failed", "refund.updated", "charge.refund.updated", "refund.created", "refund.failed"] {
            assert_eq!(world.deliver(kind, id(&psp)).await, 200);
        }
        assert_eq!(wallet(&world, &customer).await, ["10000", "0", "500", "0"], "{status}");
        assert_eq!(refund_view(&world, &refund).await["status"], "failed");
        assert_eq!(world.topup_view(&topup.id).await["refundable"], "10000");
        world.check_books().await;
    }
    // A refund that Stripe refuses at once ends the same way.
    let _ = world.stripe("/next_refund_status", &json!({"status": "failed"})).await;
    let refund = refunded(&world, &topup, "10000").await;
    assert_eq!(
        (refund.text("/status"), refund_view(&world, &refund).await["status"].clone()),
        ("pending".into(), json!("failed"))
    );
    let _ = refunded(&world, &topup, "10000").await;
    assert_eq!(wallet(&world, &customer).await, ["0", "0", "0", "0"]);
    let books = world.check_books().await;
    assert_eq!(books.posted("stripe_clearing", "ECOPAY"), 0.into());
    assert_eq!(books.entries_of("topup_refund_returned"), 3);
}

#[tokio::test]
async fn invalid_topup_refunds_are_refused() {
    let (world, customer, topup) = topped_up("refund-refused").await;
    let merchant = world.merchant().await;
    let unpaid = world.topup(&customer, "1000").await;
    let _ = world.api.settle(&unpaid.refund(&world, "1")).await.problem(400, "wrong_state");
    let _ = world.api.settle(&topup.refund(&world, "10001")).await.problem(400, "over_refund");
    for amount in ["0", "-1", "1.5"] {
        let answer = world.api.send(&topup.refund(&world, amount)).await.problem(400, "invalid_request");
        assert_eq!(answer.text("/field"), "amount");
    }
    for reason in [json!({"amount": "1"}), json!({"amount": "1", "reason": " "})] {
        let answer = world.api.send(&topup.refund(&world, "1").json(&reason)).await;
        let _ = answer.problem(400, "invalid_request");
    }
    let path = format!("/v1/admin/customers/{}", customer.id);
    world.change(&path, &json!({"status": "frozen", "reason": "looked into"})).await;
    let frozen = topup.refund(&world, "100");
    let _ = world.api.settle(&frozen).await.problem(400, "account_frozen");
    world.change(&path, &json!({"status": "active"})).await;
    assert!(world.api.send(&frozen).await.problem(400, "account_frozen").replayed());
    let _ = world.api.settle(&customer.pays(&merchant, "9950")).await.good();
    let short = world.api.settle(&topup.refund(&world, "100")).await.problem(400, "insufficient_balance");
    assert!(short.json().get("balance_short").is_none(), "{short:?}");
    assert!(at_stripe(&world, &topup).await.is_empty(), "a refused refund must not be sent to Stripe");
    assert_eq!(world.topup_view(&topup.id).await["refundable"], "10000");
    world.check_books().await;
}

/// Two concurrent refunds of 6,000 of a top-up of 10,000, in several rounds: one is made.
#[tokio::test]
async fn concurrent_topup_refunds_apply_once() {
    let (world, customer, _) = topped_up("refund-race").await;
    for _ in 0..4 {
        let topup = world.paid_topup(&customer, "10000").await;
        let calls = [topup.refund(&world, "6000"), topup.refund(&world, "6000")];
        let mut answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        answers.sort_by_key(|answer| answer.status);
        let [made, refused] = <[_; 2]>::try_from(answers).expect("two answers");
        assert_eq!(made.status, 201, "{made:?}");
        let _ = refused.problem(400, "over_refund");
        assert_eq!(at_stripe(&world, &topup).await.len(), 1);
        let _ = refunded(&world, &topup, "4000").await;
    }
    assert_eq!(wallet(&world, &customer).await, ["10000", "0", "500", "0"]);
    world.check_books().await;
}

/// A dispute takes the available money and its share of the points, and the wallet owes the rest. Released and refunded
/// money pays the debt first. What the dispute took cannot be refunded as well.
#[tokio::test]
async fn dispute_of_partly_spent_money_leaves_a_debt() {
    let (world, customer, topup) = topped_up("dispute").await;
    let merchant = world.merchant().await;
    let _ = world.api.settle(&customer.pays(&merchant, "6000")).await.good();
    let before = world.balance(&customer, "POINT").await;
    let points = less(&before, 400);
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({"amount": 8000})).await;
    let withdrawn = "charge.dispute.funds_withdrawn";
    for kind in ["charge.dispute.created", withdrawn, withdrawn] {
        assert_eq!(world.deliver(kind, id(&dispute)).await, 200);
    }
    assert_eq!(wallet(&world, &customer).await, ["0", "0", points.as_str(), "0"]);
    let books = world.check_books().await;
    assert_eq!(books.posted("disputes", "ECOPAY"), (-4000).into());
    assert_eq!((books.posted("stripe_clearing", "ECOPAY"), books.entries_of("clawback")), ((-2000).into(), 1));
    assert_eq!(world.topup_view(&topup.id).await["refundable"], "2000");
    let _ = world.api.settle(&topup.refund(&world, "2001")).await.problem(400, "over_refund");
    let _ = world.api.settle(&topup.refund(&world, "1")).await.problem(400, "insufficient_balance");
    world.adjust(&json!({"customer_id": customer.id}), "credit", "1000").await;
    let refused = world.api.settle(&topup.refund(&world, "1000")).await.problem(400, "psp_refused");
    assert_eq!(refused.text("/psp_code"), "charge_disputed");
    // Released money pays the wallet's debt.
    assert_eq!(wallet(&world, &customer).await, ["0", "0", points.as_str(), "0"]);
    assert_eq!(world.check_books().await.posted("disputes", "ECOPAY"), (-3000).into());

    let _ = world.stripe(&format!("/disputes/{}/win", id(&dispute)), &json!({})).await;
    for kind in
        ["charge.dispute.funds_reinstated", "charge.dispute.closed", "charge.dispute.funds_reinstated", withdrawn]
    {
        assert_eq!(world.deliver(kind, id(&dispute)).await, 200);
    }
    assert_eq!(wallet(&world, &customer).await, ["5000", "0", before.as_str(), "0"]);
    let books = world.check_books().await;
    assert_eq!(books.posted("disputes", "ECOPAY"), 0.into());
    assert_eq!(books.posted("stripe_clearing", "ECOPAY"), (-10_000).into());
    assert_eq!(world.topup_view(&topup.id).await["refundable"], "10000");
}

/// A dispute that is won and withdrawn again is taken again, once, even if events are repeated.
#[tokio::test]
async fn overturned_dispute_is_taken_again_once() {
    let (world, customer, topup) = topped_up("dispute-overturned").await;
    let points = world.balance(&customer, "POINT").await;
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({"amount": 7000})).await;
    let (withdrawn, reinstated) = ("charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated");
    let deliver = async |kind: &str| assert_eq!(world.deliver(kind, id(&dispute)).await, 200, "{kind}");
    deliver(withdrawn).await;
    let _ = world.stripe(&format!("/disputes/{}/win", id(&dispute)), &json!({})).await;
    deliver(reinstated).await;
    assert_eq!(wallet(&world, &customer).await, ["10000", "0", points.as_str(), "0"]);
    let _ = world.stripe(&format!("/disputes/{}/overturn", id(&dispute)), &json!({})).await;
    for kind in [withdrawn, reinstated, withdrawn] {
        deliver(kind).await;
        assert_eq!(wallet(&world, &customer).await, ["3000", "0", less(&points, 350).as_str(), "0"], "{kind}");
    }
    let books = world.check_books().await;
    assert_eq!((books.entries_of("clawback"), books.entries_of("clawback_returned")), (2, 1));
    assert_eq!(books.posted("stripe_clearing", "ECOPAY"), (-3000).into());
    assert_eq!(world.topup_view(&topup.id).await["refundable"], "3000");
    assert_eq!(world.reconciled().await["status"], "clean");
}

/// Held money is taken as it is released or refunded, before it can be spent. New money is not taken.
#[tokio::test]
async fn disputed_held_money_is_taken_when_released() {
    let (world, customer, topup) = topped_up("dispute-held").await;
    let merchant = world.merchant().await;
    let authorize = merchant.authorizes(&customer.code(&world).await, "6000");
    let payment = world.api.settle(&authorize).await.good().text("/payment_id");
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({})).await;
    assert_eq!(world.deliver("charge.dispute.funds_withdrawn", id(&dispute)).await, 200);
    assert_eq!(wallet(&world, &customer).await, ["0", "6000", "0", "0"]);
    assert_eq!(world.wallet(&customer, "ECOPAY").await["owed"], "6000");
    assert_eq!(world.reconciled().await["status"], "clean");

    let captured = world.api.settle(&merchant.captures(&payment, Some("2500"))).await.good().json();
    assert_eq!((&captured["status"], &captured["amount"]), (&json!("captured"), &json!("2500")), "{captured}");
    assert_eq!(wallet(&world, &customer).await, ["0", "0", "25", "0"]);
    assert_eq!(world.wallet(&customer, "ECOPAY").await["owed"], "2500");
    let _ = world.api.settle(&customer.pays(&merchant, "1")).await.problem(400, "insufficient_balance");
    let _ = world.api.settle(&merchant.refunds(&payment, "1000")).await.good();
    assert_eq!(world.wallet(&customer, "ECOPAY").await["owed"], "1500");
    let books = world.check_books().await;
    assert_eq!(books.posted("disputes", "ECOPAY"), (-1500).into());
    assert_eq!(world.reconciled().await["status"], "clean");

    // New money is not taken; what the PSP gives back pays the rest.
    world.adjust(&json!({"customer_id": customer.id}), "credit", "700").await;
    assert_eq!(world.balance(&customer, "ECOPAY").await, "700");
    let _ = world.stripe(&format!("/disputes/{}/win", id(&dispute)), &json!({})).await;
    assert_eq!(world.deliver("charge.dispute.funds_reinstated", id(&dispute)).await, 200);
    assert_eq!(world.balance(&customer, "ECOPAY").await, "9200");
    assert_eq!(world.wallet(&customer, "ECOPAY").await.get("owed"), None);
    let _ = world.api.settle(&merchant.refunds(&payment, "1500")).await.good();
    assert_eq!(world.balance(&customer, "ECOPAY").await, "10700");
    assert_eq!(world.check_books().await.posted("disputes", "ECOPAY"), 0.into());
    assert_eq!(world.reconciled().await["status"], "clean");
}

/// Held points of the top-up are owed, and spent points are paid for with money.
#[tokio::test]
async fn disputed_held_points_are_taken_when_released() {
    let (world, customer, topup) = topped_up("dispute-points").await;
    let merchant = world.merchant().await;
    let _ = world.api.settle(&customer.pays(&merchant, "100").field("points", "100")).await.good();
    let authorize = merchant.authorizes(&customer.code(&world).await, "300").field("asset", "POINT");
    let payment = world.api.settle(&authorize).await.good().text("/payment_id");
    assert_eq!(wallet(&world, &customer).await, ["10000", "0", "100", "300"]);
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({"amount": 9000})).await;
    assert_eq!(world.deliver("charge.dispute.funds_withdrawn", id(&dispute)).await, 200);
    // 450 of 500: 100 are available, 300 are held, and 50 yen are taken for those that were spent.
    assert_eq!(wallet(&world, &customer).await, ["950", "0", "0", "300"]);
    assert_eq!(world.wallet(&customer, "POINT").await["owed"], "300");
    let _ = world.api.settle(&merchant.voids(&payment)).await.good();
    assert_eq!(wallet(&world, &customer).await, ["950", "0", "0", "0"]);
    assert_eq!(world.wallet(&customer, "POINT").await.get("owed"), None);
    assert_eq!(world.reconciled().await["status"], "clean");
    let _ = world.stripe(&format!("/disputes/{}/win", id(&dispute)), &json!({})).await;
    assert_eq!(world.deliver("charge.dispute.funds_reinstated", id(&dispute)).await, 200);
    assert_eq!(wallet(&world, &customer).await, ["10000", "0", "400", "0"]);
    let books = world.check_books().await;
    assert_eq!((books.posted("disputes", "ECOPAY"), books.posted("disputes", "POINT")), (0.into(), 0.into()));
    assert_eq!(world.reconciled().await["status"], "clean");
}

/// An empty wallet owes the whole amount, and its balance does not become negative.
#[tokio::test]
async fn dispute_of_spent_money_leaves_a_debt_of_the_whole_amount() {
    let (world, customer, topup) = topped_up("dispute-empty").await;
    let merchant = world.merchant().await;
    let _ = world.api.settle(&customer.pays(&merchant, "10000")).await.good();
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({"amount": 7000})).await;
    assert_eq!(world.deliver("charge.dispute.funds_withdrawn", id(&dispute)).await, 200);
    assert_eq!(world.balance(&customer, "ECOPAY").await, "0");
    assert_eq!(world.check_books().await.posted("disputes", "ECOPAY"), (-7000).into());
    let _ = world.stripe(&format!("/disputes/{}/lose", id(&dispute)), &json!({})).await;
    let before = world.books().await;
    assert_eq!(world.deliver("charge.dispute.closed", id(&dispute)).await, 200);
    world.books().await.unchanged_since(&before, "a lost dispute moved something");
}

/// The events of a dispute in the wrong order: nothing is taken that was reinstated.
#[tokio::test]
async fn dispute_events_in_reverse_order_take_nothing() {
    let (world, customer, topup) = topped_up("dispute-backwards").await;
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({})).await;
    let _ = world.stripe(&format!("/disputes/{}/win", id(&dispute)), &json!({})).await;
    for kind in ["charge.dispute.funds_reinstated", "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated"]
    {
        assert_eq!(world.deliver(kind, id(&dispute)).await, 200);
    }
    assert_eq!(wallet(&world, &customer).await, ["10000", "0", "500", "0"]);
    assert_eq!(world.check_books().await.posted("disputes", "ECOPAY"), 0.into());
}

/// The dispute's event arrives before the payment's: the payment is looked up first.
#[tokio::test]
async fn dispute_event_before_its_payment_is_applied_once() {
    let world = World::alone("dispute-early").await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let topup = world.topup(&customer, "2000").await;
    let _ = world.stripe(&format!("/payment_intents/{}/succeed", topup.intent), &json!({})).await;
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({})).await;
    for kind in ["charge.dispute.funds_withdrawn", "charge.dispute.funds_withdrawn"] {
        assert_eq!(world.deliver(kind, id(&dispute)).await, 200);
    }
    assert_eq!(world.deliver("payment_intent.succeeded", &topup.intent).await, 200);
    assert_eq!(wallet(&world, &customer).await, ["0", "0", "0", "0"]);
    let books = world.check_books().await;
    assert_eq!((books.entries_of("topup"), books.entries_of("clawback")), (1, 1));
}

/// A refund at Stripe's dashboard is booked like a dispute, and returned like one.
#[tokio::test]
async fn dashboard_refund_is_a_clawback() {
    let (world, customer, topup) = topped_up("dashboard").await;
    let made = world.stripe(&format!("/payment_intents/{}/refund", topup.intent), &json!({"amount": 3000})).await;
    for kind in ["refund.created", "refund.created"] {
        assert_eq!(world.deliver(kind, id(&made)).await, 200);
    }
    assert_eq!(wallet(&world, &customer).await, ["7000", "0", "350", "0"]);
    let books = world.check_books().await;
    assert_eq!((books.entries_of("clawback"), books.entries_of("topup_refund_paid")), (1, 0));
    let _ = world.stripe(&format!("/refunds/{}/fail", id(&made)), &json!({})).await;
    for kind in ["refund.failed", "refund.updated"] {
        assert_eq!(world.deliver(kind, id(&made)).await, 200);
    }
    assert_eq!(wallet(&world, &customer).await, ["10000", "0", "500", "0"]);
    // The amount refunded at Stripe cannot be refunded again, and its points are not taken again.
    let made = world.stripe(&format!("/payment_intents/{}/refund", topup.intent), &json!({"amount": 3000})).await;
    assert_eq!(world.deliver("refund.created", id(&made)).await, 200);
    world.adjust(&json!({"customer_id": customer.id}), "credit", "3000").await;
    let _ = world.api.settle(&topup.refund(&world, "7001")).await.problem(400, "over_refund");
    assert_eq!(wallet(&world, &customer).await, ["10000", "0", "350", "0"]);
    let _ = refunded(&world, &topup, "7000").await;
    assert_eq!(wallet(&world, &customer).await, ["3000", "0", "0", "0"]);
    world.check_books().await;
}

/// Metadata can be edited at Stripe's dashboard. A refund whose id our record knows stays ours, and is not booked
/// twice.
#[tokio::test]
async fn refund_with_edited_metadata_is_not_booked_twice() {
    let (world, customer, topup) = topped_up("edited").await;
    let _ = world.stripe("/next_refund_status", &json!({"status": "pending"})).await;
    let refund = refunded(&world, &topup, "4000").await;
    let psp = at_stripe(&world, &topup).await.remove(0);
    let mut event = world.stripe_event("refund.created", id(&psp)).await;
    let ours = event["data"]["object"]["metadata"].clone();
    let mut broken = ours.clone();
    broken["ecopay_refund"] = json!("x");
    let mut bare = ours.clone();
    let _ = bare.as_object_mut().expect("metadata").remove("ecopay_refund");
    let before = world.check_books().await;
    for (at, metadata) in [json!({}), json!(null), broken.clone(), bare.clone()].into_iter().enumerate() {
        event["id"] = json!(format!("evt_edited_{at}"));
        event["data"]["object"]["metadata"] = metadata;
        assert_eq!(world.webhook(&event).await.good().text("/status"), "behind", "{event}");
    }
    world.books().await.unchanged_since(&before, "our own refund was booked again");
    // It succeeds, then fails: the events still concern our refund.
    for (at, (status, expected)) in
        [("succeeded", ["6000", "0", "300", "0"]), ("failed", ["10000", "0", "500", "0"])].into_iter().enumerate()
    {
        event["id"] = json!(format!("evt_edited_too_{at}"));
        event["data"]["object"]["status"] = json!(status);
        event["data"]["object"]["metadata"] = [json!({}), bare.clone()][at].clone();
        assert_eq!(world.webhook(&event).await.good().text("/status"), "applied", "{event}");
        assert_eq!(wallet(&world, &customer).await, expected);
        assert_eq!(refund_view(&world, &refund).await["status"], status);
    }
    assert_eq!(world.check_books().await.entries_of("clawback"), 0);
}
