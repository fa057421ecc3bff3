//! Periods: each entry is settled once, in the settlement that closed its period, whatever is given back.

use ledger_core::ids::MerchantId;
use ledger_core::settlements::{Outcome, Step, Task};
use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::audit::{Books, text};
use ledger_tests::http::settling::Settling;
use serde_json::{Value, json};

fn sum(view: &Value, part: &str) -> String {
    view["totals"]["ECOPAY"][part].as_str().unwrap_or("0").to_owned()
}

/// Runs a settlement to its end; returns the operator's view.
async fn settled(shop: &Settling) -> Value {
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.view(&at).await
}

/// The closed periods, each with whether a settlement has it.
fn periods(books: &Books) -> Vec<(String, bool)> {
    let periods = books.under("PERIOD#").map(|(_, _, row)| row);
    periods.map(|row| (text(row, "period_id").to_owned(), row.contains_key("settlement_id"))).collect()
}

#[tokio::test]
async fn settlement_takes_the_open_period_and_a_late_refund_is_in_the_next() {
    let shop = Settling::new("periods").await;
    let payment = shop.take("3000").await;
    shop.take("500").await;
    shop.refund(&payment, "100").await;
    shop.credit().await;
    shop.world.check_books().await.check_credited();

    let at = shop.close().await;
    let _ = shop.tap.take();
    assert_eq!(shop.run(&at, Task::Do(Step::Collect)).await, Ok(Outcome::Next));
    let targets = shop.tap.take_targets();
    let writes = targets.iter().filter(|target| *target == "TransactWriteItems").count();
    assert_eq!(writes, 1, "three entries are collected by one write: {targets:?}");
    // The period is closed: what is credited from now on is in the next settlement.
    shop.refund(&payment, "50").await;
    shop.take("700").await;
    shop.credit().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!(
        (view["records"].as_i64(), sum(&view, "taken"), sum(&view, "refunded")),
        (Some(3), "3500".into(), "100".into())
    );

    let next = settled(&shop).await;
    assert_eq!(
        (next["records"].as_i64(), sum(&next, "taken"), sum(&next, "refunded")),
        (Some(2), "700".into(), "50".into())
    );
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    // Nothing was credited since: no period is closed.
    assert_eq!(settled(&shop).await["status"], "carried");
    let books = shop.world.check_books().await;
    assert_eq!(periods(&books), [1, 2].map(|number| (format!("L0/{number}"), true)));
}

#[tokio::test]
async fn periods_given_back_are_paid_by_the_next_settlement() {
    let shop = Settling::new("periods-back").await;
    let merchant = MerchantId::parse(&shop.merchant.id).expect("an id");
    shop.kyc.answer(merchant, KycAnswer::Refused);
    // The second settlement takes the first one's period too, and gives back both.
    for (amount, records) in [("3000", 1), ("500", 2)] {
        shop.take(amount).await;
        shop.credit().await;
        let at = shop.close().await;
        assert_eq!(shop.run(&at, Task::Do(Step::Collect)).await, Ok(Outcome::Next));
        assert_eq!(shop.view(&at).await["records"], records);
        assert_eq!(shop.walk(&at).await, Ended::Over);
        let view = shop.view(&at).await;
        assert_eq!((&view["status"], &view["records"]), (&json!("undone"), &json!(0)));
        shop.world.check_books().await;
    }
    assert_eq!(periods(&shop.world.books().await), [1, 2].map(|number| (format!("L0/{number}"), false)));
    shop.kyc.answer(merchant, KycAnswer::Passed { reference: "chk".to_owned() });
    shop.take("20").await;
    shop.credit().await;
    let view = settled(&shop).await;
    assert_eq!(
        (&view["status"], &view["records"], sum(&view, "taken")),
        (&json!("booked"), &json!(3), "3520".to_owned())
    );
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    let books = shop.world.check_books().await;
    assert_eq!(periods(&books), [1, 2, 3].map(|number| (format!("L0/{number}"), true)));
}
