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
    let stage = Stage::set(World::alone("audit").await).await;
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
    from_outside(&stage.world).await;
    stage.world.check_books().await
}

/// Top-ups: one unpaid, and one with a paid refund, a pending refund, and a dispute above the wallet's balance.
async fn from_outside(world: &World) {
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
    panic!("the dispute's money is never taken");
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
    let is = |name: &'static str, number: &'static str| move |row: &Row| row.get(name) != Some(&n(number));
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
        ("a balance that is too high", set("BALANCE#ECOPAY", &is("balance", "0"), "balance", n("999999"))),
        ("a balance below zero", set("BALANCE#POINT", &any, "balance", n("-1"))),
        ("an exposure of its own", set("BALANCE#POINT", &any, "exposure", n("7"))),
        ("something held that was never posted", set("BALANCE#POINT", &any, "held", n("7"))),
        ("a card with a yen more", set("card", &|row| row.contains_key("card_id"), "balance", n("1001"))),
        ("an entry without postings", set("TXN#", &any, "postings", none)),
        ("an entry that is gone", without("TXN#", &operation("transfer"))),
        ("an entry that stands twice", doubled("TXN#", &operation("grant"))),
        ("a payment that is gone", without("PAYMENT", &any)),
        ("a refund that is gone", without("REFUND#", &any)),
        ("a refund that stands twice", doubled("REFUND#", &any)),
        ("more refundable than was paid", set("PAYMENT", &any, "refundable_ecopay", n("1000000"))),
        ("a payment in a state that it is not in", set("PAYMENT", &any, "state", AttributeValue::S("reversed".into()))),
        ("an entry without its marker", without("card_op_idem#pay#", &any)),
        ("a marker without its entry", set("card_op_idem#pay#", &any, "entry_id", AttributeValue::S("x".into()))),
        ("a balance item that is gone", without("BALANCE#ECOPAY", &is("balance", "0"))),
        ("a CO2 estimate that nothing explains", set("METRICS", &any, "co2_total", n("1"))),
        ("a hold that is gone", without("HOLD", &any)),
        ("a held payment that is gone", without("PAYMENT", &is_in("authorized"))),
        ("a hold that nobody looks at", unset("HOLD", &is_in("authorized"), "due_pk")),
        ("a hold that has ended and is looked at", set("HOLD", &is_in("captured"), "due_pk", s("audit#due#hold#0"))),
        ("a hold of a yen more", set("HOLD", &is_in("authorized"), "held_ecopay", n("501"))),
        ("a held payment that says it was captured", set("PAYMENT", &is_in("authorized"), "state", s("captured"))),
        (
            "a held payment of which something can go back",
            set("PAYMENT", &is_in("authorized"), "refundable_ecopay", n("1")),
        ),
        ("more captured than was held", set("PAYMENT", &was_held, "captured_ecopay", n("501"))),
        ("a captured payment that owes nothing", unset("PAYMENT", &was_held, "merchant_delta")),
        ("a capture that is gone", without("TXN#", &operation("capture"))),
        ("headroom that no top-up reserves", set("BALANCE#ECOPAY", &reserves, "reserved", n("701"))),
        ("headroom that is not reserved", unset("BALANCE#ECOPAY", &reserves, "reserved")),
        ("held money posted as spendable", with_postings(&operation("topup_refund"), &|p| drop(p.remove("bucket")))),
        ("a top-up that is gone", without("TOPUP", &succeeded)),
        ("a top-up that was credited and is not paid", set("TOPUP", &succeeded, "state", s("pending"))),
        ("a top-up that is paid and was not credited", set("TOPUP", &is_in("pending"), "state", s("succeeded"))),
        ("a credit that is gone", without("TXN#", &operation("topup"))),
        ("a credit that stands twice", doubled("TXN#", &operation("topup"))),
        ("a credit under an id of its own", moved("TXN#", &operation("topup"))),
        ("more to refund of a top-up", set("TOPUP", &succeeded, "refundable", n("10000"))),
        ("points that were never taken back", set("TOPUP", &succeeded, "points_taken_back", n("99"))),
        ("a debt of an earlier release", set("TOPUP", &succeeded, "owed", n("1"))),
        ("nothing owed for a dispute", set("BALANCE#ECOPAY", &owes, "owed", n("0"))),
        ("an unpaid top-up that nobody looks at", unset("TOPUP", &is_in("pending"), "due_pk")),
        ("a refund of a top-up that is gone", without("REFUND#", &of_topup("pending"))),
        ("a refund that holds nothing", set("REFUND#", &of_topup("pending"), "state", s("succeeded"))),
        ("a refund that has failed and is not back", set("REFUND#", &of_topup("succeeded"), "state", s("failed"))),
        ("a refund that pays out less", set("REFUND#", &of_topup("succeeded"), "paid", n("1"))),
        ("a refund on its way that nobody looks at", unset("REFUND#", &of_topup("pending"), "due_pk")),
        ("a refund's payment that is gone", without("TXN#", &operation("topup_refund_paid"))),
        ("a clawback that is gone", without("CLAWBACK#", &any)),
        ("a clawback that came back by itself", set("CLAWBACK#", &any, "state", s("returned"))),
        ("a clawback's entry that is gone", without("TXN#", &operation("clawback"))),
        ("an event's marker that is gone", without("event", &is_event_of("clawback"))),
        ("a credit whose event is gone", without("event", &is_event_of("topup"))),
        ("an event's marker without its entry", set("event", &is_event_of("topup"), "entry_id", s("x"))),
        ("an event's marker for ever", unset("event", &any, "ttl")),
        ("an answered key for ever", unset("card_op_idem#topup#", &any, "ttl")),
        ("an answered key that is looked at", set("card_op_idem#topup#", &any, "due_pk", s("x"))),
        ("an answered key with a lease", set("card_op_idem#topup#", &any, "lease_until", s("x"))),
        ("an answer that is gone", unset("card_op_idem#topup_refund#", &any, "body")),
        ("a key in flight that has an answer", set("card_op_idem#topup#", &any, "state", s("IN_FLIGHT"))),
        ("a wallet's key in flight", set("card_op_idem#pay#", &any, "state", s("IN_FLIGHT"))),
        ("a key in flight that lapses", in_flight(&good, &[("ttl", n("1"))], &[])),
        ("a key in flight without a token", in_flight(&good, &[], &["fence"])),
        ("a key in flight without a lease", in_flight(&good, &[], &["lease_until"])),
        ("a key in flight that nobody looks at", in_flight(&good, &[], &["due_pk"])),
        ("a key parked for no reason", in_flight(&good, &[("state", s("PARKED"))], &[])),
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

/// The books as they would be if the unpaid top-up had no response yet, with attributes added and removed.
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
    for gone in ["ttl", "status", "content_type", "location", "body"] {
        marker.remove(gone);
    }
    let flight = [
        ("state", "IN_FLIGHT"),
        ("lease_until", "2026-11-21T03:00:30.000Z"),
        ("due_pk", "audit#due#flight#0"),
        ("due_sk", "2026-11-21T03:00:30.000Z#x"),
    ];
    marker.extend(flight.map(|(name, text)| (name.to_owned(), AttributeValue::S(text.to_owned()))));
    marker.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    for gone in less {
        assert!(marker.remove(*gone).is_some(), "no {gone}");
    }
    books
}
