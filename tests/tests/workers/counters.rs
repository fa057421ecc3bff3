//! Counters of the operator: what they may do, their rooms, and the collection of their cash.

use crate::reconciliation::planted::{found, roots, with};
use futures::future::join_all;
use ledger_core::money::Share;
use ledger_tests::audit::{n, s, text};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Terminal, World, host};
use serde_json::{Value, json};
use std::time::Duration;

async fn owing(tenant: &str) -> World {
    World::with_terms(host::shared(), tenant, |_| {}).await
}

async fn load(world: &World, at: &Terminal, card: &str, amount: &str) -> Answer {
    world.api.settle(&at.does("topup", card, &json!({"amount": amount}))).await
}

/// A counter's room, and its cash that was not collected.
async fn room(world: &World, counter: &Terminal) -> [String; 2] {
    let path = format!("/v1/admin/terminals/{}/cash-room", counter.id);
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    assert_eq!(view.json().get("merchant_id"), None, "{view:?}");
    ["/cash_room", "/outstanding"].map(|field| view.text(field))
}

/// Ceiling, unallotted room and what was covered of the operator's cash rooms.
async fn rooms(world: &World) -> [String; 3] {
    let view = world.api.send(&Call::get("/v1/admin/cash-room", &world.operator.who)).await.good();
    ["/ceiling", "/unallotted", "/covered"].map(|field| view.text(field))
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text("/code"))
}

fn is(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

fn posts(world: &World, path: &str, body: &Value) -> Call {
    Call::post(path, &world.operator.who, body).key(new_key())
}

async fn is_clean(world: &World) {
    world.check_books().await;
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test]
async fn counter_loads_and_reverses_cash_of_the_operator() {
    let world = World::with_terms(host::shared(), "counter-cash", |terms| {
        terms.card_bonus_rate = Share::parse("0.01").expect("a rate");
    })
    .await;
    let counter = world.counter("1000").await;
    let card = world.card(None, "0").await;
    let topup = counter.does("topup", &card, &json!({"amount": "300"}));
    let loaded = world.api.settle(&topup).await.good();
    let bonus: u32 = loaded.json()["bonus"].as_str().unwrap_or("0").parse().expect("yen");
    assert!(bonus > 0, "the operator has the cash, so that it earns the bonus: {loaded:?}");
    assert_eq!(world.api.settle(&topup).await.good().body, loaded.body, "a replay");
    assert_eq!(world.card_balance(&card).await, (300 + bonus).to_string());
    assert_eq!(room(&world, &counter).await, ["700", "300"]);
    let books = world.check_books().await;
    let (_, _, entry) =
        books.under("TXN#").find(|(_, _, row)| text(row, "operation") == "card_topup").expect("an entry");
    assert!(!entry.contains_key("merchant_id") && !entry.contains_key("credited_by"), "{entry:?}");

    let above = load(&world, &counter, &card, "701").await;
    assert_eq!(code(&above), is(400, "cash_room_exceeded"));
    assert!(!above.body.contains("700"), "a refusal names no amount: {}", above.body);
    let reversal = counter.reverses("card_topup", &topup);
    let undone = world.api.settle(&reversal).await.good();
    assert_eq!(undone.json()["outcome"], "undone");
    assert_eq!(world.api.settle(&reversal).await.good().body, undone.body, "a replay");
    assert_eq!(world.card_balance(&card).await, "0", "the bonus goes back too");
    assert_eq!(room(&world, &counter).await, ["1000", "0"]);

    // A key that has not arrived is forbidden.
    let late = counter.does("topup", &card, &json!({"amount": "100"}));
    let forbidden = world.api.settle(&counter.reverses("card_topup", &late)).await.good();
    assert_eq!(forbidden.json()["outcome"], "forbidden");
    assert_eq!(code(&world.api.settle(&late).await), is(409, "operation_reversed"));
    let totals = async || world.api.send(&Call::get("/v1/terminal/totals", &counter.who)).await.good().json();
    let shown = totals().await;
    let lines = json!([
        {"operation": "card_reverse", "reverses": "card_topup", "count": 1, "asset": "ECOPAY", "amount": "-300"},
        {"operation": "card_topup", "count": 1, "asset": "ECOPAY", "amount": "300"},
    ]);
    assert_eq!(shown["totals"], lines, "{shown}");
    let cash = |taken: &str, expected: &str, collected: &str, outstanding: &str| {
        json!({
            "taken": taken, "given_back": "300", "expected": expected, "collected": collected,
            "outstanding": outstanding,
        })
    };
    assert_eq!(shown["cash"], cash("300", "0", "0", "0"), "a bonus is no cash: {shown}");
    let _ = load(&world, &counter, &card, "500").await.good();
    let _ = world.executes(&world.collects(&counter, "200")).await.good();
    let shown = totals().await;
    assert_eq!(shown["cash"], cash("800", "500", "200", "300"), "{shown}");
    let yesterday = format!("/v1/terminal/totals?date={}", world.app.now().business_date().days_before(1));
    let shown = world.api.send(&Call::get(&yesterday, &counter.who)).await.good().json();
    let none = json!({"taken": "0", "given_back": "0", "expected": "0", "collected": "0", "outstanding": "300"});
    assert_eq!((&shown["totals"], &shown["cash"]), (&json!([]), &none), "{shown}");
    is_clean(&world).await;
}

#[tokio::test]
async fn counter_pays_and_refunds_nothing() {
    let world = owing("counter-no-payments").await;
    let merchant = world.merchant().await;
    let (counter, till) = (world.counter("1000").await, world.till(&merchant, "1000").await);
    let card = world.card(None, "500").await;
    let pay = till.does("pay", &card, &json!({"amount": "100"}));
    let payment = world.api.settle(&pay).await.good().text("/payment_id");
    let before = world.books().await;
    let body = json!({"amount": "100"});
    // The answer is the same for a card that does not exist.
    for card in [card.clone(), new_id()] {
        let refused = world.api.send(&counter.does("pay", &card, &body)).await;
        assert_eq!(code(&refused), is(403, "not_at_counter"));
        let refund = counter.does("refund", &card, &json!({"payment_id": payment, "amount": "100"}));
        assert_eq!(code(&world.api.send(&refund).await), is(403, "not_at_counter"));
    }
    assert_eq!(code(&world.api.send(&counter.reverses("card_pay", &pay)).await).0, 400, "a till's key");
    world.books().await.unchanged_since(&before, "a counter moved something");
}

#[tokio::test]
async fn counter_reverses_for_ten_minutes() {
    let world = owing("counter-late").await;
    let counter = world.counter("1000").await;
    let card = world.card(None, "0").await;
    let topup = counter.does("topup", &card, &json!({"amount": "300"}));
    let loaded = world.api.settle(&topup).await.good();
    let books = world.books().await;
    let (_, _, entry) =
        books.under("TXN#").find(|(_, _, row)| text(row, "operation") == "card_topup").expect("an entry");
    let eleven_minutes = Duration::from_secs(11 * 60);
    let ago = s(world.app.now().minus(eleven_minutes).rfc3339());
    with(&world, entry, |row| drop(row.insert("created_at".to_owned(), ago))).await;
    let late = world.api.settle(&counter.reverses("card_topup", &topup)).await;
    assert_eq!(code(&late), is(400, "reversal_too_late"));
    assert_eq!(room(&world, &counter).await, ["700", "300"]);
    // The operator may, of cash that is at the counter, and of a frozen counter too.
    let reversal = || world.takes_back(&counter, &loaded.text("/transaction_id"));
    let _ = world.executes(&world.collects(&counter, "100")).await.good();
    assert_eq!(code(&world.executes(&reversal()).await), is(400, "cash_not_outstanding"));
    let again = counter.does("topup", &world.card(None, "0").await, &json!({"amount": "100"}));
    let _ = world.api.settle(&again).await.good();
    let frozen = json!({"status": "frozen", "reason": "lost"});
    world.change(&format!("/v1/admin/terminals/{}", counter.id), &frozen).await;
    let _ = world.executes(&reversal()).await.good();
    assert_eq!(world.card_balance(&card).await, "0", "the bonus goes back too");
    assert_eq!(room(&world, &counter).await, ["900", "0"]);
    assert_eq!(code(&world.executes(&reversal()).await), is(400, "wrong_state"));
    with(&world, entry, |_| {}).await;
    is_clean(&world).await;
}

/// No path makes a counter a till, or a till a counter.
#[tokio::test]
async fn owner_of_a_terminal_never_changes() {
    let world = owing("counter-owner").await;
    let merchant = world.merchant().await;
    let (counter, till) = (world.counter("1000").await, world.till(&merchant, "1000").await);
    let open = |body: Value| posts(&world, "/v1/admin/terminals", &body);
    let again = open(json!({"terminal_id": counter.id, "merchant_id": merchant.id}));
    assert_eq!(code(&world.api.settle(&again).await), is(409, "already_exists"));
    let again = open(json!({"terminal_id": till.id, "kind": "counter"}));
    assert_eq!(code(&world.executes(&again).await), is(409, "already_exists"));
    for wrong in [
        json!({"kind": "counter", "merchant_id": merchant.id}),
        json!({"kind": "till"}),
        json!({}),
        json!({"kind": "kiosk", "merchant_id": merchant.id}),
    ] {
        let _ = world.api.send(&open(wrong)).await.problem(400, "invalid_request");
    }
    // Each is shown by its own endpoint alone.
    let view = |path: String| Call::get(&path, &world.operator.who);
    assert_eq!(world.api.send(&view(format!("/v1/admin/counters/{}", till.id))).await.status, 404);
    assert_eq!(world.api.send(&view(format!("/v1/admin/terminals/{}", counter.id))).await.status, 404);
    let shown = world.api.send(&view(format!("/v1/admin/counters/{}", counter.id))).await.good().json();
    assert_eq!((&shown["status"], &shown["epoch"]), (&json!("active"), &json!(1)), "{shown}");
    // The merchant's staff reaches no counter, and a till's cash is not collected.
    let by_merchant = Call { who: merchant.who.clone(), ..world.collects(&counter, "1") };
    assert_eq!(world.api.send(&by_merchant).await.status, 401);
    let card = world.card(None, "0").await;
    let _ = load(&world, &till, &card, "300").await.good();
    assert_eq!(code(&world.executes(&world.collects(&till, "300")).await), is(400, "wrong_state"));
    let path = format!("/v1/admin/terminals/{}/cash-collections", new_id());
    let unknown = posts(&world, &path, &json!({"amount": "1", "reason": "slip"}));
    assert_eq!(world.api.settle(&unknown).await.status, 404);
    is_clean(&world).await;
}

#[tokio::test]
async fn collected_cash_returns_room_once_and_never_more_than_is_outstanding() {
    let world = owing("counter-collected").await;
    let counter = world.counter("1000").await;
    let cards = join_all((0..16).map(|_| world.card(None, "0"))).await;
    let answers = join_all(cards.iter().map(|card| load(&world, &counter, card, "100"))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 10, "{answers:?}");
    assert_eq!(room(&world, &counter).await, ["0", "1000"]);
    assert_eq!(rooms(&world).await, ["1000", "0", "0"]);

    let first = world.approving(&world.collects(&counter, "400")).await;
    let recorded = world.api.settle(&first).await.good();
    assert_eq!(world.api.settle(&first).await.good().body, recorded.body, "a replay");
    assert_eq!(room(&world, &counter).await, ["0", "600"]);
    assert_eq!(rooms(&world).await, ["1000", "400", "400"]);
    // 16 at once take what is outstanding, and no more.
    let collections: Vec<Call> = (0..16).map(|_| world.collects(&counter, "100")).collect();
    let answers = world.executes_at_once(&collections).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 6, "{answers:?}");
    let refused = answers.iter().find(|answer| answer.status != 200).expect("a refusal");
    assert_eq!(code(refused), is(400, "cash_not_outstanding"));
    assert_eq!(room(&world, &counter).await, ["0", "0"]);
    assert_eq!(rooms(&world).await, ["1000", "1000", "1000"], "the ceiling does not change");
    // The room is allotted again.
    let path = format!("/v1/admin/terminals/{}/cash-room", counter.id);
    let allot = |amount: &str| posts(&world, &path, &json!({"allot": amount}));
    assert_eq!(code(&world.executes(&allot("1001")).await), is(400, "cash_room_exceeded"));
    let _ = world.executes(&allot("1000")).await.good();
    let _ = load(&world, &counter, &cards[0], "100").await.good();
    assert_eq!(room(&world, &counter).await, ["900", "100"]);
    // A frozen counter's cash is collected, and it takes none.
    world.change(&format!("/v1/admin/terminals/{}", counter.id), &json!({"status": "frozen", "reason": "lost"})).await;
    let _ = world.executes(&world.collects(&counter, "100")).await.good();
    is_clean(&world).await;
}

/// Each write fails once, before or after it took effect; the same request is sent again.
#[tokio::test]
async fn collection_survives_a_fault_at_every_write() {
    let shop = ledger_tests::http::settling::Settling::without_ceilings("counter-faults").await;
    let world = &shop.world;
    for fault in [Fault::Refused, Fault::AnswerCut] {
        let counter = world.counter("1000").await;
        let topup = counter.does("topup", &world.card(None, "0").await, &json!({"amount": "300"}));
        for call in [topup, world.approving(&world.collects(&counter, "200")).await] {
            shop.tap.next_writes([Some(fault.clone())]);
            let _ = world.api.send(&call).await;
            shop.tap.forget_faults();
            let _ = world.api.settle(&call).await.good();
        }
        assert_eq!(room(world, &counter).await, ["700", "100"]);
    }
    is_clean(world).await;
}

#[tokio::test]
async fn counter_takes_two_people_at_every_step() {
    let world = World::new("counter-approved").await;
    let stored = async |path: &str, body: &Value| {
        let answer = world.api.settle(&posts(&world, path, body)).await.good();
        assert_eq!(answer.status, 202, "{path}: {answer:?}");
        answer.text("/approval_id")
    };
    let id = new_id();
    let opened = stored("/v1/admin/terminals", &json!({"terminal_id": id, "kind": "counter"})).await;
    let path = format!("/v1/admin/counters/{id}");
    assert_eq!(world.api.send(&Call::get(&path, &world.operator.who)).await.status, 404, "nothing is done");
    assert_eq!(world.api.settle(&decides("approve", &opened, &world.operator.who)).await.status, 403);
    let approvals: Vec<Call> = (0..16).map(|_| decides("approve", &opened, &world.second.who)).collect();
    let answers = join_all(approvals.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
    let _ = world.api.send(&Call::get(&path, &world.operator.who)).await.good();

    let counter = world.enrol(&id).await;
    let room_path = format!("/v1/admin/terminals/{id}/cash-room");
    for (path, body) in [("/v1/admin/cash-room", json!({"ceiling": "1000"})), (&room_path, json!({"allot": "1000"}))] {
        let id = stored(path, &body).await;
        let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    }
    let card = world.card(None, "0").await;
    let _ = load(&world, &counter, &card, "300").await.good();
    let collect = format!("/v1/admin/terminals/{id}/cash-collections");
    let body = json!({"amount": "300", "reason": "slip 7"});
    let [one, two] = [stored(&collect, &body).await, stored(&collect, &body).await];
    assert_eq!(room(&world, &counter).await, ["700", "300"], "nothing is done");
    let approvals: Vec<Call> = (0..16).map(|_| decides("approve", &one, &world.second.who)).collect();
    let answers = join_all(approvals.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
    assert_eq!(room(&world, &counter).await, ["700", "0"]);
    let refused = world.api.settle(&decides("approve", &two, &world.second.who)).await;
    assert_eq!(code(&refused), is(400, "cash_not_outstanding"), "the same cash is not collected twice");
    is_clean(&world).await;
}

/// One break after another in the same books, each repaired before the next.
#[tokio::test]
async fn planted_breaks_of_counters_are_found() {
    let world = owing("counter-planted").await;
    let counter = world.counter("1000").await;
    let card = world.card(None, "0").await;
    let _ = load(&world, &counter, &card, "300").await.good();
    let _ = world.executes(&world.collects(&counter, "100")).await.good();
    let books = world.check_books().await;
    let broken = async |row: &ledger_core::dynamo::Item, name: &str, value: Option<&str>, subject: &str| {
        with(&world, row, |row| match value {
            Some(value) => drop(row.insert(name.to_owned(), n(value))),
            None => drop(row.remove(name)),
        })
        .await;
        assert!(!world.books().await.findings_when_credited().is_empty(), "{name}: the audit finds it");
        let report = world.reconciled().await;
        assert_eq!(report["status"], "breaks", "{name}: {report}");
        assert_eq!(roots(&report), found("cash_room_differs", subject), "{name}: {report}");
        world.plant(row.clone()).await;
    };
    let terminal_pk = format!("{}#terminal#{}", world.tenant, counter.id);
    let terminal = format!("terminal:{}", counter.id);
    let profile = books.row(&terminal_pk, "PROFILE").expect("a profile");
    broken(profile, "cash_room", Some("701"), &terminal).await;
    broken(profile, "cash_outstanding", Some("201"), &terminal).await;
    broken(profile, "cash_outstanding", None, &terminal).await;
    let rooms = books.row(&format!("{}#tenant#root", world.tenant), "CASH_ROOM").expect("rooms");
    broken(rooms, "ceiling", Some("1001"), "cash_rooms:operator").await;
    // Covered and unallotted more, so that the ceiling is right.
    with(&world, rooms, |row| {
        row.insert("covered".to_owned(), n("101"));
        row.insert("unallotted".to_owned(), n("101"));
    })
    .await;
    assert!(!world.books().await.findings_when_credited().is_empty(), "the audit finds it");
    let report = world.reconciled().await;
    assert_eq!(roots(&report), found("cash_room_differs", "rooms:operator"), "{report}");
    world.plant(rooms.clone()).await;
    is_clean(&world).await;
}
