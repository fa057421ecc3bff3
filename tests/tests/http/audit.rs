//! Tests of the audit: books in order pass it, and each kind of disorder is found by its rule.
use ledger_core::dynamo::{Item, Value};
use ledger_tests::audit::{self, Books, n, opt_text, s};
use ledger_tests::engine::PrimaryKey;
use ledger_tests::http::World;
use ledger_tests::http::endpoints::Stage;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// Rules about settlements and migration, whose plants are in the tests of both.
const ELSEWHERE: [&str; 6] = [
    "settlements equal records",
    "settlements divide into parts",
    "one settlement is open",
    "over settlements are not due",
    "returned settlements are owed again",
    "both models agree",
];

/// Books with an example of most operations.
async fn books() -> Books {
    let stage = Stage::new(World::alone("audit").await).await;
    let (customer, payment) = stage.paid("1000").await;
    let _ = stage.world.api.settle(&stage.merchant.refunds(&payment, "300")).await.good();
    let _ = stage.paid_by_card("100").await;
    stage.world.grant(&customer, "POINT", "50").await;
    let other = stage.world.customer().await;
    let _ = stage.world.api.settle(&customer.sends(&other, "10")).await.good();
    let topup = stage.terminal.does("topup", &stage.world.card(None, "0").await, &json!({"amount": "5"}));
    let _ = stage.world.api.settle(&topup).await.good();
    let _ = stage.held("500").await;
    let (_, captured) = stage.held("500").await;
    let _ = stage.world.api.settle(&stage.merchant.captures(&captured, Some("300"))).await.good();
    add_topups(&stage.world).await;
    stage.world.check_books().await
}

/// Top-ups: one unpaid, and one with a paid refund, a pending refund, and a dispute above the wallet's balance.
async fn add_topups(world: &World) {
    let (customer, friend) = (world.customer().await, world.customer().await);
    let _ = world.topup(&customer, "700").await;
    let topup = world.paid_topup(&customer, "10000").await;
    let paid = world.api.settle(&topup.refund(world, "500")).await.good().text("/refund_id");
    world.until(&format!("/v1/admin/topups/{}/refunds/{paid}", topup.id), "succeeded").await;
    let _ = world.stripe("/next_refund_status", &json!({"status": "pending"})).await;
    let pending = world.api.settle(&topup.refund(world, "300")).await.good().text("/refund_id");
    world.until(&format!("/v1/admin/topups/{}/refunds/{pending}", topup.id), "pending").await;
    let _ = world.api.settle(&customer.sends(&friend, "9000")).await.good();
    let _ = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({"amount": 8000})).await;
    let taken = |books: &Books| books.under("CLAWBACK#").next().is_some();
    for _ in 0..1000 {
        if taken(&world.books().await) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the dispute was not booked in time");
}

/// The first row whose sort key has the prefix and for which `which` holds.
fn find(books: &Books, prefix: &'static str, which: impl Fn(&Item) -> bool) -> PrimaryKey {
    let mut found = books.under(prefix).filter(|(_, _, row)| which(row));
    let (pk, sk, _) = found.next().unwrap_or_else(|| panic!("no {prefix}"));
    (pk.to_owned(), sk.to_owned())
}

#[tokio::test]
async fn each_rule_finds_its_disorders() {
    let good = books().await;
    let is = |name: &'static str, number: &'static str| move |row: &Item| row.get(name) != Some(&n(number));
    let operation = |name: &'static str| move |row: &Item| opt_text(row, "operation") == Some(name);
    let any = |_: &Item| true;
    let changed = |prefix, which: &dyn Fn(&Item) -> bool, change: &dyn Fn(&mut Item)| {
        let mut bad = good.clone();
        let key = find(&bad, prefix, which);
        change(bad.rows.get_mut(&key).expect("the row"));
        bad
    };
    let set = |prefix, which: &dyn Fn(&Item) -> bool, name: &str, value: Value| {
        changed(prefix, which, &|row| drop(row.insert(name.to_owned(), value.clone())))
    };
    let unset = |prefix, which: &dyn Fn(&Item) -> bool, name: &str| {
        changed(prefix, which, &|row| assert!(row.remove(name).is_some(), "no {name}"))
    };
    let without = |prefix, which: &dyn Fn(&Item) -> bool| {
        let mut bad = good.clone();
        let key = find(&bad, prefix, which);
        bad.rows.remove(&key);
        bad
    };
    let doubled = |prefix, which: &dyn Fn(&Item) -> bool| {
        let mut bad = good.clone();
        let (pk, sk) = find(&bad, prefix, which);
        let row = bad.rows[&(pk.clone(), sk.clone())].clone();
        bad.rows.insert((pk, format!("{sk}-again")), row);
        bad
    };
    let moved = |prefix, which: &dyn Fn(&Item) -> bool| {
        let mut bad = good.clone();
        let (pk, sk) = find(&bad, prefix, which);
        let row = bad.rows.remove(&(pk.clone(), sk.clone())).unwrap_or_default();
        bad.rows.insert((pk, format!("{sk}-moved")), row);
        bad
    };
    let without_bucket = |row: &mut Item| {
        let Some(Value::L(postings)) = row.get_mut("postings") else { panic!("no postings") };
        for posting in postings {
            let Value::M(posting) = posting else { panic!("no posting") };
            let _ = posting.remove("bucket");
        }
    };
    let is_in = |state: &'static str| move |row: &Item| opt_text(row, "state") == Some(state);
    let succeeded = is_in("succeeded");
    let of_topup = |state: &'static str| move |row: &Item| row.contains_key("topup_id") && is_in(state)(row);
    let decides = |row: &Item| row.get("deciders").is_some_and(|count| *count != n("0"));
    let owes = |row: &Item| row.contains_key("owed");
    let reserves = |row: &Item| row.get("reserved") == Some(&n("700"));
    let was_held = |row: &Item| row.contains_key("expires_at") && is_in("captured")(row);
    let has_parts = |row: &Item| row.contains_key("parts");
    let part = |yen: &str| Value::M(Item::from([("ECOPAY".to_owned(), n(yen))]));
    let is_card = |row: &Item| row.contains_key("card_id");
    let entry_of = |name: &'static str| {
        let key = find(&good, "TXN#", operation(name));
        good.rows[&key].get("transaction_id").cloned()
    };
    let is_event_of = |name: &'static str| {
        let entry = entry_of(name);
        move |row: &Item| row.get("entry_id") == entry.as_ref()
    };
    let counts = |row: &Item| row.contains_key("aggregate_payments");
    let counts_refunds = |row: &Item| row.contains_key("aggregate_refunds");
    // Counts of a legacy model, which this customer has not.
    let with_metrics = |name: &str| {
        let mut bad = good.clone();
        let (pk, _) = find(&bad, "BALANCE#", counts);
        bad.rows.insert((pk, "METRICS".to_owned()), Item::from([(name.to_owned(), n("1"))]));
        bad
    };
    let topup_marker = "card_op_idem#topup#";
    let disorders = [
        ("balances equal postings", "too much", set("BALANCE#ECOPAY", &is("balance", "0"), "balance", n("999999"))),
        ("balances equal postings", "below zero", set("BALANCE#POINT", &any, "balance", n("-1"))),
        ("balances equal postings", "a card with a yen more", set("card", &is_card, "balance", n("1001"))),
        ("exposure equals its parts", "7 more", set("BALANCE#POINT", &any, "exposure", n("7"))),
        ("held equals holds", "held and never posted", set("BALANCE#POINT", &any, "held", n("7"))),
        ("held equals holds", "posted as available", changed("TXN#", &operation("topup_refund"), &without_bucket)),
        ("held equals holds", "a hold of a yen more", set("HOLD", &is_in("authorized"), "held_ecopay", n("501"))),
        ("held equals holds", "a refund is gone", without("REFUND#", &of_topup("pending"))),
        ("held equals holds", "a refund holds nothing", set("REFUND#", &of_topup("pending"), "state", s("succeeded"))),
        ("entries can be read", "no postings", set("TXN#", &any, "postings", Value::L(Vec::new()))),
        ("entries sum to zero", "half of the postings", changed("TXN#", &operation("grant"), &one_sided)),
        ("references point to entries", "an entry is gone", without("TXN#", &operation("transfer"))),
        ("accounts have balances", "no balance item", without("BALANCE#ECOPAY", &is("balance", "0"))),
        ("CO2 equals entries", "another sum", set("BALANCE#", &counts, "aggregate_co2_total", n("1"))),
        ("CO2 equals entries", "a sum in METRICS too", with_metrics("co2_total")),
        ("aggregates equal payments and refunds", "none", unset("BALANCE#", &counts, "aggregate_payments")),
        (
            "aggregates equal payments and refunds",
            "another sum",
            set("BALANCE#", &counts, "aggregate_paid_total", n("1")),
        ),
        ("aggregates equal payments and refunds", "none", unset("BALANCE#", &counts_refunds, "aggregate_refunds")),
        (
            "aggregates equal payments and refunds",
            "another sum",
            set("BALANCE#", &counts_refunds, "aggregate_refunded_total", n("1")),
        ),
        ("aggregates equal payments and refunds", "a payment in METRICS too", with_metrics("payments")),
        ("aggregates equal payments and refunds", "a payment is gone", without("PAYMENT", &any)),
        ("reserved equals unpaid top-ups", "a yen more", set("BALANCE#ECOPAY", &reserves, "reserved", n("701"))),
        ("reserved equals unpaid top-ups", "nothing", unset("BALANCE#ECOPAY", &reserves, "reserved")),
        ("merchants are owed what is posted", "a payment is gone", without("PAYMENT", &any)),
        ("merchants are owed what is posted", "a refund is gone", without("REFUND#", &any)),
        ("merchants are owed what is posted", "a refund twice", doubled("REFUND#", &any)),
        ("records are listed by merchants", "no owner", unset("PAYMENT", &any, "owner_pk")),
        ("records are listed by merchants", "nothing captured", unset("PAYMENT", &was_held, "captured_ecopay")),
        ("merchants are credited by seals", "by nothing", unset("TXN#", &operation("pay"), "credited_by")),
        ("merchants are credited by seals", "other parts", set("REFUND#", &has_parts, "parts", part("-299"))),
        ("merchants are credited by seals", "no parts", unset("REFUND#", &has_parts, "parts")),
        (
            "merchants are credited by seals",
            "by another",
            set("TXN#", &operation("capture"), "credited_by", s("worker")),
        ),
        ("merchants are credited by seals", "no merchant", set("TXN#", &operation("grant"), "credited_by", s("seal"))),
        ("merchants are credited by seals", "a payment is gone", without("PAYMENT", &was_held)),
        (
            "refundable equals captured less refunded",
            "more refundable than was paid",
            set("PAYMENT", &any, "refundable_ecopay", n("1000000")),
        ),
        ("refundable equals captured less refunded", "another state", set("PAYMENT", &any, "state", s("reversed"))),
        (
            "uncaptured payments are not refunded",
            "something refundable",
            set("PAYMENT", &is_in("authorized"), "refundable_ecopay", n("1")),
        ),
        ("authorized payments have holds", "no hold", without("HOLD", &any)),
        ("authorized payments have holds", "no payment", without("PAYMENT", &is_in("authorized"))),
        ("authorized payments have holds", "not due", unset("HOLD", &is_in("authorized"), "_due_sk")),
        ("authorized payments have holds", "not listed", unset("HOLD", &is_in("authorized"), "owner_pk")),
        (
            "authorized payments have holds",
            "due after its end",
            set("HOLD", &is_in("captured"), "_due_sk", s("2026-11-21T03:00:00.000Z#hold#x")),
        ),
        (
            "authorized payments have holds",
            "another state",
            set("PAYMENT", &is_in("authorized"), "state", s("captured")),
        ),
        ("authorized payments have holds", "more than held", set("PAYMENT", &was_held, "captured_ecopay", n("501"))),
        ("holds begin and end once", "a capture is gone", without("TXN#", &operation("capture"))),
        ("top-ups are credited once", "credited, not paid", set("TOPUP", &succeeded, "state", s("pending"))),
        ("top-ups are credited once", "paid, not credited", set("TOPUP", &is_in("pending"), "state", s("succeeded"))),
        ("top-ups are credited once", "a credit is gone", without("TXN#", &operation("topup"))),
        ("top-ups are credited once", "a credit twice", doubled("TXN#", &operation("topup"))),
        ("top-ups are credited once", "a credit under another id", moved("TXN#", &operation("topup"))),
        ("top-ups' refundable equals charge less taken", "more", set("TOPUP", &succeeded, "refundable", n("10000"))),
        (
            "top-ups' refundable equals charge less taken",
            "points never taken back",
            set("TOPUP", &succeeded, "points_taken_back", n("99")),
        ),
        (
            "top-ups' refundable equals charge less taken",
            "refundable and unpaid",
            set("TOPUP", &is_in("pending"), "refundable", n("700")),
        ),
        ("top-ups' refundable equals charge less taken", "no clawback", without("CLAWBACK#", &any)),
        ("open records are due", "a top-up is not due", unset("TOPUP", &is_in("pending"), "_due_pk")),
        ("open records are due", "a refund is not due", unset("REFUND#", &of_topup("pending"), "_due_pk")),
        ("open records are due", "answered and requested", set("TOPUP", &is_in("pending"), "state", s("requested"))),
        ("entries have records", "no top-up", without("TOPUP", &succeeded)),
        ("refunds have entries", "failed, not returned", set("REFUND#", &of_topup("succeeded"), "state", s("failed"))),
        ("refunds have entries", "never paid out", without("TXN#", &operation("topup_refund_paid"))),
        ("refunds pay out their amount", "less", set("REFUND#", &of_topup("succeeded"), "paid", n("1"))),
        ("clawbacks have entries", "never returned", set("CLAWBACK#", &any, "state", s("lost"))),
        ("clawbacks have entries", "no entry", without("TXN#", &operation("clawback"))),
        ("disputes equal owed", "nothing owed", set("BALANCE#ECOPAY", &owes, "owed", n("0"))),
        ("keys move money once", "an entry twice", doubled("TXN#", &operation("grant"))),
        ("keys move money once", "no marker", without("card_op_idem#pay#", &any)),
        ("keys move money once", "no event", without("event", &is_event_of("clawback"))),
        ("keys move money once", "neither event nor response", without("event", &is_event_of("topup"))),
        ("markers have entries", "a key's", set("card_op_idem#pay#", &any, "entry_id", s("x"))),
        ("markers have entries", "an event's", set("event", &is_event_of("topup"), "entry_id", s("x"))),
        ("events' markers expire", "never", unset("event", &any, "ttl")),
        ("markers are in one state", "answered for ever", unset(topup_marker, &any, "ttl")),
        ("markers are in one state", "answered and due", set(topup_marker, &any, "_due_pk", s("x"))),
        ("markers are in one state", "answered and leased", set(topup_marker, &any, "lease_until", s("x"))),
        ("markers are in one state", "no response", unset("card_op_idem#topup_refund#", &any, "body")),
        ("markers are in one state", "in flight and answered", set(topup_marker, &any, "state", s("IN_FLIGHT"))),
        ("markers are in one state", "calls no PSP", set("card_op_idem#pay#", &any, "state", s("IN_FLIGHT"))),
        ("markers are in one state", "in flight and expires", in_flight(&good, &[("ttl", n("1"))], &[])),
        ("markers are in one state", "no fencing token", in_flight(&good, &[], &["fence"])),
        ("markers are in one state", "no lease", in_flight(&good, &[], &["lease_until"])),
        ("markers are in one state", "in flight and not due", in_flight(&good, &[], &["_due_pk"])),
        ("counts equal what was counted", "uncounted", set("BALANCE#ECOPAY", &any, "use_pay_20261123", n("5"))),
        ("staff counters equal members", "an owner more", set("STAFF_COUNTS", &any, "owners", n("9"))),
        ("staff counters equal members", "no decider", unset("STAFF_COUNTS", &decides, "deciders")),
        ("staff counters equal members", "not counted", without("STAFF_COUNTS", &any)),
        ("markers are in one state", "parked without a reason", in_flight(&good, &[("state", s("PARKED"))], &[])),
    ];
    let mut missed = Vec::new();
    for (rule, what, bad) in &disorders {
        let findings = bad.findings();
        if !findings.iter().any(|finding| finding.rule == *rule) {
            missed.push(format!("{rule}, {what}: {findings:#?}"));
        }
    }
    assert!(missed.is_empty(), "not found by their rules:\n{}", missed.join("\n"));
    let planted: BTreeSet<_> = disorders.iter().map(|(rule, ..)| *rule).chain(ELSEWHERE).collect();
    assert_eq!(planted, audit::rule_names().collect(), "each rule has a plant");
    good.check();
    let claimed = in_flight(&good, &[], &[]);
    claimed.check();
    assert_eq!((good.in_flight(), claimed.in_flight()), (0, 1));
}

/// Repeats an entry's first posting in place of the others.
fn one_sided(row: &mut Item) {
    let Some(Value::L(postings)) = row.get_mut("postings") else { panic!("no postings") };
    let first = postings[0].clone();
    postings.fill(first);
}

/// The books with the unpaid top-up's key in flight, and with attributes of its marker added and removed.
fn in_flight(good: &Books, more: &[(&str, Value)], less: &[&str]) -> Books {
    let mut books = good.clone();
    let key = find(&books, "TOPUP", |row| opt_text(row, "state") == Some("pending"));
    let topup = books.rows.get_mut(&key).expect("the row");
    topup.insert("state".to_owned(), s("requested"));
    topup.remove("payment_intent");
    let name = topup.get("idempotency_key").cloned();
    let key = find(&books, "card_op_idem#topup#", |row| row.get("idempotency_key") == name.as_ref());
    let marker = books.rows.get_mut(&key).expect("the row");
    for removed in ["ttl", "status", "content_type", "location", "body"] {
        marker.remove(removed);
    }
    let flight = [
        ("state", "IN_FLIGHT"),
        ("lease_until", "2026-11-21T03:00:30.000Z"),
        ("_due_pk", "audit#due#0"),
        ("_due_sk", "2026-11-21T03:00:30.000Z#flight#x"),
    ];
    marker.extend(flight.map(|(name, text)| (name.to_owned(), s(text))));
    marker.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    for removed in less {
        assert!(marker.remove(*removed).is_some(), "no {removed}");
    }
    books
}
