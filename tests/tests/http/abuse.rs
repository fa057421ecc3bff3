//! Invalid input is refused with a 4xx and moves nothing: amounts, bodies, paths, methods, queries and cursors.
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World};
use ledger_tests::share;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Endpoints with an amount in the field `amount`.
const WITH_AMOUNT: [Endpoint; 13] = [
    Endpoint::Pay,
    Endpoint::Transfer,
    Endpoint::Charge,
    Endpoint::Refund,
    Endpoint::Grant,
    Endpoint::AdjustmentRequest,
    Endpoint::CardTopup,
    Endpoint::CardPay,
    Endpoint::CardRefund,
    Endpoint::Topup,
    Endpoint::TopupRefund,
    Endpoint::Authorize,
    Endpoint::Capture,
];

/// JSON values that are not an amount of whole yen or points.
const NO_AMOUNTS: [&str; 34] = [
    "1.5",
    "100.50",
    "0.1",
    "1e3",
    "1E3",
    "1.0e2",
    "1e400",
    "1e-400",
    "-1",
    "-0.5",
    "0",
    "0.0",
    "-0",
    "null",
    "true",
    "[]",
    "{}",
    "[100]",
    "1000000000000000",
    "99999999999999999999999999999999999999999",
    "\"\"",
    "\" 5\"",
    "\"+5\"",
    "\"-5\"",
    "\"5.\"",
    "\".5\"",
    "\"007\"",
    "\"1e3\"",
    "\"1,000\"",
    "\"0x10\"",
    "\"NaN\"",
    "\"Infinity\"",
    "\"\u{ff11}\u{ff10}\u{ff10}\"",
    "\"1000000000000000\"",
];

/// Numbers that are not valid JSON.
const NO_JSON: [&str; 7] = ["007", ".5", "5.", "+5", "NaN", "Infinity", "0x10"];

fn with_literal(call: &Call, literal: &str) -> Call {
    let marked = call.clone().field("amount", "<here>").body.unwrap_or_default();
    call.clone().raw(marked.replace("\"<here>\"", literal))
}

#[tokio::test]
async fn invalid_amounts_are_refused() {
    let stage = Stage::new(World::alone("amounts").await).await;
    for endpoint in WITH_AMOUNT {
        let call = endpoint.prepare(&stage).await.call;
        let before = stage.world.books().await;
        let huge = format!("\"{}\"", "9".repeat(400));
        for literal in NO_AMOUNTS.into_iter().chain([huge.as_str()]) {
            let answer = stage.world.api.send(&with_literal(&call, literal)).await;
            assert_eq!(answer.status, 400, "{endpoint:?} {literal}: {answer:?}");
            let answer = answer.problem(400, "invalid_request");
            assert_eq!(answer.json()["field"], "amount", "{endpoint:?} {literal}: {answer:?}");
        }
        for text in NO_JSON {
            let _ = stage.world.api.send(&with_literal(&call, text)).await.problem(400, "invalid_request");
        }
        stage.world.books().await.unchanged_since(&before, "a request with an invalid amount moved something");
    }
    stage.world.check_books().await;
}

/// `300`, `300.0`, `"300"` and `"300.00"` are the same amount, and the same request under one key.
#[tokio::test]
async fn amount_spellings_are_one_request() {
    let stage = Stage::new(World::new("spellings").await).await;
    for endpoint in WITH_AMOUNT {
        let call = endpoint.prepare(&stage).await.call;
        let first = stage.world.api.settle(&with_literal(&call, "300.0")).await.good();
        for literal in ["300", "300.0000000000000000000000000000000000000000", "\"300\"", "\"300.0\"", "\"300.00\""] {
            let again = stage.world.api.send(&with_literal(&call, literal)).await;
            assert_eq!((again.stored(), again.replayed()), (first.stored(), true), "{endpoint:?} {literal}");
        }
    }
    stage.world.check_books().await;
}

/// Sends a call with other content types, or none; a terminal's call is sent unsigned.
async fn typed(world: &World, call: &Call, content_type: &[&str]) -> Answer {
    let mut headers = world.api.headers(call);
    headers.retain(|(name, _)| name != "content-type");
    headers.extend(content_type.iter().map(|value| ("content-type".to_owned(), (*value).to_owned())));
    world.api.exchange(call, &headers).await.expect("an answer")
}

#[tokio::test]
async fn invalid_bodies_and_content_types_are_refused() {
    let stage = Stage::new(World::alone("bodies").await).await;
    let world = &stage.world;
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let deep_field = format!("{{\"amount\":{deep}}}");
    let wrong = ["{", "}", "[]", "null", "\"text\"", "7", "{} {}", "{'amount':1}", "{\"a\":1,}", &deep, &deep_field];
    for endpoint in share::of_family(Endpoint::ALL) {
        let prepared = endpoint.prepare(&stage).await;
        let before = world.books().await;
        for body in wrong {
            let _ = world.api.send(&prepared.call.clone().raw(body)).await.problem(400, "invalid_request");
        }
        let padded = format!("{}{}", prepared.call.body.clone().unwrap_or_default(), " ".repeat(64 * 1024));
        let _ = world.api.send(&prepared.call.clone().raw(padded)).await.problem(413, "body_too_large");
        for content_type in
            [&[][..], &["text/plain"], &["application/x-www-form-urlencoded"], &["application/json; charset=utf-16"]]
        {
            let _ = typed(world, &prepared.call, content_type).await.problem(415, "unsupported_media_type");
        }
        world.books().await.unchanged_since(&before, "an invalid body moved something");
        let done = typed(world, &prepared.call, &["Application/JSON; charset=UTF-8"]).await;
        assert_eq!(done.status, prepared.status, "{endpoint:?}: {done:?}");
    }
    world.check_books().await;
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let stage = Stage::new(World::new("paths").await).await;
    let (world, customer) = (&stage.world, stage.world.customer().await);
    for path in
        ["/", "/v1", "/v1/me/nothing", "/v1/admin", "/v2/me", "/v1/me/payments/", "/v1//me", "/%2e%2e/etc/passwd"]
    {
        for who in [&Who::Anonymous, &customer.who] {
            let _ = world.api.send(&Call::get(path, who)).await.problem(404, "not_found");
        }
    }
    for (method, path, allowed) in [
        (Method::GET, "/v1/me/payments", "POST"),
        (Method::DELETE, "/v1/me", "PATCH"),
        (Method::PUT, "/v1/merchant/charges", "POST"),
        (Method::POST, "/v1/admin/audit", "GET"),
        (Method::GET, "/v1/terminal/enrolments", "POST"),
        (Method::GET, "/v1/me/payment-code", "POST"),
        (Method::DELETE, "/v1/admin/attention", "GET"),
        (Method::GET, "/v1/webhooks/stripe", "POST"),
    ] {
        let answer = world.api.send(&Call::new(method, path, &customer.who)).await.problem(405, "method_not_allowed");
        assert!(answer.header("allow").is_some_and(|allow| allow.contains(allowed)), "{answer:?}");
    }
    for id in ["x", "0", "..%2F..", "%00", "00000000000000000000000000000000", &"9".repeat(3000)] {
        let calls = [
            Call::get(&format!("/v1/me/transactions/{id}"), &customer.who),
            Call::get(&format!("/v1/merchant/payments/{id}"), &stage.merchant.who),
            Call::get(&format!("/v1/admin/customers/{id}"), &world.operator.who),
            Call::get(&format!("/v1/terminal/cards/{id}"), &stage.terminal.who),
            Call::get(&format!("/v1/me/topups/{id}"), &customer.who),
            Call::get(&format!("/v1/admin/topups/{id}"), &world.operator.who),
            Call::get(&format!("/v1/admin/topups/{}/refunds/{id}", new_id()), &world.operator.who),
        ];
        for call in calls {
            let _ = world.api.send(&call).await.problem(404, "not_found");
        }
    }
}

/// Every list, each with several pages of items.
async fn lists(stage: &Stage) -> Vec<(&'static str, Who, &'static str)> {
    let (customer, payment) = stage.paid("40").await;
    for _ in 0..4 {
        let _ = stage.world.api.settle(&stage.merchant.refunds(&payment, "10")).await.good();
    }
    vec![
        ("/v1/me/transactions", customer.who, "transaction_id"),
        ("/v1/merchant/payments", stage.merchant.who.clone(), "transaction_id"),
        ("/v1/admin/audit", stage.world.operator.who.clone(), "audit_id"),
    ]
}

fn ids(page: &Value, id: &str) -> Vec<String> {
    let items = page["items"].as_array().expect("items").iter();
    items.map(|item| item[id].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn pages_are_complete_and_forged_cursors_are_refused() {
    let stage = Stage::new(World::new("cursors").await).await;
    let other = Stage::new(World::new("cursors-other").await).await;
    let foreign = lists(&other).await;
    let mut cursors = Vec::new();
    for (path, who, _) in &foreign {
        let page = other.world.api.send(&Call::get(&format!("{path}?limit=1"), who)).await.good();
        cursors.push(page.text("/next_cursor"));
    }
    for (path, who, id) in lists(&stage).await {
        let get = |query: String| Call::get(&format!("{path}?{query}"), &who);
        let all = ids(&stage.world.api.send(&get("limit=100".into())).await.good().json(), id);
        assert!(all.len() >= 5, "{path}: {all:?}");
        assert!(all.windows(2).all(|pair| pair[0] > pair[1]), "newest first: {all:?}");
        let (mut paged, mut next) = (Vec::new(), Some(String::new()));
        while let Some(cursor) = next {
            let page = stage.world.api.send(&get(format!("limit=2{cursor}"))).await.good().json();
            paged.extend(ids(&page, id));
            next = page["next_cursor"].as_str().map(|cursor| format!("&cursor={cursor}"));
        }
        assert_eq!(paged, all, "{path}");

        // A cursor of another list or tenant stays within this list.
        let own: BTreeSet<String> = all.into_iter().collect();
        for cursor in &cursors {
            let page = stage.world.api.send(&get(format!("cursor={cursor}"))).await.good().json();
            assert!(ids(&page, id).iter().all(|id| own.contains(id)), "{path}: {page}");
        }
        for cursor in
            ["", "x", "AAAA", "ZGVtbyNjdXN0b21lciMx", "%00", "../..", &cursors[0][1..], &format!("{}AA", cursors[0])]
        {
            let answer = stage.world.api.send(&get(format!("cursor={cursor}"))).await.problem(400, "invalid_request");
            assert_eq!(answer.text("/field"), "cursor");
        }
        for wrong in [
            "limit=0",
            "limit=101",
            "limit=-1",
            "limit=x",
            "limit=",
            "limit=2&limit=2",
            "lmit=2",
            "offset=2",
            "limit=%FF",
        ] {
            let _ = stage.world.api.send(&get(wrong.into())).await.problem(400, "invalid_request");
        }
    }
}

#[tokio::test]
async fn invalid_texts_and_card_numbers_are_refused() {
    let stage = Stage::new(World::alone("texts").await).await;
    let world = &stage.world;
    let customer = world.customer_with("100").await;
    let (pay, other) = (customer.pays(&stage.merchant, "10"), world.customer().await);
    let profile = |field: &str, text: &str| Call::patch("/v1/me", &customer.who, &json!({field: text})).key(new_key());
    let issue = Call::post("/v1/me/payment-code", &customer.who, &json!({})).key(new_key());
    let code = world.api.settle(&issue).await.good().text("/code");
    let long = "x".repeat(141);
    let before = world.books().await;
    for memo in
        ["4242 4242 4242 4242", "card 4242-4242-4242-4242 ok", "4242424242424242", &long, "a\u{0}b", "a\nb", "", "   "]
    {
        let charge = json!({"code": code, "amount": "1", "memo": memo});
        for (call, field) in [
            (pay.clone().field("memo", memo), "memo"),
            (customer.sends(&other, "1").field("memo", memo), "memo"),
            (Call::post("/v1/merchant/charges", &stage.merchant.who, &charge).key(new_key()), "memo"),
            (profile("name", memo), "name"),
        ] {
            let answer = world.api.send(&call).await.problem(400, "invalid_request");
            assert_eq!(answer.text("/field"), field, "{answer:?}");
            assert!(!answer.body.contains("4242"), "the answer must not repeat the invalid text: {answer:?}");
        }
    }
    for (field, text) in [("email", "nobody"), ("email", "a@b@c.d"), ("phone", "call me"), ("name", &long)] {
        assert_eq!(world.api.send(&profile(field, text)).await.problem(400, "invalid_request").text("/field"), field);
    }
    world.books().await.unchanged_since(&before, "a refused text moved something");
    // A number with an invalid check digit is not taken for a card number.
    let _ = world.api.settle(&pay.field("memo", "order 4242424242424241")).await.good();
    world.check_books().await;
}
