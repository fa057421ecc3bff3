//! Customers and cards that are closed, while other requests of them arrive, and what is returned to them later.
#![cfg(feature = "stack")]

use futures::future::{join, join_all};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Merchant, Who, World};
use serde_json::{Value, json};

async fn world(name: &str) -> World {
    World::new(name).await
}

async fn status_of(world: &World, path: &str) -> String {
    world.api.send(&Call::get(path, &world.operator.who)).await.good().text("/status")
}

/// Whether the operator sees a customer as closed.
async fn is_closed(world: &World, customer: &Customer) -> bool {
    let path = format!("/v1/admin/customers/{}", customer.id);
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    assert_eq!(view["closed_at"].is_string(), view["status"] == "closed", "{view}");
    view["closed_at"].is_string()
}

/// What staff sees as unclaimed of a closed customer.
async fn unclaimed(world: &World, customer: &Customer) -> Value {
    let path = format!("/v1/admin/customers/{}", customer.id);
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()["unclaimed"].clone()
}

fn is_good(answer: &Answer) -> bool {
    (200..300).contains(&answer.status)
}

fn refund(payment: &str, shop: &Merchant, amount: &str) -> Call {
    Call::post(&format!("/v1/merchant/payments/{payment}/refunds"), &shop.who, &json!({"amount": amount}))
        .key(new_key())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn customer_with_something_open_is_not_closed_and_open_names_it() {
    let world = world("closing-open").await;
    let customer = world.customer_with("300").await;
    let card = world.card(Some(&customer), "0").await;
    let call = world.closes(&customer.id, false);
    let refused = world.api.settle(&call).await;
    assert_eq!((refused.status, refused.code().unwrap_or_default().as_str()), (400, "wrong_state"), "{refused:?}");
    assert_eq!(refused.json()["open"], json!(["balance:ECOPAY", "cards"]));
    assert_eq!(world.api.settle(&call).await.body, refused.body, "the refusal is stored");
    assert!(!is_closed(&world, &customer).await);
    let _ = world.api.settle(&world.closes_card(&card, false)).await.good();
    assert_eq!(status_of(&world, &format!("/v1/admin/cards/{card}")).await, "closed");
    let _ = world.executes(&world.closes(&customer.id, true)).await.good();
    assert_eq!(unclaimed(&world, &customer).await, json!({"ECOPAY": "300"}));
    assert!(is_closed(&world, &customer).await);
    let again = world.api.settle(&world.closes(&customer.id, true)).await;
    assert_eq!(again.code().unwrap_or_default(), "wrong_state", "{again:?}");
    let thaw =
        Call::patch(&format!("/v1/admin/customers/{}", customer.id), &world.operator.who, &json!({"status": "active"}));
    assert_eq!(world.api.settle(&thaw.key(new_key())).await.code().unwrap_or_default(), "wrong_state");
    let other = world.card(None, "0").await;
    let assign = json!({"customer_id": customer.id});
    let assign = Call::post(&format!("/v1/admin/cards/{other}/assign"), &world.operator.who, &assign).key(new_key());
    assert!(!is_good(&world.api.settle(&assign).await), "a closed wallet gets no card");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_raced_against_payments_and_credits_leaves_every_yen_in_one_account() {
    let world = world("closing-races").await;
    let shop = world.merchant().await;
    for _ in 0..6 {
        let (customer, sender) = (world.customer_with("300").await, world.customer_with("300").await);
        let pays: Vec<Call> = (0..3).map(|_| customer.pays(&shop, "100")).collect();
        let sends: Vec<Call> = (0..3).map(|_| sender.sends(&customer, "50")).collect();
        let close = world.approving(&world.closes(&customer.id, true)).await;
        let calls = pays.iter().chain(&sends).map(|call| world.api.settle(call));
        let (answers, closed) = join(join_all(calls), world.api.settle(&close)).await;
        // The close is approved against the balance that was seen.
        if closed.status != 200 {
            assert_eq!(closed.code().as_deref(), Some("approval_stale"), "{closed:?}");
            let _ = world.executes(&world.closes(&customer.id, true)).await.good();
        }
        assert!(is_closed(&world, &customer).await);
        let paid = answers.iter().take(3).filter(|answer| is_good(answer)).count();
        let sent = answers.iter().skip(3).filter(|answer| is_good(answer)).count();
        let rest = 300 + 50 * sent - 100 * paid;
        let rest = if rest == 0 { json!(null) } else { json!(rest.to_string()) };
        assert_eq!(unclaimed(&world, &customer).await["ECOPAY"], rest, "{answers:?}");
        let late = world.api.settle(&sender.sends(&customer, "50")).await;
        assert!(!is_good(&late), "a closed wallet is credited: {late:?}");
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refund_after_the_close_is_unclaimed_and_is_claimed_once() {
    let world = world("closing-refund").await;
    let (shop, customer, heir) = (world.merchant().await, world.customer_with("300").await, world.customer().await);
    let paid = world.api.settle(&customer.pays(&shop, "300")).await.good().text("/payment_id");
    // The payment's points are the rest.
    let _ = world.executes(&world.closes(&customer.id, true)).await.good();
    assert!(is_closed(&world, &customer).await);
    assert_eq!(unclaimed(&world, &customer).await["ECOPAY"], json!(null));
    let _ = world.api.settle(&refund(&paid, &shop, "200")).await.good();
    let account = format!("customer:{}", customer.id);
    assert_eq!(unclaimed(&world, &customer).await, json!({"ECOPAY": "200"}));
    let claims: Vec<Call> = (0..4).map(|_| world.claims(&account, &heir.id, "150")).collect();
    let answers = world.executes_at_once(&claims).await;
    assert_eq!(answers.iter().filter(|answer| is_good(answer)).count(), 1, "{answers:?}");
    assert_eq!(world.balance(&heir, "ECOPAY").await, "150");
    assert_eq!(unclaimed(&world, &customer).await, json!({"ECOPAY": "50"}));
    let more = world.executes(&world.claims(&account, &heir.id, "51")).await;
    assert_eq!(more.code().unwrap_or_default(), "insufficient_balance", "{more:?}");
    let open = world.executes(&world.claims(&format!("customer:{}", heir.id), &customer.id, "1")).await;
    assert_eq!(open.code().unwrap_or_default(), "wrong_state");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_raced_against_the_close_are_all_made() {
    let world = world("closing-refund-races").await;
    let shop = world.merchant().await;
    for _ in 0..6 {
        let customer = world.customer_with("300").await;
        let paid = world.api.settle(&customer.pays(&shop, "300")).await.good().text("/payment_id");
        let refunds: Vec<Call> = (0..3).map(|_| refund(&paid, &shop, "100")).collect();
        let close = world.closes(&customer.id, true);
        let answers = join(join_all(refunds.iter().map(|call| world.api.settle(call))), world.executes(&close)).await;
        assert!(answers.0.iter().all(is_good), "{answers:?}");
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_card_neither_pays_nor_loads_and_its_reversal_is_unclaimed() {
    let world = world("closing-card").await;
    let (shop, heir) = (world.merchant().await, world.customer().await);
    let terminal = world.terminal(&shop).await;
    let card = world.card(None, "300").await;
    let pay = terminal.does("pay", &card, &json!({"amount": "100"}));
    let _ = world.api.settle(&pay).await.good();
    let kept = world.api.settle(&world.closes_card(&card, false)).await;
    assert_eq!(kept.json()["open"], json!(["balance:ECOPAY"]), "{kept:?}");
    let _ = world.executes(&world.closes_card(&card, true)).await.good();
    let view = world.api.send(&Call::get(&format!("/v1/admin/cards/{card}"), &world.operator.who)).await.good().json();
    assert_eq!((&view["status"], &view["unclaimed"]), (&json!("closed"), &json!({"ECOPAY": "200"})));
    for verb in ["pay", "topup"] {
        let answer = world.api.settle(&terminal.does(verb, &card, &json!({"amount": "100"}))).await;
        assert!(!is_good(&answer), "{verb}: {answer:?}");
    }
    let _ = world.api.settle(&terminal.reverses("card_pay", &pay)).await.good();
    let account = format!("card:{card}");
    let _ = world.executes(&world.claims(&account, &heir.id, "300")).await.good();
    assert_eq!(world.balance(&heir, "ECOPAY").await, "300");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_with_a_rest_takes_two_people_and_is_stale_once_there_is_less() {
    let world = World::new("closing-two-people").await;
    let (customer, shop) = (world.customer_with("300").await, world.merchant().await);
    let asked = world.api.settle(&world.closes(&customer.id, true)).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let own = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.operator.who)).await;
    assert_eq!(own.code().unwrap_or_default(), "four_eyes_required");
    let _ = world.api.settle(&customer.pays(&shop, "50")).await.good();
    let stale = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.second.who)).await;
    assert_eq!(stale.code().unwrap_or_default(), "approval_stale", "{stale:?}");
    assert!(!is_closed(&world, &customer).await);
    let asked = world.api.settle(&world.closes(&customer.id, true)).await;
    let done = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.second.who)).await.good();
    assert_eq!(done.text("/status"), "approved");
    assert!(is_closed(&world, &customer).await);
    let _ = world.check_books().await;
}

/// What another party sends between the request and the decision stops no close, be it an asset that the customer did not have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_takes_what_a_stranger_sent_after_the_request() {
    let world = world("closing-stranger").await;
    let customer = world.customer_with("300").await;
    let stranger = world.customer_with("300").await;
    world.grant(&stranger, "REGIONAL#aoba", "7").await;
    let close = world.approving(&world.closes(&customer.id, true)).await;
    let _ = world.api.settle(&stranger.sends(&customer, "1")).await.good();
    let other = json!({"to_customer_id": customer.id, "asset": "REGIONAL#aoba", "amount": "7"});
    let other = Call::post("/v1/me/transfers", &stranger.who, &other).key(new_key());
    let _ = world.api.settle(&other).await.good();
    let done = world.api.settle(&close).await.good();
    assert_eq!(done.text("/status"), "approved");
    assert!(is_closed(&world, &customer).await);
    assert_eq!(unclaimed(&world, &customer).await, json!({"ECOPAY": "301", "REGIONAL#aoba": "7"}));
    let card = world.card(None, "100").await;
    let close = world.approving(&world.closes_card(&card, true)).await;
    world.adjust(&json!({ "card_id": card }), "credit", "25").await;
    let _ = world.api.settle(&close).await.good();
    assert_eq!(status_of(&world, &format!("/v1/admin/cards/{card}")).await, "closed");
    let _ = world.check_books().await;
}

/// Two grants of the largest amount are more than a request may name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallet_with_more_than_a_request_may_name_is_closed() {
    let world = world("closing-large").await;
    let customer = world.customer().await;
    for _ in 0..2 {
        world.grant(&customer, "POINT", "999999999999999").await;
    }
    let _ = world.executes(&world.closes(&customer.id, true)).await.good();
    assert!(is_closed(&world, &customer).await);
    let _ = world.check_books().await;
}

/// A stack that delivers only what the test delivers.
async fn held_world(name: &str) -> World {
    let world = World::alone(name).await;
    world.hold_deliveries().await;
    world
}

async fn delivers(world: &World, kinds: &[&str], object: &Value) {
    for kind in kinds {
        assert_eq!(world.deliver(kind, object["id"].as_str().expect("an id")).await, 200, "{kind}");
    }
}

#[tokio::test]
async fn topup_refund_that_fails_after_the_close_is_unclaimed_with_its_points() {
    let world = held_world("closing-refund-fails").await;
    let (customer, heir) = (world.customer().await, world.customer().await);
    let topup = world.paid_topup(&customer, "10000").await;
    let _ = world.stripe("/next_refund_status", &json!({"status": "succeeded"})).await;
    let _ = world.api.settle(&topup.refund(&world, "10000")).await.good();
    let _ = world.api.settle(&world.closes(&customer.id, false)).await.good();
    let events = world.api.send(&Call::get("/dev/stripe/events", &Who::Anonymous)).await.good().json();
    let events = events["events"].as_array().expect("events");
    let refund = events.iter().find(|event| event["type"] == "refund.created").expect("a refund");
    let refund = refund["data"]["object"].clone();
    let _ = world.stripe(&format!("/refunds/{}/fail", refund["id"].as_str().expect("an id")), &json!({})).await;
    delivers(&world, &["refund.failed", "refund.updated", "refund.failed"], &refund).await;
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), 10_000.into());
    assert_eq!(books.posted("unclaimed", "POINT"), 500.into());
    let account = format!("customer:{}", customer.id);
    let _ = world.executes(&world.claims(&account, &heir.id, "10000")).await.good();
    assert_eq!(world.balance(&heir, "ECOPAY").await, "10000");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn dispute_reinstated_after_the_close_is_unclaimed_and_one_withdrawn_after_it_needs_review() {
    let world = held_world("closing-disputes").await;
    let customer = world.customer().await;
    let topup = world.paid_topup(&customer, "10000").await;
    let other = world.paid_topup(&customer, "2000").await;
    let dispute = format!("/payment_intents/{}/dispute", topup.intent);
    let dispute = world.stripe(&dispute, &json!({"amount": 8000})).await;
    delivers(&world, &["charge.dispute.funds_withdrawn"], &dispute).await;
    let _ = world.executes(&world.closes(&customer.id, true)).await.good();
    assert_eq!(unclaimed(&world, &customer).await["ECOPAY"], "4000");
    let _ = world.stripe(&format!("/disputes/{}/win", dispute["id"].as_str().expect("an id")), &json!({})).await;
    delivers(&world, &["charge.dispute.funds_reinstated", "charge.dispute.funds_withdrawn"], &dispute).await;
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), 12_000.into());

    let late = format!("/payment_intents/{}/dispute", other.intent);
    let late = world.stripe(&late, &json!({"amount": 2000})).await;
    // An event that contradicts the record is kept, and is not answered as done.
    let id = late["id"].as_str().expect("an id");
    assert_eq!(world.deliver("charge.dispute.funds_withdrawn", id).await, 503);
    let events = world.attention().await["events"].clone();
    assert_eq!(events.as_array().expect("events").len(), 1, "{events}");
    let changes: Vec<_> = world.check_books().await.changes_since(&books).into_keys().collect();
    assert_eq!(changes, [("added", "stripe_event kept".to_owned())], "nothing is taken from a closed wallet");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claim_for_a_closed_customer_is_refused_and_for_an_absent_one_is_not_found() {
    let world = world("closing-claim-opens").await;
    let (account, gone) = (world.unclaimed("300").await, world.unclaimed("1").await);
    let gone = gone.trim_start_matches("customer:").to_owned();
    let refused = world.executes(&world.claims(&account, &gone, "100")).await;
    assert_eq!((refused.status, refused.code().unwrap_or_default().as_str()), (400, "wrong_state"), "{refused:?}");
    let own = world.executes(&world.claims(&account, account.trim_start_matches("customer:"), "100")).await;
    assert_eq!(own.code().unwrap_or_default(), "wrong_state", "{own:?}");
    let nothing = world.executes(&world.claims(&account, &new_id(), "100")).await;
    assert_eq!(nothing.code().unwrap_or_default(), "not_found", "{nothing:?}");
    let _ = world.check_books().await;
}

/// A closed customer's requests are refused as those of a frozen one, and a sender sees one that does not exist.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_customer_is_refused_as_a_frozen_one_and_a_sender_sees_none() {
    let world = world("closing-own-requests").await;
    let (shop, sender) = (world.merchant().await, world.customer_with("300").await);
    let customer = world.customer_with("300").await;
    let code = world.api.settle(&customer.requests_code()).await.good().text("/code");
    let _ = world.executes(&world.closes(&customer.id, true)).await.good();
    let absent = Customer { id: new_id(), who: sender.who.clone() };
    let closed = world.api.settle(&sender.sends(&customer, "50")).await;
    let none = world.api.settle(&sender.sends(&absent, "50")).await;
    assert_eq!(closed.code().unwrap_or_default(), "recipient_unavailable", "{closed:?}");
    assert_eq!((closed.status, closed.code()), (none.status, none.code()), "a sender does not see that it is closed");
    for (call, code) in [
        (shop.charges(&code, "50"), "account_frozen"),
        (customer.pays(&shop, "50"), "account_frozen"),
        (customer.sends(&sender, "50"), "account_frozen"),
        (customer.requests_code(), "account_frozen"),
        (customer.tops_up("1000"), "wrong_state"),
    ] {
        let answer = world.api.settle(&call).await;
        assert_eq!(answer.code().unwrap_or_default(), code, "{answer:?}");
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_customer_keeps_balances_of_zero_and_figures_and_is_given_nothing() {
    let world = world("closing-keeps").await;
    let (shop, customer) = (world.merchant().await, world.customer_with("300").await);
    let paid = world.api.settle(&customer.pays(&shop, "200")).await.good().text("/payment_id");
    let own = Call::get("/v1/me/balances", &customer.who);
    let before = world.api.send(&own).await.good().json();
    let _ = world.executes(&world.closes(&customer.id, true)).await.good();
    let after = world.api.send(&own).await.good().json();
    assert_eq!(after["metrics"], before["metrics"]);
    let path = format!("/v1/admin/customers/{}", customer.id);
    let staff = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    for (list, known) in [(&after["balances"], &before["balances"]), (&staff["balances"], &before["balances"])] {
        let list = list.as_array().expect("balances");
        assert_eq!(list.len(), known.as_array().expect("balances").len(), "{list:?}");
        let is_closed = |of: &Value| of["balance"] == "0" && of["held"] == "0" && of["frozen"] == true;
        assert!(list.iter().all(is_closed), "{list:?}");
    }
    let _ = world.api.settle(&refund(&paid, &shop, "200")).await.good();
    assert_eq!(world.api.send(&own).await.good().json()["metrics"]["refunds"], "1", "counted beside the balance");
    let given = json!({
        "customer_id": customer.id, "direction": "credit", "amount": "10", "reason_code": "opening", "note": "for a test",
    });
    let given = Call::post("/v1/admin/adjustments", &world.operator.who, &given).key(new_key());
    assert_eq!(world.api.settle(&given).await.code().unwrap_or_default(), "wrong_state");
    let points = json!({"customer_id": customer.id, "asset": "POINT", "amount": "10", "reason": "spring campaign"});
    let points = world.executes(&Call::post("/v1/admin/grants", &world.operator.who, &points).key(new_key())).await;
    assert_eq!(points.code().unwrap_or_default(), "wrong_state", "{points:?}");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_raced_against_grants_and_topups_leaves_nothing_in_the_wallet() {
    let world = world("closing-grant-races").await;
    for _ in 0..4 {
        let customer = world.customer_with("300").await;
        let grant = |_| {
            let body =
                json!({"customer_id": customer.id, "asset": "POINT", "amount": "10", "reason": "spring campaign"});
            Call::post("/v1/admin/grants", &world.operator.who, &body).key(new_key())
        };
        let calls: Vec<Call> = (0..3).map(grant).chain([customer.tops_up("1000")]).collect();
        let close = world.approving(&world.closes(&customer.id, true)).await;
        let both = join(join_all(calls.iter().map(|call| world.executes(call))), world.api.settle(&close)).await;
        let (answers, closed) = both;
        let refused = ["approval_stale", "wrong_state"];
        assert!(is_good(&closed) || refused.contains(&closed.code().unwrap_or_default().as_str()), "{closed:?}");
        if is_good(&closed) && is_closed(&world, &customer).await {
            let late = world.executes(&grant(0)).await;
            assert!(!is_good(&late), "{late:?} after {answers:?}");
            assert_eq!(world.balance(&customer, "ECOPAY").await, "0");
        }
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payouts_raced_against_claims_take_no_more_than_is_unclaimed() {
    let world = world("closing-payout-races").await;
    let heir = world.customer().await;
    let account = world.unclaimed("300").await;
    let calls: Vec<Call> = (0..6)
        .map(|at| if at % 2 == 0 { world.pays_out(&account, "100") } else { world.claims(&account, &heir.id, "100") })
        .collect();
    let answers = world.executes_at_once(&calls).await;
    assert_eq!(answers.iter().filter(|answer| is_good(answer)).count(), 3, "{answers:?}");
    let refused = answers.iter().filter(|answer| !is_good(answer));
    assert!(refused.clone().all(|answer| answer.code().as_deref() == Some("insufficient_balance")), "{answers:?}");
    let paid = answers.iter().step_by(2).filter(|answer| is_good(answer)).count();
    assert_eq!(world.balance(&heir, "ECOPAY").await, (100 * (3 - paid)).to_string());
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), 0.into());
    assert_eq!(books.posted("bank", "ECOPAY"), (100 * i64::try_from(paid).unwrap()).into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payout_sent_again_is_recorded_once_and_an_open_account_is_refused() {
    let world = world("closing-payout-once").await;
    let account = world.unclaimed("300").await;
    let call = world.pays_out(&account, "200");
    let first = world.api.settle(&call).await.good();
    assert_eq!(world.api.settle(&call).await.body, first.body, "the stored response is replayed");
    let _ = world.executes(&call).await.good();
    assert_eq!(world.api.settle(&call).await.body, first.body, "the stored response is replayed");
    let more = world.executes(&world.pays_out(&account, "101")).await;
    assert_eq!(more.code().unwrap_or_default(), "insufficient_balance", "{more:?}");
    let open = world.customer_with("300").await;
    let refused = world.executes(&world.pays_out(&format!("customer:{}", open.id), "100")).await;
    assert_eq!(refused.code().unwrap_or_default(), "wrong_state", "{refused:?}");
    let absent = world.api.settle(&world.pays_out(&format!("customer:{}", new_id()), "100")).await;
    assert_eq!(absent.code().unwrap_or_default(), "not_found", "{absent:?}");
    let points = json!({"account": account, "asset": "POINT", "amount": "1", "reason": "transfer 4711"});
    let points = Call::post("/v1/admin/unclaimed/payouts", &world.operator.who, &points).key(new_key());
    let points = world.api.settle(&points).await;
    assert_eq!(points.code().unwrap_or_default(), "invalid_request", "{points:?}");
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), 100.into());
    assert_eq!(books.posted("bank", "ECOPAY"), 200.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payout_where_approvals_are_required_moves_nothing_until_another_person_approves() {
    let world = World::new("closing-payout-approval").await;
    let account = world.unclaimed("300").await;
    let asked = world.api.settle(&world.pays_out(&account, "300")).await.good();
    assert_eq!(asked.status, 202, "{asked:?}");
    assert_eq!(world.check_books().await.posted("bank", "ECOPAY"), 0.into());
    let own = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.operator.who)).await;
    assert_eq!(own.code().unwrap_or_default(), "four_eyes_required");
    let approve = decides("approve", &asked.text("/approval_id"), &world.second.who);
    let _ = world.api.settle(&approve).await.good();
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), 0.into());
    assert_eq!(books.posted("bank", "ECOPAY"), 300.into());
}
