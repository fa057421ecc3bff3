//! Tests of the audit: books in order pass it, and each kind of disorder is found.
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_tests::http::World;
use ledger_tests::http::books::{Books, Row, n};
use ledger_tests::http::endpoints::Stage;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

type Key = (String, String);

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
fn find(books: &Books, prefix: &'static str, which: impl Fn(&Row) -> bool) -> Key {
    let mut found = books.under(prefix).filter(|(_, _, row)| which(row));
    let (pk, sk, _) = found.next().unwrap_or_else(|| panic!("no {prefix}"));
    (pk.to_owned(), sk.to_owned())
}

#[tokio::test]
async fn audit_finds_every_kind_of_disorder() {
    let good = books().await;
    let is_not = |name: &'static str, number: &'static str| move |row: &Row| row.get(name) != Some(&n(number));
    let operation =
        |name: &'static str| move |row: &Row| row.get("operation") == Some(&AttributeValue::S(name.to_owned()));
    let any = |_: &Row| true;
    let set = |prefix, which: &dyn Fn(&Row) -> bool, name: &str, value: AttributeValue| {
        let mut bad = good.clone();
        let key = find(&bad, prefix, which);
        bad.rows.entry(key).or_default().insert(name.to_owned(), value);
        bad
    };
    let without = |prefix, which: &dyn Fn(&Row) -> bool| {
        let mut bad = good.clone();
        let key = find(&bad, prefix, which);
        bad.rows.remove(&key);
        bad
    };
    let doubled = |prefix, which: &dyn Fn(&Row) -> bool| {
        let mut bad = good.clone();
        let (pk, sk) = find(&bad, prefix, which);
        let row = bad.rows[&(pk.clone(), sk.clone())].clone();
        bad.rows.insert((pk, format!("{sk}-again")), row);
        bad
    };
    let unset = |prefix, which: &dyn Fn(&Row) -> bool, name: &str| {
        let mut bad = good.clone();
        let key = find(&bad, prefix, which);
        assert!(bad.rows.entry(key).or_default().remove(name).is_some(), "no {name}");
        bad
    };
    let moved = |prefix, which: &dyn Fn(&Row) -> bool| {
        let mut bad = good.clone();
        let (pk, sk) = find(&bad, prefix, which);
        let row = bad.rows.remove(&(pk.clone(), sk.clone())).unwrap_or_default();
        bad.rows.insert((pk, format!("{sk}-moved")), row);
        bad
    };
    let with_postings = |which: &dyn Fn(&Row) -> bool, change: &dyn Fn(&mut Row)| {
        let mut bad = good.clone();
        let key = find(&bad, "TXN#", which);
        if let Some(AttributeValue::L(postings)) = bad.rows.entry(key).or_default().get_mut("postings") {
            postings.iter_mut().for_each(|posting| {
                if let AttributeValue::M(posting) = posting {
                    change(posting);
                }
            });
        }
        bad
    };
    let s = |text: &str| AttributeValue::S(text.to_owned());
    let is_in = |state: &'static str| move |row: &Row| row.get("state") == Some(&AttributeValue::S(state.to_owned()));
    let succeeded = is_in("succeeded");
    let of_topup = |state: &'static str| move |row: &Row| row.contains_key("topup_id") && is_in(state)(row);
    let owes = |row: &Row| row.contains_key("owed");
    let reserves = |row: &Row| row.get("reserved") == Some(&n("700"));
    let was_held = |row: &Row| row.contains_key("expires_at") && is_in("captured")(row);
    let entry_of = |name: &'static str| {
        let key = find(&good, "TXN#", operation(name));
        good.rows[&key].get("transaction_id").cloned()
    };
    let is_event_of = |name: &'static str| {
        let entry = entry_of(name);
        move |row: &Row| row.get("entry_id") == entry.as_ref()
    };
    let none = AttributeValue::L(Vec::new());
    let disorders = [
        ("a balance that is too high", set("BALANCE#ECOPAY", &is_not("balance", "0"), "balance", n("999999"))),
        ("a balance below zero", set("BALANCE#POINT", &any, "balance", n("-1"))),
        ("an exposure that differs from its parts", set("BALANCE#POINT", &any, "exposure", n("7"))),
        ("something held that was never posted", set("BALANCE#POINT", &any, "held", n("7"))),
        ("a card's balance one yen too high", set("card", &|row| row.contains_key("card_id"), "balance", n("1001"))),
        ("an entry without postings", set("TXN#", &any, "postings", none)),
        ("a missing entry", without("TXN#", &operation("transfer"))),
        ("a repeated entry", doubled("TXN#", &operation("grant"))),
        ("a missing payment", without("PAYMENT", &any)),
        ("a missing refund", without("REFUND#", &any)),
        ("a repeated refund", doubled("REFUND#", &any)),
        ("a refundable amount above the paid amount", set("PAYMENT", &any, "refundable_ecopay", n("1000000"))),
        ("a payment in a wrong state", set("PAYMENT", &any, "state", AttributeValue::S("reversed".into()))),
        ("an entry without its marker", without("card_op_idem#pay#", &any)),
        ("a marker without its entry", set("card_op_idem#pay#", &any, "entry_id", AttributeValue::S("x".into()))),
        ("a missing balance item", without("BALANCE#ECOPAY", &is_not("balance", "0"))),
        ("a CO2 estimate without a payment", set("METRICS", &any, "co2_total", n("1"))),
        ("a missing hold", without("HOLD", &any)),
        ("a missing authorized payment", without("PAYMENT", &is_in("authorized"))),
        ("an open hold that is not due", unset("HOLD", &is_in("authorized"), "due_pk")),
        ("an ended hold that is due", set("HOLD", &is_in("captured"), "due_pk", s("audit#due#hold#0"))),
        ("a hold one yen too high", set("HOLD", &is_in("authorized"), "held_ecopay", n("501"))),
        ("an authorized payment in the state captured", set("PAYMENT", &is_in("authorized"), "state", s("captured"))),
        (
            "a refundable amount of an authorized payment",
            set("PAYMENT", &is_in("authorized"), "refundable_ecopay", n("1")),
        ),
        ("a captured amount above the held amount", set("PAYMENT", &was_held, "captured_ecopay", n("501"))),
        ("a captured payment without the merchant's delta", unset("PAYMENT", &was_held, "merchant_delta")),
        ("a missing capture", without("TXN#", &operation("capture"))),
        ("reserved headroom without a top-up", set("BALANCE#ECOPAY", &reserves, "reserved", n("701"))),
        ("a top-up without reserved headroom", unset("BALANCE#ECOPAY", &reserves, "reserved")),
        ("held money posted as available", with_postings(&operation("topup_refund"), &|p| drop(p.remove("bucket")))),
        ("a missing top-up", without("TOPUP", &succeeded)),
        ("a top-up that was credited and is not paid", set("TOPUP", &succeeded, "state", s("pending"))),
        ("a top-up that is paid and was not credited", set("TOPUP", &is_in("pending"), "state", s("succeeded"))),
        ("a missing credit", without("TXN#", &operation("topup"))),
        ("a repeated credit", doubled("TXN#", &operation("topup"))),
        ("a credit under another id", moved("TXN#", &operation("topup"))),
        ("a refundable amount above the rest of a top-up", set("TOPUP", &succeeded, "refundable", n("10000"))),
        ("points that were never taken back", set("TOPUP", &succeeded, "points_taken_back", n("99"))),
        ("a debt on a top-up record", set("TOPUP", &succeeded, "owed", n("1"))),
        ("a dispute without its debt", set("BALANCE#ECOPAY", &owes, "owed", n("0"))),
        ("an unpaid top-up that is not due", unset("TOPUP", &is_in("pending"), "due_pk")),
        ("a missing refund of a top-up", without("REFUND#", &of_topup("pending"))),
        ("a refund that holds nothing", set("REFUND#", &of_topup("pending"), "state", s("succeeded"))),
        ("a failed refund that was not returned", set("REFUND#", &of_topup("succeeded"), "state", s("failed"))),
        ("a refund that pays out less", set("REFUND#", &of_topup("succeeded"), "paid", n("1"))),
        ("a pending refund that is not due", unset("REFUND#", &of_topup("pending"), "due_pk")),
        ("a refund without its payment entry", without("TXN#", &operation("topup_refund_paid"))),
        ("a missing clawback", without("CLAWBACK#", &any)),
        ("a returned clawback without an entry", set("CLAWBACK#", &any, "state", s("returned"))),
        ("a clawback without its entry", without("TXN#", &operation("clawback"))),
        ("a clawback without its event's marker", without("event", &is_event_of("clawback"))),
        ("a credit without its event's marker", without("event", &is_event_of("topup"))),
        ("an event's marker without its entry", set("event", &is_event_of("topup"), "entry_id", s("x"))),
        ("an event's marker without a TTL", unset("event", &any, "ttl")),
        ("a completed key without a TTL", unset("card_op_idem#topup#", &any, "ttl")),
        ("a completed key that is due", set("card_op_idem#topup#", &any, "due_pk", s("x"))),
        ("a completed key with a lease", set("card_op_idem#topup#", &any, "lease_until", s("x"))),
        ("a completed key without a response", unset("card_op_idem#topup_refund#", &any, "body")),
        ("a key in flight with a response", set("card_op_idem#topup#", &any, "state", s("IN_FLIGHT"))),
        ("a key in flight of an operation without Stripe", set("card_op_idem#pay#", &any, "state", s("IN_FLIGHT"))),
        ("a key in flight with a TTL", in_flight(&good, &[("ttl", n("1"))], &[])),
        ("a key in flight without a fencing token", in_flight(&good, &[], &["fence"])),
        ("a key in flight without a lease", in_flight(&good, &[], &["lease_until"])),
        ("a key in flight that is not due", in_flight(&good, &[], &["due_pk"])),
        ("a parked key without a reason", in_flight(&good, &[("state", s("PARKED"))], &[])),
    ];
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<_> = disorders
        .iter()
        .filter(|(_, bad)| catch_unwind(AssertUnwindSafe(|| bad.check())).is_ok())
        .map(|(what, _)| *what)
        .collect();
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "the audit does not find: {missed:?}");
    good.check();
    let claimed = in_flight(&good, &[], &[]);
    claimed.check();
    assert_eq!((good.in_flight(), claimed.in_flight()), (0, 1));
}

/// The books with the unpaid top-up's key in flight, and with attributes of its marker added and removed.
fn in_flight(good: &Books, more: &[(&str, AttributeValue)], less: &[&str]) -> Books {
    let mut books = good.clone();
    let unpaid = |row: &Row| row.get("state") == Some(&AttributeValue::S("pending".to_owned()));
    let key = find(&books, "TOPUP", unpaid);
    let topup = books.rows.entry(key).or_default();
    topup.insert("state".to_owned(), AttributeValue::S("requested".to_owned()));
    topup.remove("payment_intent");
    let name = topup.get("idempotency_key").cloned();
    let key = find(&books, "card_op_idem#topup#", |row| row.get("idempotency_key") == name.as_ref());
    let marker = books.rows.entry(key).or_default();
    for removed in ["ttl", "status", "content_type", "location", "body"] {
        marker.remove(removed);
    }
    let flight = [
        ("state", "IN_FLIGHT"),
        ("lease_until", "2026-11-21T03:00:30.000Z"),
        ("due_pk", "audit#due#flight#0"),
        ("due_sk", "2026-11-21T03:00:30.000Z#x"),
    ];
    marker.extend(flight.map(|(name, text)| (name.to_owned(), AttributeValue::S(text.to_owned()))));
    marker.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    for removed in less {
        assert!(marker.remove(*removed).is_some(), "no {removed}");
    }
    books
}
