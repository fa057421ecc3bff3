//! Mutated requests against every endpoint, from a fixed seed: never a 500, always JSON with a known code, and books
//! that balance.
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::stripe::signed;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World};
use ledger_tests::share;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ROUNDS: usize = 40;
const SEED: u64 = 0x00ec_0fa7_2026_1121;

/// Every code that a client may get here.
const CODES: [&str; 39] = [
    "account_frozen",
    "already_exists",
    "approval_expired",
    "approval_stale",
    "body_too_large",
    "busy",
    "cap_exceeded",
    "cash_not_outstanding",
    "cash_room_exceeded",
    "four_eyes_required",
    "idempotency_key_expired",
    "idempotency_key_fingerprint_mismatch",
    "idempotency_key_in_use",
    "budget_exceeded",
    "idempotency_key_invalid",
    "idempotency_key_missing",
    "insufficient_balance",
    "invalid_request",
    "limit_exceeded",
    "method_not_allowed",
    "not_at_counter",
    "not_found",
    "operation_reversed",
    "outcome_unknown",
    "over_refund",
    "permission_missing",
    "pin_locked",
    "pin_required",
    "pin_wrong",
    "psp_refused",
    "recipient_unavailable",
    "refund_room_exceeded",
    "reversal_too_late",
    "signature_expired",
    "signature_invalid",
    "unauthenticated",
    "unsupported_media_type",
    "wrong_face",
    "wrong_state",
];

/// JSON texts that replace a value.
const VALUES: [&str; 28] = [
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e309",
    "123456789012345",
    "1",
    "\"1\"",
    "\"100\"",
    "\"\"",
    "\" \"",
    "[]",
    "{}",
    "[null]",
    "{\"a\":{\"b\":[1,2,{}]}}",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\u{1f4b4}\"",
    "\"ECOPAY\"",
    "\"REGIONAL#\"",
    "\"REGIONAL#aoba\"",
    "\"active\"",
    "\"01890a5d-ac96-774b-bcce-b302099a8001\"",
    "\"demo#customer#x\"",
    "\"epc_AAAA\"",
    "\"4242424242424242\"",
    "99999999999999999999999999999999999999999999999999999999999999",
];

/// Path segments and queries.
const SEGMENTS: [&str; 12] = [
    "x",
    "%00",
    "%2e%2e",
    "%FF",
    "..%2F..",
    "01890a5d-ac96-774b-bcce-b302099a8001",
    "%F0%9F%92%B4",
    "pay",
    "{id}",
    "*",
    "a%23b",
    "0",
];

/// SplitMix64: the seed reproduces each mutation.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % (sides as u64)).expect("small")
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.throw(from.len())]
    }
}

/// Mutates a request in one way.
fn mutate(dice: &mut Dice, call: &Call, others: &[Who]) -> Call {
    let body = call.body.clone().unwrap_or_default();
    let fields: Value = serde_json::from_str(&body).expect("the body is JSON");
    let names: Vec<String> = fields.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    let name = if names.is_empty() { "amount".to_owned() } else { names[dice.throw(names.len())].clone() };
    match dice.throw(12) {
        0..=3 => {
            let marked = call.clone().field(&name, "<here>").body.unwrap_or_default();
            call.clone().raw(marked.replace("\"<here>\"", dice.pick(&VALUES)))
        }
        4 => {
            let mut fields = fields.clone();
            let _ = fields.as_object_mut().and_then(|fields| fields.remove(&name));
            call.clone().json(&fields)
        }
        5 => call.clone().raw(body.replacen('{', &format!("{{\"{name}\":{},", dice.pick(&VALUES)), 1)),
        6 => {
            let mut bytes = body.into_bytes();
            let at = dice.throw(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = b"\"{}[],:\\ 0\x7f"[dice.throw(11)];
            }
            call.clone().raw(String::from_utf8_lossy(&bytes).into_owned())
        }
        7 => {
            let end = dice.throw(body.len().max(1));
            call.clone().raw(body.get(..end).unwrap_or_default())
        }
        8 => {
            let mut segments: Vec<&str> = call.path.split('/').collect();
            let at = 1 + dice.throw(segments.len() - 1);
            segments[at] = dice.pick(&SEGMENTS);
            call.clone().at(segments.join("/"))
        }
        9 => call.clone().at(format!("{}?{}={}", call.path, dice.pick(&SEGMENTS), dice.pick(&SEGMENTS))),
        10 => {
            let long = "k".repeat(300);
            call.clone().key(dice.pick(&["", " ", "a,b", "\"", "\"a\";", "(a b)", "?1", ":AA==:", "k", long.as_str()]))
        }
        _ if dice.throw(2) == 0 => call.clone().by(&others[dice.throw(others.len())]),
        _ => {
            let methods = [Method::GET, Method::PUT, Method::PATCH, Method::DELETE, Method::POST];
            Call { method: methods[dice.throw(5)].clone(), ..call.clone() }
        }
    }
}

/// Asserts that an answer is well-formed.
fn assert_well_formed(call: &Call, answer: &Answer) {
    let of = || format!("{call:?}: {answer:?}");
    assert!(answer.status < 500, "{}", of());
    // The gateway answers by itself, in its own form, if a path has a malformed escape.
    let gateway = answer.status == 400 && call.path.contains('%') && answer.code().is_none();
    let expected = if answer.status < 400 || gateway { "application/json" } else { "application/problem+json" };
    assert_eq!(answer.header("content-type"), Some(expected), "{}", of());
    let json: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{}", of()));
    if answer.status >= 400 && !gateway {
        let code = json["code"].as_str().unwrap_or_default();
        assert!(CODES.contains(&code), "{}", of());
        assert_eq!(json["status"], json!(answer.status), "{}", of());
    }
}

#[tokio::test]
async fn mutated_requests_never_give_a_500() {
    let stage = Stage::new(World::alone("fuzz").await).await;
    let world = &stage.world;
    let customer = world.customer_with("1000").await;
    let others = [
        Who::Anonymous,
        Who::Bearer("x".to_owned()),
        customer.who.clone(),
        stage.merchant.who.clone(),
        world.operator.who.clone(),
        stage.terminal.who.clone(),
        // Signed in at the client of an API where the person has no record or wallet.
        world.token("merchant", &customer.id, Some(&stage.merchant.id)).await,
        world.token("customer", &world.operator.id, None).await,
        world.token("admin", &customer.id, None).await,
    ];
    let mut dice = Dice(SEED);
    let mut counts = BTreeMap::<String, usize>::new();
    let endpoints = share::of_family(Endpoint::ALL);
    for endpoint in &endpoints {
        let call = endpoint.prepare(&stage).await.call;
        for _ in 0..ROUNDS {
            let fresh = endpoint.new_key(&stage);
            let mut mutated = mutate(&mut dice, &call.clone().key(fresh), &others);
            if dice.throw(8) == 0 {
                mutated = mutate_again(&mut dice, &mutated, &others);
            }
            // A request that no HTTP client can send is skipped.
            let Ok(answer) = world.api.try_send(&mutated).await else { continue };
            assert_well_formed(&mutated, &answer);
            *counts.entry(answer.code().unwrap_or_else(|| answer.status.to_string())).or_default() += 1;
        }
    }
    world.check_books().await;
    // The mutations reach the handlers: refusals of many kinds, and some successes.
    let kinds =
        ["invalid_request", "not_found", "method_not_allowed", "permission_missing", "idempotency_key_invalid", "201"];
    for kind in kinds {
        assert!(counts.contains_key(kind), "no answer was {kind}: {counts:?}");
    }
    assert!(counts.values().sum::<usize>() > endpoints.len() * ROUNDS * 9 / 10, "{counts:?}");
}

/// The pointers of all values within a JSON value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    if let Value::Object(members) = value {
        for (name, member) in members {
            let at = format!("{at}/{name}");
            pointers(member, &at, found);
            found.push(at);
        }
    }
}

/// Signed events with any value in any place: each takes effect, or has none, or is kept for review.
#[tokio::test]
async fn mutated_events_are_applied_once_or_refused() {
    let stage = Stage::new(World::alone("fuzz-events").await).await;
    let world = &stage.world;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let (waiting, paid) = (world.topup(&customer, "1000").await, world.paid_topup(&customer, "5000").await);
    let _ = world.stripe("/next_refund_status", &json!({"status": "pending", "times": 1})).await;
    let _ = world.api.settle(&paid.refund(world, "2000")).await.good();
    let made = world.stripe(&format!("/payment_intents/{}/refund", paid.intent), &json!({"amount": 500})).await;
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", paid.intent), &json!({"amount": 700})).await;
    let id = |object: &Value| object["id"].as_str().expect("an id").to_owned();
    let all = world.api.send(&Call::get("/dev/stripe/events", &Who::Anonymous)).await.good().json();
    let refund = all["events"].as_array().expect("events").iter().find(|event| event["type"] == "refund.created");
    let events = [
        world.paid_event(&waiting.id, &waiting.intent, 1000),
        world.stripe_event("payment_intent.succeeded", &paid.intent).await,
        refund.expect("a refund").clone(),
        world.stripe_event("refund.created", &id(&made)).await,
        world.stripe_event("charge.dispute.funds_withdrawn", &id(&dispute)).await,
    ];
    // The clawbacks and their amounts are known.
    for event in &events[3..] {
        assert_eq!(world.webhook(event).await.good().text("/status"), "applied");
    }
    let mut dice = Dice(SEED);
    let mut counts = BTreeMap::<String, usize>::new();
    for round in 0..ROUNDS * 12 {
        let mut event = events[dice.throw(events.len())].clone();
        event["id"] = json!(format!("evt_fuzz_{round}"));
        let mut places = Vec::new();
        pointers(&event, "", &mut places);
        // Another id would be another dispute or refund, and take more money.
        let is_intent = event["data"]["object"]["object"] == "payment_intent";
        places.retain(|place| is_intent || place != "/data/object/id");
        for _ in 0..=dice.throw(2) {
            let place = &places[dice.throw(places.len())];
            if let Some(there) = event.pointer_mut(place) {
                *there = json!(format!("<{}>", dice.throw(VALUES.len())));
            }
        }
        let text = VALUES
            .iter()
            .enumerate()
            .fold(event.to_string(), |text, (at, value)| text.replace(&format!("\"<{at}>\""), value));
        let answer = world.api.send(&signed(&text)).await;
        let code = answer.code().unwrap_or_else(|| answer.text("/status"));
        let expected = match answer.status {
            200 => &["applied", "repeated", "behind", "foreign", "ignored"][..],
            400 => &["invalid_request"],
            503 => &["event_kept", "outcome_unknown"],
            _ => &[],
        };
        assert!(expected.contains(&code.as_str()), "{text}: {answer:?}");
        *counts.entry(code).or_default() += 1;
    }
    world.check_books().await;
    for kind in ["applied", "behind", "foreign", "ignored", "invalid_request", "event_kept"] {
        assert!(counts.contains_key(kind), "no answer was {kind}: {counts:?}");
    }
    // Each took effect once: the paid amounts less those taken by disputes and at the dashboard.
    for event in &events {
        let _ = world.webhook(event).await.good();
    }
    let wallet = world.wallet(&customer, "ECOPAY").await;
    assert_eq!((&wallet["balance"], &wallet["held"]), (&json!("2800"), &json!("2000")), "{counts:?}");
    let books = world.check_books().await;
    assert_eq!((books.entries_of("topup"), books.entries_of("clawback")), (2, 2), "{counts:?}");
}

/// A second mutation, of anything but the body, which may no longer be JSON.
fn mutate_again(dice: &mut Dice, call: &Call, others: &[Who]) -> Call {
    match dice.throw(3) {
        0 => call.clone().key(dice.pick(&["k", "", "\"\u{7f}\""])),
        1 => call.clone().by(&others[dice.throw(others.len())]),
        _ => call.clone().header("idempotency-key", new_key()),
    }
}

/// Mutated paths and queries of the reads.
#[tokio::test]
async fn mutated_reads_never_give_a_500_and_write_nothing_but_looks() {
    let stage = Stage::new(World::new("fuzz-reads").await).await;
    let (customer, payment) = stage.paid("100").await;
    let (operator, id) = (&stage.world.operator.who, new_id());
    let reads = [
        Call::get("/v1/me/transactions", &customer.who),
        Call::get(&format!("/v1/me/transactions/{id}"), &customer.who),
        Call::get("/v1/me/operations/pay/k", &customer.who),
        Call::get("/v1/merchant/payments", &stage.merchant.who),
        Call::get(&format!("/v1/merchant/payments/{payment}"), &stage.merchant.who),
        Call::get("/v1/admin/audit", operator),
        Call::get(&format!("/v1/admin/customers/{}", customer.id), operator),
        Call::get(&format!("/v1/admin/customers/{}/limits", customer.id), operator),
        Call::get("/v1/admin/idempotency/readiness", operator),
        Call::get(&format!("/v1/admin/jobs/{id}"), operator),
        Call::get("/v1/admin/attention", operator),
        Call::get(&format!("/v1/admin/topups/{id}"), operator),
        Call::get(&format!("/v1/admin/topups/{id}/refunds/{id}"), operator),
        Call::get(&format!("/v1/me/topups/{id}"), &customer.who),
        Call::get(&format!("/v1/terminal/cards/{id}"), &stage.terminal.who),
        Call::get("/v1/terminal/totals", &stage.terminal.who),
        Call::get("/v1/terminal/operations/card_pay/k", &stage.terminal.who),
    ];
    let mut dice = Dice(SEED);
    let names = ["limit", "cursor", "date", "hours", "x", "limit", "cursor"];
    let values = [
        "",
        "0",
        "1",
        "-1",
        "100",
        "2026-02-30",
        "2026-11-21",
        "99999999999999999999",
        "AQ",
        "%00",
        "%F0%9F%92%B4",
        "a&limit=2",
    ];
    let before = stage.world.books().await;
    for read in &reads {
        for _ in 0..ROUNDS {
            let mut call = read.clone().at(format!("{}?{}={}", read.path, dice.pick(&names), dice.pick(&values)));
            if dice.throw(3) == 0 {
                let mut segments: Vec<&str> = read.path.split('/').collect();
                let last = segments.len() - 1;
                segments[last] = dice.pick(&SEGMENTS);
                call = read.clone().at(segments.join("/"));
            }
            let answer = stage.world.api.send(&call).await;
            assert_well_formed(&call, &answer);
        }
    }
    let mut changes = stage.world.books().await.changes_since(&before);
    // That a member looked into a customer's file is an act.
    assert!(changes.remove(&("added", "audit AUDIT#".to_owned())).is_some(), "{changes:?}");
    assert!(changes.is_empty(), "a read wrote something: {changes:?}");
}
