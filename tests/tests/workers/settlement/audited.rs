//! The audit finds errors planted in settlements, and names the settlement.

use ledger_core::dynamo::{Item, Value};
use ledger_core::settlements::{Outcome, Step, Task};
use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::audit::{Books, n, number, opt_text, s};
use ledger_tests::engine::PrimaryKey;
use ledger_tests::http::settling::Settling;
use rust_decimal::Decimal;
use serde_json::json;

/// Books with a returned settlement, and one that has collected the returned money and a payment.
async fn books_in_order() -> Books {
    let shop = Settling::by_stripe("audited").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let payout = shop.payouts().pop().expect("a payout");
    let payout = payout["id"].as_str().expect("an id");
    let _ = shop.world.stripe(&format!("/payouts/{payout}/fail"), &json!({})).await;
    assert_eq!(shop.world.deliver("payout.failed", payout).await, 200);
    shop.take("1000").await;
    shop.credit().await;
    let next = shop.close().await;
    while shop.run(&next, Task::Do(Step::Collect)).await == Ok(Outcome::Again) {}
    shop.world.check_books().await
}

fn find(books: &Books, prefix: &'static str, is: impl Fn(&Item) -> bool) -> PrimaryKey {
    let (pk, sk, _) = books.under(prefix).find(|(_, _, row)| is(row)).unwrap_or_else(|| panic!("no {prefix}"));
    (pk.to_owned(), sk.to_owned())
}

fn changed(good: &Books, key: &PrimaryKey, change: impl FnOnce(&mut Item)) -> Books {
    let mut books = good.clone();
    change(books.rows.get_mut(key).expect("the row"));
    books
}

#[tokio::test]
async fn each_error_planted_in_settlements_is_found() {
    let good = books_in_order().await;
    let returned = find(&good, "SETTLEMENT#", |row| opt_text(row, "state") == Some("returned"));
    let open = find(&good, "SETTLEMENT#", |row| opt_text(row, "state") == Some("collecting"));
    let settling = find(&good, "SETTLING", |_| true);
    let owed_again = find(&good, "RETURNED#", |row| row.contains_key("settlement_id"));
    let settled = find(&good, "TXN#", |row| opt_text(row, "_period") == Some("L0/1"));
    let payment = find(&good, "PAYMENT", |_| true);
    let more = |name: &'static str| {
        changed(&good, &returned, |row| {
            let more = number(row, name) + Decimal::ONE;
            row.insert(name.to_owned(), n(more));
        })
    };
    let with = |key: &PrimaryKey, name: &str, value: Value| {
        changed(&good, key, |row| drop(row.insert(name.to_owned(), value)))
    };
    let without =
        |key: &PrimaryKey, name: &str| changed(&good, key, |row| drop(row.remove(name).expect("the attribute")));
    let mut none_owed = good.clone();
    none_owed.rows.remove(&owed_again);
    let plants = [
        ("settlements equal records", &returned, more("records")),
        ("settlements equal records", &returned, more("taken_ecopay")),
        ("settlements equal records", &returned, with(&returned, "refunded_ecopay", n(1))),
        ("settlements equal records", &returned, without(&settled, "_period")),
        ("settlements equal records", &settled, without(&settled, "_credited_at")),
        ("settlements equal records", &open, without(&owed_again, "settlement_id")),
        ("settlements equal records", &owed_again, without(&owed_again, "credited_at")),
        ("settlements equal records", &owed_again, with(&owed_again, "merchant_id", s("another"))),
        ("returned payouts are listed", &owed_again, without(&owed_again, "credited_at")),
        ("returned payouts are listed", &owed_again, with(&owed_again, "_due_pk", s("audited#due#0"))),
        ("settlements divide into parts", &returned, more("fee")),
        ("settlements divide into parts", &returned, more("net")),
        ("one settlement is open", &settling, without(&settling, "open")),
        ("one settlement is open", &settling, with(&returned, "state", s("paying"))),
        ("over settlements are not due", &returned, with(&returned, "_due_pk", s("audited#due#0"))),
        ("returned settlements are owed again", &returned, none_owed),
        ("returned settlements are owed again", &returned, more("payable")),
        ("merchants are owed what is posted", &settling, with(&payment, "captured_ecopay", n(1))),
    ];
    for (rule, (pk, sk), books) in &plants {
        // A sum of a merchant names the merchant, and any other finding the row.
        let (row, merchant) = (format!("{pk} {sk}"), pk.replacen("audited#merchant#", "merchant:", 1));
        let is_named = |what: &str| what.contains(&row) || what.starts_with(&merchant);
        let findings = [books.findings(), books.findings_when_credited()].concat();
        let found = findings.iter().any(|finding| finding.rule == *rule && is_named(&finding.what));
        assert!(found, "{rule} of {row}: {findings:#?}");
    }
}

/// Books with a paid settlement of period 1, a refused one that gave period 2 back, the open period, and a payment that is
/// not sealed.
async fn books_with_periods() -> Books {
    let shop = Settling::by_stripe("audited-lanes").await;
    let first = shop.take("3000").await;
    shop.take("500").await;
    shop.refund(&first, "100").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.take("400").await;
    shop.credit().await;
    shop.kyc.answer(at.merchant, KycAnswer::Refused);
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.take("1000").await;
    shop.credit().await;
    shop.take("70").await;
    shop.world.check_books().await
}

#[tokio::test]
async fn each_error_planted_in_periods_is_found() {
    let good = books_with_periods().await;
    good.check_credited();
    good.check_sealed();
    let is_sale = |row: &Item| row.contains_key("credited_by");
    let paid = find(&good, "SETTLEMENT#", |row| opt_text(row, "state") == Some("paid"));
    let undone = find(&good, "SETTLEMENT#", |row| opt_text(row, "state") == Some("undone"));
    let lane = find(&good, "CREDITED#", |_| true);
    let closed = find(&good, "PERIOD#L", |row| row.contains_key("settlement_id"));
    let due = find(&good, "PERIOD#L", |row| !row.contains_key("settlement_id"));
    let listed = (due.0.clone(), due.1.replacen("PERIOD#", "PERIOD_BACK#", 1));
    let balance = find(&good, "BALANCE#ECOPAY", |row| !row.contains_key("exposure"));
    let [sealed, waiting] = [true, false]
        .map(|is_sealed| find(&good, "TXN#", |row| is_sale(row) && row.contains_key("_sealed") == is_sealed));
    let other = find(&good, "TXN#", |row| !is_sale(row) && row.contains_key("_sealed"));
    let refund = find(&good, "REFUND#", |row| row.contains_key("parts"));
    let payment = find(&good, "PAYMENT", |_| true);
    let with = |key: &PrimaryKey, name: &str, value: Value| {
        changed(&good, key, |row| drop(row.insert(name.to_owned(), value)))
    };
    let without =
        |key: &PrimaryKey, name: &str| changed(&good, key, |row| drop(row.remove(name).expect("the attribute")));
    let deleted = |key: &PrimaryKey| {
        let mut books = good.clone();
        books.rows.remove(key);
        books
    };
    let part = |yen: &str| Value::M(Item::from([("ECOPAY".to_owned(), n(yen))]));
    let is_closing = |name: &&String| name.starts_with("closed_batch_");
    let closing = good.rows[&paid].keys().find(is_closing).expect("a closed period").clone();
    let named_twice = with(&undone, "closed_batch_0", good.rows[&paid][&closing].clone());
    let (periods, credited) = ("periods equal entries", "entries are credited when sealed");
    let (balances, by_seals) = ("merchants' balances equal postings", "merchants are credited by seals");
    let (settlements, segments) = ("settlements equal records", "merchants are credited until a segment");
    let plants = [
        (periods, with(&sealed, "_period", s("L0/9"))),
        (periods, with(&sealed, "_period", s("L5/1"))),
        (periods, without(&sealed, "_sealed")),
        (periods, with(&lane, "taken_ecopay", n(1001))),
        (periods, with(&lane, "period_records", n(2))),
        (periods, with(&lane, "period", n(4))),
        (periods, without(&lane, "period")),
        (periods, with(&lane, "segment", n(1))),
        (periods, deleted(&lane)),
        (periods, with(&closed, "refunded_ecopay", n(99))),
        (periods, with(&closed, "merchant_id", s("another"))),
        (periods, with(&closed, "period_id", s("L0/2"))),
        (periods, deleted(&closed)),
        (periods, without(&paid, &closing)),
        (periods, without(&closed, "settlement_id")),
        (periods, with(&due, "settlement_id", s("another"))),
        (periods, with(&due, "_due_pk", s("audited-lanes#due#0"))),
        (periods, deleted(&listed)),
        (periods, named_twice),
        (credited, without(&sealed, "_period")),
        (credited, without(&sealed, "_credited_at")),
        (credited, without(&sealed, "_sealed")),
        (credited, without(&sealed, "credited_by")),
        (credited, with(&sealed, "_period", s("L5/1"))),
        (credited, with(&other, "_period", s("L0/1"))),
        (credited, without(&waiting, "_due_pk")),
        (credited, with(&waiting, "_due_sk", s("x"))),
        (credited, with(&waiting, "_due_pk", s("audited-lanes#due#publish_late#0"))),
        (credited, with(&waiting, "_period", s("L0/1"))),
        (credited, with(&refund, "_credited_at", s("2026-11-21T03:00:00.000Z"))),
        (credited, with(&payment, "_due_pk", s("audited-lanes#due#0"))),
        (by_seals, without(&sealed, "credited_by")),
        (by_seals, with(&other, "credited_by", s("seal"))),
        (credited, with(&payment, "merchant_delta", part("3000"))),
        (by_seals, with(&refund, "parts", part("-99"))),
        (by_seals, with(&payment, "captured_ecopay", n(1))),
        (balances, with(&balance, "balance", n(1))),
        (balances, with(&lane, "taken_ecopay", n(1001))),
        (balances, deleted(&lane)),
        (balances, without(&waiting, "credited_by")),
        (balances, without(&sealed, "_credited_at")),
        (settlements, without(&sealed, "_period")),
        (settlements, without(&closed, "settlement_id")),
        (settlements, with(&paid, "records", n(4))),
        (segments, with(&lane, "segment", n(99))),
    ];
    for (place, (rule, books)) in plants.iter().enumerate() {
        let findings = [books.findings(), books.findings_when_credited(), books.findings_when_sealed()].concat();
        assert!(findings.iter().any(|finding| finding.rule == *rule), "{place}: {rule}: {findings:#?}");
    }
}
