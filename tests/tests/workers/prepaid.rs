//! The report of prepaid payment instruments: it adds up, and equals the books.

use super::figures::{Town, today};
use ledger_core::account::Account;
use ledger_core::time::BusinessDate;
use ledger_runtime::clock::Clock;
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::{Call, World};
use rust_decimal::Decimal;
use serde_json::Value;

fn number(value: &Value) -> Decimal {
    value.as_str().expect("a text").parse().expect("a number")
}

fn is_base_date(date: BusinessDate) -> bool {
    [(3, 31), (9, 30)].contains(&date.month_and_day())
}

/// The days since the base date before this date.
fn days_to_base_date(date: BusinessDate) -> u16 {
    (1..=u16::MAX).find(|days| is_base_date(date.days_before(*days))).expect("a base date")
}

/// A clock that shows the day before the last base date, whose next noon is on that date.
fn before_a_base_date() -> TestClock {
    let clock = TestClock::default();
    let back = days_to_base_date(Clock::system().now().business_date().days_before(2)) + 2;
    // A town's clock goes on to noon of the next day.
    clock.skew_s(-i64::from(back + 2) * 24 * 60 * 60);
    clock
}

fn report(world: &World, query: &str) -> Call {
    Call::get(&format!("/v1/admin/prepaid-report{query}"), &world.operator.who)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prepaid_report_adds_up_and_equals_the_books() {
    let town = Town::open(before_a_base_date(), "prepaid").await;
    let world = &town.world;
    town.trade().await;
    let _ = world.seal_and_fold().await;
    town.next_noon();
    let base = today(world);
    assert!(is_base_date(base), "{base}");
    town.trade().await;
    let _ = world.seal_and_fold().await;
    let books = world.check_books().await;
    let not_over = world.api.send(&report(world, &format!("?date={base}"))).await.problem(400, "invalid_request");
    assert_eq!(not_over.text("/detail"), "date: must be over");
    town.next_noon();
    // What is paid after the base date is not in the report.
    town.trade().await;
    let _ = world.seal_and_fold().await;
    let shown = world.api.send(&report(world, "")).await.good().json();
    assert_eq!((&shown["date"], &shown["status"]), (&base.to_string().into(), &"closed".into()));
    let (instruments, excluded) = (shown["instruments"].as_array().unwrap(), shown["excluded"].as_array().unwrap());
    assert_eq!(excluded.len(), 1, "{shown:#}");
    assert_eq!((&excluded[0]["asset"], &excluded[0]["why"]), (&"POINT".into(), &"not_paid_for".into()));
    // A merchant that takes cash for a card's load owes it.
    let is_merchant = |account| matches!(account, Account::Merchant(_));
    let merchants = world.added_up(|entry| entry.created_at < base.bounds().1, is_merchant).await;
    let payments = merchants.iter().filter(|((operation, _, _), _)| operation != "card_topup");
    let paid: Decimal = payments.map(|(_, (_, gained, lost))| gained - lost).sum();
    let mut unused = Decimal::ZERO;
    for instrument in instruments {
        let of = |name: &str| number(&instrument[name]);
        let flow = |name: &str| number(&instrument["flows"][name]);
        let into: Decimal = ["issued", "granted", "taken_over", "corrected"].map(flow).iter().sum();
        let out: Decimal = ["used", "refunded", "lapsed", "disputed"].map(flow).iter().sum();
        assert_eq!(of("opening") + into - out, of("unused"), "{instrument:#}");
        assert_eq!(of("wallets") + of("cards") + of("unclaimed"), of("unused"));
        let asset = instrument["asset"].as_str().unwrap();
        assert_eq!(of("wallets"), books.posted_under("customer:", asset));
        assert_eq!(of("cards"), books.posted_under("card:", asset));
        assert_eq!(flow("used"), paid);
        unused += of("unused");
    }
    assert_eq!(instruments.len(), 1, "{shown:#}");
    assert_eq!(number(&shown["unused"]), unused);
    assert_eq!(shown.get("deposit"), None);
    let before = base.days_before(days_to_base_date(base));
    let earlier = world.api.send(&report(world, &format!("?date={before}"))).await.good().json();
    assert_eq!((&earlier["unused"], &earlier["instruments"]), (&"0".into(), &serde_json::json!([])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prepaid_report_is_a_file_if_that_is_asked_for() {
    let town = Town::new("prepaid-file").await;
    let world = &town.world;
    let answer = world.api.send(&report(world, "?format=csv")).await.good();
    assert_eq!(answer.header("content-type").expect("a type"), "text/csv; charset=utf-8; header=present");
    assert!(answer.header("content-disposition").expect("a name").contains("prepaid-20"));
    assert!(answer.body.starts_with("\u{feff}date,asset,instrument,opening,"), "{}", answer.body);
    let rows: Vec<&str> = answer.body.trim_end().split("\r\n").collect();
    assert!(rows[0].ends_with(",deposit,status") && rows[1].ends_with(",,provisional"), "{rows:#?}");
    let columns = |row: &str| row.split(',').count();
    assert!(rows.iter().all(|row| columns(row) == columns(rows[0])), "{rows:#?}");
    for query in ["?date=2026-09-29", "?date=x", "?format=pdf", "?hello=1"] {
        let _ = world.api.send(&report(world, query)).await.problem(400, "invalid_request");
    }
}
