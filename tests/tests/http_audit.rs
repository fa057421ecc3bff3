//! The audit itself: books that are in order pass it, and each kind of disorder is found. Without this
//! the other tests could not fail.
#![cfg(feature = "stack")]

use aws_sdk_dynamodb::types::AttributeValue;
use ledger_tests::http::World;
use ledger_tests::http::books::{Books, Row};
use ledger_tests::http::endpoints::Stage;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Key = (String, String);

/// Books with something of everything in them.
async fn books() -> Books {
    let stage = Stage::set(World::new("audit").await).await;
    let (customer, payment) = stage.paid("1000").await;
    let _ = stage.world.api.settle(&stage.merchant.refunds(&payment, "300")).await.good();
    let _ = stage.paid_by_card("100").await;
    stage.world.grant(&customer, "POINT", "50").await;
    let other = stage.world.customer().await;
    let _ = stage.world.api.settle(&customer.sends(&other, "10")).await.good();
    let topup = stage.terminal.does("topup", &stage.world.card(None, "0").await, &json!({"amount": "5"}));
    let _ = stage.world.api.settle(&topup).await.good();
    stage.world.check_books().await
}

/// The first row whose sort key begins so and that a question is true of.
fn find(books: &Books, prefix: &'static str, which: impl Fn(&Row) -> bool) -> Key {
    let mut found = books.under(prefix).filter(|(_, _, row)| which(row));
    let (pk, sk, _) = found.next().unwrap_or_else(|| panic!("no {prefix}"));
    (pk.to_owned(), sk.to_owned())
}

fn n(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

#[tokio::test]
async fn every_kind_of_disorder_is_found() {
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
}
