//! The life of an idempotency key: replayed for 90 days (24 hours if Stripe is called), refused for 24 hours, then
//! free; a UUIDv7 is refused for ever. The audit of the rows checks that nothing moves meanwhile.
use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Host, Who, World, host};
use ledger_tests::share;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest difference of clocks.
const SKEW: Duration = Duration::from_secs(5 * 60);

/// A stack whose clock the test sets ahead of the system's.
struct ShiftedStack {
    world: World,
    ahead_s: Arc<AtomicU64>,
}

impl ShiftedStack {
    async fn new(tenant: &str) -> Self {
        let ahead_s = Arc::new(AtomicU64::new(0));
        let (ahead, system) = (Arc::clone(&ahead_s), Clock::system());
        let clock = Clock::from_fn(move || system.now().plus(Duration::from_secs(ahead.load(Ordering::SeqCst))));
        let host =
            Host::with_app(
                |backend| async move { host::app((backend.dynamodb, &backend.table), clock, &backend.stripe) },
            );
        Self { world: World::with_terms(host, tenant, |_| {}).await, ahead_s }
    }

    /// Sets the clock to `time` after the system's.
    fn set_ahead(&self, time: Duration) {
        self.ahead_s.store(time.as_secs(), Ordering::SeqCst);
    }

    /// Sends a request; a terminal signs it by the same clock.
    async fn send(&self, call: &Call) -> Answer {
        let api = &self.world.api;
        match &call.who {
            Who::Terminal(credential) => {
                let ahead = Duration::from_secs(self.ahead_s.load(Ordering::SeqCst));
                let headers = api.signed(call, credential, self.world.app.now().plus(ahead).seconds());
                api.exchange(call, &headers).await.expect("an answer")
            }
            Who::Bearer(_) | Who::Anonymous => api.send(call).await,
        }
    }
}

#[tokio::test]
async fn key_is_replayed_then_refused_then_free() {
    let stack = ShiftedStack::new("expiry").await;
    let world = &stack.world;
    let (customer, merchant) = (world.customer_with("1000").await, world.merchant().await);
    let call = customer.pays(&merchant, "300").key("till-3-receipt-4711");
    let first = world.api.settle(&call).await.good();
    let paid = world.check_books().await;

    for age in [MINUTE, DAY, DAY * 89, DAY * 90 - MINUTE] {
        stack.set_ahead(age);
        let answer = world.api.send(&call).await;
        assert_eq!((answer.stored(), answer.replayed()), (first.stored(), true), "{age:?}");
    }
    for age in [DAY * 90 + MINUTE, DAY * 91 - MINUTE, DAY * 91 + SKEW] {
        stack.set_ahead(age);
        let answer = world.api.send(&call).await.problem(410, "idempotency_key_expired");
        let original = Timestamp::parse(&answer.text("/original_request_at")).expect("a time");
        assert_eq!(original.to_string(), first.text("/created_at"), "{age:?}");
        // Another request under an expired key gets the same error.
        let other = customer.pays(&merchant, "301").key(call.key.clone().unwrap_or_default());
        let _ = world.api.send(&other).await.problem(410, "idempotency_key_expired");
    }
    world.books().await.unchanged_since(&paid, "an expired key moved something");

    // A marker past its TTL counts as deleted before DynamoDB deletes it.
    stack.set_ahead(DAY * 91 + SKEW * 2 + MINUTE);
    let second = world.api.settle(&call).await.good();
    assert!(!second.replayed());
    assert_ne!(second.text("/payment_id"), first.text("/payment_id"));
    assert_eq!(world.api.send(&call).await.stored(), second.stored());
    assert_eq!(world.balance(&customer, "ECOPAY").await, "400");
    assert_eq!(world.books().await.entries_of("pay"), 2);
}

#[tokio::test]
async fn uuidv7_key_is_never_executed_again() {
    let stack = ShiftedStack::new("expiry-v7").await;
    let world = &stack.world;
    let (customer, merchant) = (world.customer_with("1000").await, world.merchant().await);
    let call = customer.pays(&merchant, "300");
    let unused = customer.pays(&merchant, "300");
    let first = world.api.settle(&call).await.good();
    let paid = world.check_books().await;
    // Within the skew before the end of the window it is only looked up, and still replayed.
    for age in [DAY * 89, DAY * 90 - MINUTE] {
        stack.set_ahead(age);
        let answer = world.api.send(&call).await;
        assert_eq!((answer.stored(), answer.replayed()), (first.stored(), true), "{age:?}");
    }
    let _ = world.api.send(&unused).await.problem(410, "idempotency_key_expired");
    for days in [90, 91, 92, 400, 4_000] {
        stack.set_ahead(DAY * days + SKEW * 3);
        for call in [&call, &unused] {
            let _ = world.api.send(call).await.problem(410, "idempotency_key_expired");
        }
    }
    world.books().await.unchanged_since(&paid, "an expired key moved something");
    assert_eq!(world.balance(&customer, "ECOPAY").await, "700");
}

#[tokio::test]
async fn keys_of_every_endpoint_expire() {
    let ShiftedStack { world, ahead_s } = ShiftedStack::new("expiry-all").await;
    let mut stage = Stage::new(world).await;
    for endpoint in share::of_family(Endpoint::ALL) {
        let prepared = endpoint.prepare(&stage).await;
        let call = if endpoint.is_terminals() { prepared.call } else { prepared.call.key(format!("{endpoint:?}-1")) };
        let stack = ShiftedStack { world: stage.world, ahead_s: Arc::clone(&ahead_s) };
        let first = stack.send(&call).await.good();
        let done = stack.world.books().await;
        stack.set_ahead(endpoint.window() - MINUTE);
        let replayed = stack.send(&call).await;
        assert_eq!((replayed.stored(), replayed.replayed()), (first.stored(), true), "{endpoint:?}");
        stack.set_ahead(endpoint.window() + MINUTE);
        let _ = stack.send(&call).await.problem(410, "idempotency_key_expired");
        stack.world.books().await.unchanged_since(&done, "an expired key moved something");
        stack.set_ahead(Duration::ZERO);
        stage = Stage { world: stack.world, ..stage };
    }
    stage.world.check_books().await;
}

/// Stripe forgets its keys after a day, and so does the ledger: a top-up and a refund under keys without a time.
#[tokio::test]
async fn key_of_stripe_operation_expires_after_a_day() {
    let stack = ShiftedStack::new("expiry-psp").await;
    let world = &stack.world;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let topup = customer.tops_up("1000").key("till-3-topup-4711");
    let paid = world.paid_topup(&customer, "5000").await;
    let refund = paid.refund(world, "500").key("desk-1-refund-4711");
    for (call, id) in [(topup, "/topup_id"), (refund, "/refund_id")] {
        stack.set_ahead(Duration::ZERO);
        let first = world.api.settle(&call).await.good();
        let done = world.check_books().await;
        for age in [MINUTE, DAY - MINUTE] {
            stack.set_ahead(age);
            let answer = world.api.send(&call).await;
            assert_eq!((answer.stored(), answer.replayed()), (first.stored(), true), "{age:?}");
        }
        for age in [DAY + MINUTE, DAY * 2 - MINUTE, DAY * 2 + SKEW] {
            stack.set_ahead(age);
            let answer = world.api.send(&call).await.problem(410, "idempotency_key_expired");
            // Counted from when the response was stored, a moment after Stripe's answer.
            let original = Timestamp::parse(&answer.text("/original_request_at")).expect("a time");
            let made = Timestamp::parse(&first.text("/created_at")).expect("a time");
            assert!(original >= made && original <= made.plus(MINUTE), "{original} and {made}");
            let other = call.clone().field("amount", "501");
            let _ = world.api.send(&other).await.problem(410, "idempotency_key_expired");
        }
        world.books().await.unchanged_since(&done, "an expired key moved something");
        stack.set_ahead(DAY * 2 + SKEW * 2 + MINUTE);
        let second = world.api.settle(&call).await.good();
        assert!(!second.replayed() && second.text(id) != first.text(id), "{second:?}");
        assert_eq!(world.api.send(&call).await.stored(), second.stored());
    }
    assert_eq!((world.intents().await, world.balance(&customer, "ECOPAY").await), (3, "4000".to_owned()));
}

/// A UUIDv7 key is refused for ever; one in flight never expires.
#[tokio::test]
async fn uuidv7_key_calls_stripe_once() {
    let stack = ShiftedStack::new("expiry-psp-v7").await;
    let world = &stack.world;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let (call, unused, waiting) = (customer.tops_up("1000"), customer.tops_up("1000"), customer.tops_up("2000"));
    let first = world.api.settle(&call).await.good();
    let lost = json!({"kind": "connection_lost_after", "path_prefix": "/v1/payment_intents", "times": 2});
    let _ = world.stripe("/faults", &lost).await;
    let _ = world.api.send(&waiting).await.problem(503, "outcome_unknown");
    let intents = world.intents().await;
    let done = world.books().await;
    stack.set_ahead(DAY - MINUTE);
    let answer = world.api.send(&call).await;
    assert_eq!((answer.stored(), answer.replayed()), (first.stored(), true));
    for days in [1, 2, 3, 90, 400, 4_000] {
        stack.set_ahead(DAY * days + SKEW * 3);
        for call in [&call, &unused] {
            let _ = world.api.send(call).await.problem(410, "idempotency_key_expired");
        }
    }
    world.books().await.unchanged_since(&done, "an expired key moved something");
    // Too old to be sent again, it is looked up and found.
    stack.set_ahead(DAY * 2 + SKEW * 3);
    let found = world.api.settle(&waiting).await.good();
    assert!(found.replayed(), "{found:?}");
    assert_eq!((world.intents().await, intents), (2, 2), "no second object was made at Stripe");
    world.check_books().await;
}

#[tokio::test]
async fn refusal_expires_with_its_key_and_tombstone_never() {
    let stack = ShiftedStack::new("expiry-refusal").await;
    let world = &stack.world;
    let merchant = world.merchant().await;
    let (customer, card, terminal) =
        (world.customer_with("10").await, world.card(None, "100").await, world.terminal(&merchant).await);
    let poor = customer.pays(&merchant, "11").key("a-key-of-no-age");
    let refused = world.api.settle(&poor).await.problem(400, "insufficient_balance");
    let late = terminal.does("pay", &card, &json!({"amount": "60"}));
    let _ = world.api.settle(&terminal.reverses("card_pay", &late)).await.good();
    world.adjust(&json!({"customer_id": customer.id}), "credit", "100").await;

    stack.set_ahead(DAY * 89);
    assert_eq!(world.api.send(&poor).await.stored(), refused.stored());
    stack.set_ahead(DAY * 90 + MINUTE);
    let _ = world.api.send(&poor).await.problem(410, "idempotency_key_expired");
    stack.set_ahead(DAY * 400);
    assert_eq!(world.api.settle(&poor).await.status, 201);

    let _ = stack.send(&late).await.problem(409, "operation_reversed");
    assert_eq!(world.card_balance(&card).await, "100");
    assert_eq!(world.check_books().await.entries_of("card_pay"), 0);
}

/// The marker of a terminal's operation never expires, so a reversal finds it at any age.
#[tokio::test]
async fn reversal_after_the_window_undoes_what_was_done() {
    let stack = ShiftedStack::new("expiry-reversal").await;
    let world = &stack.world;
    let merchant = world.merchant().await;
    let (card, terminal) = (world.card(None, "100").await, world.terminal(&merchant).await);
    for (round, days) in [89, 90, 92, 400].into_iter().enumerate() {
        stack.set_ahead(Duration::ZERO);
        let paid = terminal.does("pay", &card, &json!({"amount": "60"}));
        let done = stack.send(&paid).await.good();
        let poor = terminal.does("pay", &card, &json!({"amount": "61"}));
        let _ = stack.send(&poor).await.problem(400, "insufficient_balance");
        assert_eq!(world.card_balance(&card).await, "40");

        stack.set_ahead(DAY * days + SKEW * 3);
        if days >= 90 {
            let _ = stack.send(&paid).await.problem(410, "idempotency_key_expired");
        }
        let reversed = stack.send(&terminal.reverses("card_pay", &paid)).await.good();
        assert_eq!(reversed.text("/outcome"), "undone", "{days} days: {reversed:?}");
        assert_eq!(reversed.text("/original_transaction_id"), done.text("/transaction_id"));
        let nothing = stack.send(&terminal.reverses("card_pay", &poor)).await.good();
        assert_eq!(nothing.text("/outcome"), "nothing_moved", "{days} days: {nothing:?}");
        let again = stack.send(&terminal.reverses("card_pay", &paid)).await.good();
        assert_eq!(again.text("/outcome"), "already_reversed");
        let _ = stack.send(&paid).await.problem(409, "operation_reversed");
        assert_eq!(world.card_balance(&card).await, "100");
        assert_eq!(world.check_books().await.entries_of("card_reverse"), round + 1);
    }
}

#[tokio::test]
async fn operation_lookup_follows_the_keys_window() {
    let stack = ShiftedStack::new("expiry-lookup").await;
    let world = &stack.world;
    let (customer, merchant) = (world.customer_with("1000").await, world.merchant().await);
    let call = customer.pays(&merchant, "300").key("looked-up");
    let path = "/v1/me/operations/pay?key=looked-up";
    let state = async |expected: &str| {
        let found = world.api.send(&Call::get(path, &customer.who)).await.good();
        assert_eq!(found.text("/state"), expected);
        found
    };
    let _ = state("not_known_yet").await;
    let answer = world.api.settle(&call).await.good();
    let found = state("done").await;
    assert_eq!((found.json()["answer"].clone(), found.json()["status"].clone()), (answer.json(), json!(201)));
    stack.set_ahead(DAY * 90 + MINUTE);
    let _ = state("expired").await;
    stack.set_ahead(DAY * 92);
    let _ = state("not_known_yet").await;
}

#[tokio::test]
async fn one_time_codes_expire_and_are_used_once() {
    let stack = ShiftedStack::new("expiry-codes").await;
    let world = &stack.world;
    let (customer, merchant) = (world.customer_with("1000").await, world.merchant().await);
    let code = async || {
        let issue = Call::post("/v1/me/payment-code", &customer.who, &json!({})).key(new_key());
        world.api.settle(&issue).await.good().text("/code")
    };
    let charge = |code: &str, key: &str| {
        Call::post("/v1/merchant/charges", &merchant.who, &json!({"code": code, "amount": "10"})).key(key)
    };
    let old = code().await;
    stack.set_ahead(MINUTE * 5 + Duration::from_secs(1));
    let _ = world.api.settle(&charge(&old, "k1")).await.problem(400, "wrong_state");
    let replaced = code().await;
    let good = code().await;
    let _ = world.api.settle(&charge(&replaced, "k2")).await.problem(404, "not_found");
    stack.set_ahead(MINUTE * 9);
    let _ = world.api.settle(&charge(&good, "k3")).await.good();
    let _ = world.api.settle(&charge(&good, "k4")).await.problem(400, "wrong_state");
    assert_eq!(world.balance(&customer, "ECOPAY").await, "990");
    world.check_books().await;
}
