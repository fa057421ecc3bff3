//! Breaks of periods: of their sums, of the records that name them, and of the settlements that have them.

use super::foreign::{Plant, assert_found, changed, row, subject};
use ledger_core::dynamo::{Item, Value};
use ledger_runtime::settlement::Ended;
use ledger_tests::audit::{n, text};
use ledger_tests::http::settling::Settling;
use ledger_tests::http::world::new_id;

fn without(row: &Item, attribute: &str) -> Item {
    let mut row = row.clone();
    let _ = row.remove(attribute).expect("the attribute");
    row
}

fn with(row: &Item, attribute: &str, number: i64) -> Item {
    let mut row = row.clone();
    row.insert(attribute.to_owned(), n(number));
    row
}

/// Period 1 is in a paid settlement, and period 2 is open.
#[tokio::test]
async fn each_break_planted_in_periods_is_found_and_named() {
    let shop = Settling::by_stripe("planted-periods").await;
    let first = shop.take("3000").await;
    shop.take("500").await;
    shop.refund(&first, "100").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let later = shop.take("700").await;
    shop.credit().await;
    let world = &shop.world;
    let books = world.check_books().await;
    let any = |_: &Item| true;
    let merchant = &shop.merchant.id;
    let crediting = row(&books, "merchant", "CREDITING", any);
    let closed = row(&books, "merchant", "PERIOD#", any);
    let settlement = row(&books, "merchant", "SETTLEMENT#", any);
    let [settled, waiting] =
        [&first, &later].map(|id| row(&books, "payment", "PAYMENT", |row| text(row, "payment_id") == id));
    let refund = row(&books, "payment", "REFUND#", any);
    let period = |number: u32| format!("period:{merchant}:{number}");
    let differs = |why: &'static str, of: String| Plant::new(why, "period_differs", of);
    let of_settlement = || subject(settlement, "settlement");
    // A list of another settlement that has the period.
    let another = {
        let (id, mut list) = (new_id(), closed.clone());
        let sums = |name: &String| name == "period_records" || name.contains("_ecopay") || name == "period";
        let entry: Item =
            list.iter().filter(|(name, _)| sums(name)).map(|(name, sum)| (name.clone(), sum.clone())).collect();
        list.retain(|name, _| ["uuid", "created_at"].contains(&name.as_str()));
        list.insert("records".to_owned(), Value::L(vec![Value::M(entry)]));
        changed(&changed(&list, "settlement_id", &id), "type", &format!("SETTLED#{id}#000001"))
    };
    let plants = vec![
        differs("record without a period", subject(settled, "payment")).write(without(settled, "period")),
        differs("a record is missing", period(1)).write(without(settled, "period")),
        differs("a refund is missing", period(1)).write(without(refund, "period")),
        differs("a waiting record is missing", period(2)).write(without(waiting, "period")),
        differs("period that does not exist", period(9)).write(with(waiting, "period", 9)),
        differs("in a period and in a settlement", subject(settled, "payment")).write(changed(
            settled,
            "settlement_id",
            text(settlement, "settlement_id"),
        )),
        differs("sum of the open period", period(2)).write(with(crediting, "taken_ecopay", 701)),
        differs("records of the open period", period(2)).write(with(crediting, "period_records", 2)),
        differs("open and closed", period(1)).write(with(crediting, "period", 1)),
        differs("sum of the closed period", period(1)).write(with(closed, "refunded_ecopay", 99)),
        Plant::new("its settlement", "settlement_differs", of_settlement()).write(with(closed, "refunded_ecopay", 99)),
        differs("no record of it", period(1)).delete(closed),
        Plant::new("nor in its settlement", "settlement_differs", of_settlement()).delete(closed),
        Plant::unreadable("list of another key", &another, "settlement_id", &new_id()),
        differs("two settlements name it", period(1)).write(another),
        differs("its settlement does not name it", period(1))
            .write(without(&without(settlement, "closed_period"), "closed_batch")),
        differs("in no settlement", period(1)).write(without(closed, "settlement_id")),
        Plant::new("in none by itself", "settlement_differs", of_settlement()).write(without(closed, "settlement_id")),
        differs("in another settlement", period(1)).write(changed(closed, "settlement_id", &new_id())),
        Plant::unreadable("number", closed, "period", "1"),
        Plant::unreadable("sum", closed, "taken_ecopay", "3500"),
        Plant::unreadable("another merchant", closed, "merchant_id", &new_id()),
        Plant::unreadable("open sum", crediting, "taken_ecopay", "700"),
    ];
    assert_found(world, &books, plants).await;
}
