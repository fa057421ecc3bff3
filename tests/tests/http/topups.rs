//! Top-ups through Stripe over HTTP: scenarios 1 and 7 of DOMAIN.md, the customer's view, cancellation, and refusals
//! before Stripe is called.
use futures::future::join_all;
use ledger_core::ids::Tenant;
use ledger_runtime::clock::Clock;
use ledger_runtime::topups::Recovered;
use ledger_tests::cloud::gate;
use ledger_tests::http::stripe::Topup;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Host, World, host};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A new stack that delivers only what the test delivers.
async fn quiet(tenant: &str) -> (Arc<Host>, World) {
    let host = Host::fresh();
    let world = World::with_terms(Arc::clone(&host), tenant, |_| {}).await;
    world.hold_deliveries().await;
    (host, world)
}

/// Runs the recovery worker with a clock `ahead` of the system's.
async fn recover_after(host: &Host, world: &World, ahead: Duration) -> Recovered {
    let (stack, system) = (host.stack(), Clock::system());
    let clock = Clock::from_fn(move || system.now().plus(ahead));
    let (app, _) =
        host::app((host::functions_client(stack.dynamodb_url()).await, stack.table()), clock, stack.stripe());
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    gate::as_function("outbox", outbox::run_due(&app, &tenant)).await.expect("the run succeeds")
}

/// The available and the reserved money.
async fn money(world: &World, customer: &Customer) -> (String, String) {
    let wallet = world.wallet(customer, "ECOPAY").await;
    let reserved = wallet["reserved"].as_str().unwrap_or("0").to_owned();
    (wallet["balance"].as_str().expect("a balance").to_owned(), reserved)
}

fn amounts(balance: &str, reserved: &str) -> (String, String) {
    (balance.to_owned(), reserved.to_owned())
}

async fn own_view(world: &World, customer: &Customer, topup: &Topup) -> Value {
    world.api.send(&Call::get(&format!("/v1/me/topups/{}", topup.id), &customer.who)).await.good().json()
}

/// Scenario 1: `payment_intent.succeeded` three times, and once more under another event's id.
#[tokio::test]
async fn repeated_payment_events_credit_once() {
    let (_host, world) = quiet("scenario-1").await;
    let customer = world.customer().await;
    let topup = world.topup(&customer, "10000").await;
    let answer = topup.answer.json();
    assert_eq!((&answer["status"], &answer["amount"]), (&json!("pending"), &json!("10000")), "{answer}");
    assert!(topup.answer.text("/client_secret").starts_with(&format!("{}_secret_", topup.intent)), "{answer}");
    assert_eq!(topup.answer.header("location"), Some(format!("/v1/me/topups/{}", topup.id).as_str()));
    assert_eq!(money(&world, &customer).await, amounts("0", "10000"));
    let view = own_view(&world, &customer, &topup).await;
    assert_eq!((&view["status"], &view["points"]), (&json!("pending"), &json!("500")), "{view}");
    assert!(view.get("client_secret").is_none(), "the client secret is returned only once: {view}");

    let _ = world.stripe(&format!("/payment_intents/{}/succeed", topup.intent), &json!({})).await;
    let event = world.stripe_event("payment_intent.succeeded", &topup.intent).await;
    let path = format!("/events/{}/deliver", event["id"].as_str().expect("an id"));
    for options in [json!({"repeats": 2}), json!({"as_another_event": true})] {
        let attempts = world.stripe(&path, &options).await;
        let attempts = attempts["attempts"].as_array().expect("attempts");
        assert!(attempts.iter().all(|attempt| attempt["status"] == 200), "{attempts:?}");
    }
    assert_eq!(money(&world, &customer).await, amounts("10000", "0"));
    assert_eq!(world.balance(&customer, "POINT").await, "500");
    let books = world.check_books().await;
    assert_eq!(books.entries_of("topup"), 1);
    assert_eq!(books.posted("stripe_clearing", "ECOPAY"), (-10_000).into());
    assert_eq!(books.posted("points_issued", "POINT"), (-500).into());

    let view = own_view(&world, &customer, &topup).await;
    assert_eq!((&view["status"], &view["refundable"]), (&json!("succeeded"), &json!("10000")), "{view}");
    let history = world.api.send(&Call::get("/v1/me/transactions", &customer.who)).await.good().json();
    let [line] = history["items"].as_array().expect("items").as_slice() else { panic!("one line: {history}") };
    assert_eq!((&line["operation"], &line["topup_id"]), (&json!("topup"), &json!(topup.id)), "{line}");
    assert_eq!(line["changes"], json!({"ECOPAY": "10000", "POINT": "500"}), "{line}");
    let one =
        Call::get(&format!("/v1/me/transactions/{}", line["transaction_id"].as_str().expect("an id")), &customer.who);
    assert_eq!(world.api.send(&one).await.good().text("/topup_id"), topup.id);
    // The stored response is the one from before the payment.
    let again = world.api.send(&topup.call).await;
    assert_eq!((again.stored(), again.replayed()), (topup.answer.stored(), true));
    let key = topup.call.key.as_deref().expect("a key");
    let found = world.api.send(&Call::get(&format!("/v1/me/operations/topup/{key}"), &customer.who)).await.good();
    assert_eq!((found.text("/state"), found.json()["answer"].clone()), ("done".to_owned(), answer));
}

/// Scenario 7: cap 50,000, balance 45,000, two concurrent top-ups of 5,000, in several rounds.
#[tokio::test]
async fn concurrent_topups_with_headroom_for_one_reserve_once() {
    let (host, world) = quiet("scenario-7").await;
    let merchant = world.merchant().await;
    let mut waiting = Vec::new();
    for round in 1..=5 {
        let customer = world.customer_with("45000").await;
        let calls = [customer.tops_up("5000"), customer.tops_up("5000")];
        let mut answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        answers.sort_by_key(|answer| answer.status);
        let [made, refused] = <[_; 2]>::try_from(answers).expect("two answers");
        assert_eq!(made.status, 201, "{made:?}");
        let _ = refused.problem(400, "cap_exceeded");
        assert_eq!(world.intents().await, round, "a refused top-up must not be made at Stripe");
        assert_eq!(money(&world, &customer).await, amounts("45000", "5000"));
        waiting.push((customer, made.text("/topup_id")));
    }
    let (customer, topup) = &waiting[0];
    let _ = world.api.settle(&customer.tops_up("50")).await.problem(400, "cap_exceeded");
    // The reservation is headroom, not money: other credits cannot use it, and the balance can be spent.
    let friend = world.customer_with("100").await;
    let _ = world.api.settle(&friend.sends(customer, "100")).await.problem(400, "recipient_unavailable");
    let _ = world.api.settle(&customer.pays(&merchant, "45001")).await.problem(400, "insufficient_balance");
    let _ = world.api.settle(&customer.pays(&merchant, "100")).await.good();
    let _ = world.api.settle(&friend.sends(customer, "100")).await.good();
    world.check_books().await;

    // The top-ups stay unpaid. Headroom is released only when Stripe confirms the cancellation.
    let cancel = json!({"kind": "connection_lost_before", "path_prefix": "/v1/payment_intents", "times": 100});
    let _ = world.stripe("/faults", &cancel).await;
    assert_eq!(recover_after(&host, &world, HOUR * 2).await.checked, waiting.len());
    for (customer, _) in &waiting {
        assert_eq!(money(&world, customer).await, amounts("45000", "5000"));
    }
    let clear = Call::new(reqwest::Method::DELETE, "/dev/stripe/faults", &ledger_tests::http::Who::Anonymous);
    let _ = world.api.send(&clear).await.good();
    assert_eq!(
        recover_after(&host, &world, HOUR * 2).await.checked,
        0,
        "a top-up is checked again only when it is due"
    );
    assert_eq!(recover_after(&host, &world, HOUR * 3).await.checked, waiting.len());
    for (customer, topup) in &waiting {
        assert_eq!(money(&world, customer).await, amounts("45000", "0"));
        assert_eq!(world.topup_view(topup).await["status"], "canceled");
    }
    assert_eq!(recover_after(&host, &world, HOUR * 9).await, Recovered::default());
    let next = world.paid_topup(customer, "5000").await;
    assert_ne!(next.id, *topup);
    assert_eq!(money(&world, customer).await, amounts("50000", "0"));
    world.check_books().await;
}

/// The worker tries to cancel a paid top-up: Stripe refuses, and it is credited. The event arrives later.
#[tokio::test]
async fn paid_topup_without_event_is_credited_by_recovery() {
    let (host, world) = quiet("unheard").await;
    let customer = world.customer().await;
    let topup = world.topup(&customer, "3000").await;
    let _ = world.stripe(&format!("/payment_intents/{}/succeed", topup.intent), &json!({})).await;
    assert_eq!(recover_after(&host, &world, HOUR * 2).await.checked, 1);
    assert_eq!(money(&world, &customer).await, amounts("3000", "0"));
    let before = world.check_books().await;
    assert_eq!(world.deliver("payment_intent.succeeded", &topup.intent).await, 200);
    assert_eq!(world.deliver("payment_intent.created", &topup.intent).await, 200);
    world.books().await.unchanged_since(&before, "an event behind our record moved something");
}

/// A customer cancels a top-up: its headroom is free once Stripe has confirmed it.
#[tokio::test]
async fn canceled_topup_releases_headroom_when_stripe_confirms() {
    let (host, world) = quiet("own-cancel").await;
    let (customer, other) = (world.customer().await, world.customer().await);
    let (topup, kept) = (world.topup(&customer, "30000").await, world.topup(&customer, "20000").await);
    assert_eq!(recover_after(&host, &world, Duration::ZERO).await.checked, 0);
    for stranger in [&other.who, &world.operator.who] {
        let refused = world.api.send(&topup.cancel(&customer).by(stranger)).await;
        assert!([401, 404].contains(&refused.status), "{refused:?}");
    }
    let call = topup.cancel(&customer);
    let answers = join_all((0..8).map(|_| world.api.settle(&call))).await;
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.stored() == answers[0].stored()), "{answers:?}");
    let again = world.api.settle(&topup.cancel(&customer)).await.good().json();
    assert_eq!(again, answers[0].json(), "a second key changes nothing");
    assert_eq!(again["status"], "pending");
    assert_eq!(money(&world, &customer).await, amounts("0", "50000"), "Stripe may still be paid");

    assert_eq!(recover_after(&host, &world, Duration::ZERO).await.checked, 1);
    assert_eq!(money(&world, &customer).await, amounts("0", "20000"));
    assert_eq!(own_view(&world, &customer, &topup).await["status"], "canceled");
    let over = world.api.settle(&topup.cancel(&customer)).await.good().json();
    assert_eq!(over["status"], "canceled");
    world.pay(&kept).await;
    let _ = world.api.settle(&kept.cancel(&customer)).await.problem(400, "wrong_state");
    world.check_books().await;
}

/// The PaymentIntent is paid before its cancellation reaches Stripe: the wallet is credited once.
#[tokio::test]
async fn canceled_topup_that_was_paid_is_credited() {
    let (host, world) = quiet("own-cancel-paid").await;
    let customer = world.customer().await;
    let topup = world.topup(&customer, "3000").await;
    let _ = world.stripe(&format!("/payment_intents/{}/succeed", topup.intent), &json!({})).await;
    let _ = world.api.settle(&topup.cancel(&customer)).await.good();
    assert_eq!(recover_after(&host, &world, Duration::ZERO).await.checked, 1);
    assert_eq!(money(&world, &customer).await, amounts("3000", "0"));
    assert_eq!(world.deliver("payment_intent.succeeded", &topup.intent).await, 200);
    assert_eq!(money(&world, &customer).await, amounts("3000", "0"));
    assert_eq!(world.check_books().await.entries_of("topup"), 1);
}

/// A declined payment leaves the top-up open; a cancellation ends it.
#[tokio::test]
async fn declined_payment_keeps_and_cancellation_releases_headroom() {
    let (_host, world) = quiet("declined").await;
    let customer = world.customer().await;
    let topup = world.topup(&customer, "1000").await;
    let canceled = world.topup(&customer, "2000").await;
    assert_eq!(money(&world, &customer).await, amounts("0", "3000"));
    let _ = world.stripe(&format!("/payment_intents/{}/fail", topup.intent), &json!({})).await;
    assert_eq!(world.deliver("payment_intent.payment_failed", &topup.intent).await, 200);
    assert_eq!(money(&world, &customer).await, amounts("0", "3000"));
    assert_eq!(world.topup_view(&topup.id).await["status"], "pending");

    let _ = world.stripe(&format!("/payment_intents/{}/cancel", canceled.intent), &json!({})).await;
    assert_eq!(world.deliver("payment_intent.canceled", &canceled.intent).await, 200);
    assert_eq!(money(&world, &customer).await, amounts("0", "1000"));
    assert_eq!(world.deliver("payment_intent.canceled", &canceled.intent).await, 200);
    assert_eq!(world.topup_view(&canceled.id).await["status"], "canceled");

    world.pay(&topup).await;
    assert_eq!(money(&world, &customer).await, amounts("1000", "0"));
    // A canceled top-up cannot be refunded, and its key does not start another.
    let _ = world.api.settle(&canceled.refund(&world, "1")).await.problem(400, "wrong_state");
    let again = world.api.send(&canceled.call).await;
    assert_eq!((again.stored(), again.replayed()), (canceled.answer.stored(), true));
    world.check_books().await;
}

/// Simulator, gateway and webhook without the test's help, as on a laptop; a frozen wallet is credited too.
#[tokio::test]
async fn paid_topup_is_credited_by_the_local_stack() {
    let world = World::new("by-itself").await;
    let (customer, frozen) = (world.customer().await, world.customer().await);
    let (topup, other) = (world.topup(&customer, "1000").await, world.topup(&frozen, "1019").await);
    world.change(&format!("/v1/admin/customers/{}", frozen.id), &json!({"status": "frozen", "reason": "lost"})).await;
    for topup in [&topup, &other] {
        let _ = world.stripe(&format!("/payment_intents/{}/succeed", topup.intent), &json!({})).await;
        world.until_topup(&topup.id, "succeeded").await;
    }
    assert_eq!(money(&world, &frozen).await, amounts("1019", "0"));
    assert_eq!(world.balance(&frozen, "POINT").await, "50", "five in a hundred, rounded down");
    world.check_books().await;
}

/// An invalid amount or one above the cap, and an unknown customer, never reach Stripe.
#[tokio::test]
async fn refused_topup_is_never_made_at_stripe() {
    let (_host, world) = quiet("refused").await;
    let customer = world.customer().await;
    let before = world.books().await;
    for amount in ["0", "-1", "0.5", "100.50", "1e3", "1000000000000000", "99999999999999999999999", "", "many"] {
        let answer = world.api.send(&customer.tops_up(amount)).await.problem(400, "invalid_request");
        assert_eq!(answer.text("/field"), "amount", "{amount}");
    }
    for wrong in
        [json!({}), json!({"amount": "100", "customer_id": new_id()}), json!({"amount": "100", "asset": "POINT"})]
    {
        let call = customer.tops_up("100").json(&wrong);
        let _ = world.api.send(&call).await.problem(400, "invalid_request");
    }
    world.books().await.unchanged_since(&before, "an invalid request left something");
    let above = customer.tops_up("50001");
    let refused = world.api.settle(&above).await.problem(400, "cap_exceeded");
    let again = world.api.send(&above).await;
    assert_eq!((again.stored(), again.replayed()), (refused.stored(), true));
    assert_eq!(money(&world, &customer).await, amounts("0", "0"));
    // A token of a customer without a wallet.
    let id = new_id();
    let unknown = Customer { who: world.token("customer", &id, None).await, id };
    let _ = world.api.settle(&unknown.tops_up("100")).await.problem(404, "not_found");
    assert_eq!(world.intents().await, 0);
    world.check_books().await;
}

/// Stripe's refusal is the stored response, and the headroom is released.
#[tokio::test]
async fn stripe_refusal_is_stored_and_releases_headroom() {
    let (_host, world) = quiet("psp-refuses").await;
    let customer = world.customer_with("49990").await;
    let small = customer.tops_up("10");
    let refused = world.api.settle(&small).await.problem(400, "psp_refused");
    assert_eq!(refused.text("/psp_code"), "amount_too_small");
    assert_eq!(money(&world, &customer).await, amounts("49990", "0"));
    let again = world.api.send(&small).await;
    assert_eq!((again.stored(), again.replayed()), (refused.stored(), true));
    let _ =
        world.api.send(&small.clone().field("amount", "50")).await.problem(422, "idempotency_key_fingerprint_mismatch");
    assert_eq!(world.intents().await, 0);
    let key = small.key.as_deref().expect("a key");
    let found = world.api.send(&Call::get(&format!("/v1/me/operations/topup/{key}"), &customer.who)).await.good();
    assert_eq!((found.text("/state"), found.json()["status"].clone()), ("done".to_owned(), json!(400)));
    assert_eq!(world.check_books().await.entries_of("topup"), 0);
}

/// Stripe is slow: other requests with the key wait and get the same response; after five seconds they get 409.
#[tokio::test]
async fn concurrent_requests_wait_for_the_first_response() {
    let (_host, world) = quiet("meanwhile").await;
    let customer = world.customer().await;
    let fault = |kind: &str| json!({"kind": kind, "method": "POST", "path_prefix": "/v1/payment_intents"});
    let mut slow = fault("latency");
    slow["latency_ms"] = json!(1500);
    let _ = world.stripe("/faults", &slow).await;
    let call = customer.tops_up("1000");
    let answers = join_all((0..8).map(|_| world.api.send(&call))).await;
    assert_eq!(answers.iter().filter(|answer| !answer.replayed()).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.stored() == answers[0].stored() && answer.status == 201), "{answers:?}");

    let _ = world.stripe("/faults", &fault("held")).await;
    let call = customer.tops_up("2000");
    let second = async {
        while money(&world, &customer).await != amounts("0", "3000") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let other = call.clone().field("amount", "2001");
        let _ = world.api.send(&other).await.problem(422, "idempotency_key_fingerprint_mismatch");
        let refused = world.api.send(&call).await.problem(409, "idempotency_key_in_use");
        assert!(refused.json()["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0), "{refused:?}");
        let _ = world.stripe("/faults/release", &json!({})).await;
    };
    let (first, ()) = tokio::join!(world.api.send(&call), second);
    assert_eq!((first.status, first.replayed()), (201, false), "{first:?}");
    let again = world.api.send(&call).await;
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    assert_eq!(world.intents().await, 2);
    world.check_books().await;
}

#[tokio::test]
async fn tenant_without_topups_refuses_them() {
    let world = World::with_terms(Host::fresh(), "not-offered", |terms| terms.topup = None).await;
    let customer = world.customer().await;
    let before = world.books().await;
    let answer = world.api.send(&customer.tops_up("100")).await.problem(400, "invalid_request");
    assert!(answer.text("/detail").contains("not offered"), "{answer:?}");
    world.books().await.unchanged_since(&before, "a refused top-up left something");
    assert_eq!(world.intents().await, 0);
}

/// Only the customer and the operator can read a top-up, and only the operator can refund it.
#[tokio::test]
async fn topup_is_visible_to_its_customer_and_the_operator() {
    let (_host, world) = quiet("visibility").await;
    let (customer, neighbour, merchant) = (world.customer().await, world.customer().await, world.merchant().await);
    let topup = world.paid_topup(&customer, "1000").await;
    let path = format!("/v1/me/topups/{}", topup.id);
    let _ = world.api.send(&Call::get(&path, &neighbour.who)).await.problem(404, "not_found");
    for who in [&merchant.who, &world.operator.who] {
        let _ = world.api.send(&Call::get(&path, who)).await.problem(401, "unauthenticated");
        let _ = world.api.send(&customer.tops_up("100").by(who)).await.problem(401, "unauthenticated");
    }
    let (refund, admin) = (topup.refund(&world, "100"), format!("/v1/admin/topups/{}", topup.id));
    for who in [&customer.who, &neighbour.who, &merchant.who] {
        let _ = world.api.send(&refund.clone().by(who)).await.problem(401, "unauthenticated");
        let _ = world.api.send(&Call::get(&admin, who)).await.problem(401, "unauthenticated");
        let _ = world.api.send(&Call::get("/v1/admin/attention", who)).await.problem(401, "unauthenticated");
    }
    // A key is scoped to its principal: another customer's request under it is another request.
    let key = topup.call.key.clone().expect("a key");
    let theirs = world.api.settle(&neighbour.tops_up("1000").key(key)).await.good();
    assert!(!theirs.replayed() && theirs.text("/topup_id") != topup.id, "{theirs:?}");
    assert_eq!(world.api.settle(&refund.key(new_key())).await.status, 201);
    world.check_books().await;
}
