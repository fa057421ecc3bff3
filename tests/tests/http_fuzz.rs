//! Hundreds of mutated requests against every endpoint, from a fixed seed: never a 500, always JSON, a
//! problem with a code that is published, and books that balance.
#![cfg(feature = "stack")]

use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ROUNDS: usize = 40;
const SEED: u64 = 0x00ec_0fa7_2026_1121;

/// Every code that a client may meet here.
const CODES: [&str; 24] = [
    "account_frozen",
    "already_exists",
    "body_too_large",
    "busy",
    "cap_exceeded",
    "four_eyes_required",
    "idempotency_key_expired",
    "idempotency_key_fingerprint_mismatch",
    "idempotency_key_in_use",
    "idempotency_key_invalid",
    "idempotency_key_missing",
    "insufficient_balance",
    "invalid_request",
    "limit_exceeded",
    "method_not_allowed",
    "not_found",
    "operation_reversed",
    "outcome_unknown",
    "over_refund",
    "signature_expired",
    "signature_invalid",
    "unsupported_media_type",
    "wrong_face",
    "wrong_state",
];

/// What is put where something else stood, as JSON text.
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

/// SplitMix64: a mutation is found again by its seed.
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

/// One mutation of a request.
fn mutate(dice: &mut Dice, call: &Call, others: &[Who]) -> Call {
    let body = call.body.clone().unwrap_or_default();
    let fields: Value = serde_json::from_str(&body).expect("it was JSON before");
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

/// What every answer must be.
fn is_well_formed(call: &Call, answer: &Answer) {
    let of = || format!("{call:?}: {answer:?}");
    assert!(answer.status < 500, "{}", of());
    let gateway = answer.status == 401 && answer.code().is_none();
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
async fn mutated_requests() {
    let stage = Stage::set(World::alone("fuzz").await).await;
    let world = &stage.world;
    let customer = world.customer_with("1000").await;
    let others = [
        Who::Nobody,
        Who::Bearer("x".to_owned()),
        customer.who.clone(),
        stage.merchant.who.clone(),
        world.operator.who.clone(),
        stage.terminal.who.clone(),
    ];
    let mut dice = Dice(SEED);
    let mut met = BTreeMap::<String, usize>::new();
    for endpoint in Endpoint::ALL {
        let call = endpoint.prepare(&stage).await.call;
        for _ in 0..ROUNDS {
            let fresh = endpoint.new_key(&stage);
            let mut mutated = mutate(&mut dice, &call.clone().key(fresh), &others);
            if dice.throw(8) == 0 {
                mutated = mutate_again(&mut dice, &mutated, &others);
            }
            // What no HTTP client can send is not sent.
            let Ok(answer) = world.api.try_send(&mutated).await else { continue };
            is_well_formed(&mutated, &answer);
            *met.entry(answer.code().unwrap_or_else(|| answer.status.to_string())).or_default() += 1;
        }
    }
    world.check_books().await;
    // The mutations reach behind the door: refusals of many kinds, and some that pass.
    let kinds = ["invalid_request", "not_found", "method_not_allowed", "wrong_face", "idempotency_key_invalid", "201"];
    for kind in kinds {
        assert!(met.contains_key(kind), "{kind} was never met: {met:?}");
    }
    assert!(met.values().sum::<usize>() > Endpoint::ALL.len() * ROUNDS * 9 / 10, "{met:?}");
}

/// A second mutation, of the parts that are not the body: that may be JSON no more.
fn mutate_again(dice: &mut Dice, call: &Call, others: &[Who]) -> Call {
    match dice.throw(3) {
        0 => call.clone().key(dice.pick(&["k", "", "\"\u{7f}\""])),
        1 => call.clone().by(&others[dice.throw(others.len())]),
        _ => call.clone().header("idempotency-key", new_key()),
    }
}

/// Paths and queries of every read.
#[tokio::test]
async fn mutated_reads() {
    let stage = Stage::set(World::new("fuzz-reads").await).await;
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
        Call::get("/v1/admin/idempotency/readiness", operator),
        Call::get(&format!("/v1/admin/grants/{id}"), operator),
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
            is_well_formed(&call, &answer);
        }
    }
    stage.world.books().await.unchanged_since(&before, "a read wrote something");
}
