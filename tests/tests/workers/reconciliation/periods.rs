//! Breaks of periods: of their sums, of the entries that name them, and of the settlements that have them.

use super::foreign::{Plant, assert_found, changed, row, subject};
use ledger_core::dynamo::{Item, Value};
use ledger_runtime::settlement::Ended;
use ledger_tests::audit::{n, opt_text, text};
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

/// A period of a lane is in a paid settlement, the next one is open, and a payment is not sealed.
#[tokio::test]
async fn each_break_planted_in_periods_is_found_and_named() {
    let shop = Settling::by_stripe("planted-lanes").await;
    let first = shop.take("3000").await;
    shop.take("500").await;
    shop.refund(&first, "100").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let later = shop.take("700").await;
    shop.credit().await;
    let last = shop.take("80").await;
    let world = &shop.world;
    let books = world.check_books().await;
    books.check_credited();
    let any = |_: &Item| true;
    let merchant = &shop.merchant.id;
    let lane = row(&books, "merchant", "CREDITED#", any);
    let closed = row(&books, "merchant", "PERIOD#L", any);
    let settlement = row(&books, "merchant", "SETTLEMENT#", any);
    let balance = row(&books, "merchant", "BALANCE#ECOPAY", any);
    let sale = |payment: &str, operation: &str| {
        let is_of = |row: &Item| text(row, "operation") == operation && opt_text(row, "payment_id") == Some(payment);
        row(&books, "customer", "TXN#", is_of)
    };
    let (sold, returned) = (sale(&first, "pay"), sale(&first, "refund"));
    let (open, waiting) = (sale(&later, "pay"), sale(&last, "pay"));
    let paid = row(&books, "payment", "PAYMENT", |row| text(row, "payment_id") == first);
    let refund = row(&books, "payment", "REFUND#", any);
    let payment = || subject(paid, "payment");
    let transaction = |row: &Item| format!("transaction:{}", text(row, "transaction_id"));
    let named = text(closed, "period_id");
    let (of_lane, _) = named.split_once('/').expect("a period of a lane");
    let period = |number: u32| format!("period:{merchant}:{of_lane}/{number}");
    let differs = |why: &'static str, of: String| Plant::new(why, "period_differs", of);
    let outstanding = |why: &'static str, of: &Item| Plant::new(why, "credit_outstanding", transaction(of));
    let credit = |why: &'static str| Plant::new(why, "credit_differs", payment());
    let part = |row: &Item, name: &str, yen: i64| {
        let mut row = row.clone();
        row.insert(name.to_owned(), Value::M(Item::from([("ECOPAY".to_owned(), n(yen))])));
        row
    };
    // A list of another settlement that has the period.
    let another = {
        let (id, mut list) = (new_id(), closed.clone());
        let sums = |name: &String| name == "period_records" || name.contains("_ecopay") || name == "period_id";
        let entry: Item =
            list.iter().filter(|(name, _)| sums(name)).map(|(name, sum)| (name.clone(), sum.clone())).collect();
        list.retain(|name, _| ["uuid", "created_at"].contains(&name.as_str()));
        list.insert("records".to_owned(), Value::L(vec![Value::M(entry)]));
        changed(&changed(&list, "settlement_id", &id), "type", &format!("SETTLED#{id}#000001"))
    };
    let of_settlement = || subject(settlement, "settlement");
    let closing = settlement.keys().find(|name| name.starts_with("closed_batch_")).expect("a closed period");
    let plants = vec![
        differs("sum of the open period", period(2)).write(with(lane, "taken_ecopay", 701)),
        differs("records of the open period", period(2)).write(with(lane, "period_records", 2)),
        differs("entries beyond the last segment", period(2)).write(with(lane, "segment", 99)),
        differs("entries before the last segment", period(2)).write(with(lane, "segment", 1)),
        differs("open and closed", period(1)).write(with(lane, "period", 1)),
        differs("the open period is missing", period(2)).delete(lane),
        differs("sum of the closed period", period(1)).write(with(closed, "refunded_ecopay", 99)),
        Plant::new("which its balance has not", "balance_differs", format!("merchant:{merchant}")).write(with(
            closed,
            "refunded_ecopay",
            99,
        )),
        Plant::new("balance", "balance_differs", format!("merchant:{merchant}")).write(with(balance, "balance", 1)),
        differs("no record of it", period(1)).delete(closed),
        Plant::new("nor in the balance", "balance_differs", format!("merchant:{merchant}")).delete(closed),
        Plant::new("nor in its settlement", "settlement_differs", of_settlement()).delete(closed),
        Plant::new("its settlement", "settlement_differs", of_settlement()).write(with(closed, "refunded_ecopay", 99)),
        Plant::unreadable("list of another key", &another, "settlement_id", &new_id()),
        differs("two settlements name it", period(1)).write(another),
        Plant::new("in none by itself", "settlement_differs", of_settlement()).write(without(closed, "settlement_id")),
        Plant::unreadable("sum", closed, "taken_ecopay", "3500"),
        Plant::unreadable("of another merchant", closed, "merchant_id", &new_id()),
        differs("its settlement does not name it", period(1)).write(without(settlement, closing)),
        differs("in another settlement", period(1)).write(changed(closed, "settlement_id", &new_id())),
        differs("in no settlement", period(1)).write(without(closed, "settlement_id")),
        differs("an entry is missing", period(1)).write(without(sold, "_period")),
        differs("a refund is missing", period(1)).write(without(returned, "_period")),
        differs("a period that does not exist", period(9)).write(changed(open, "_period", &format!("{of_lane}/9"))),
        differs("of another lane", transaction(open)).write(changed(open, "_period", "L15/2")),
        differs("sealed and not credited", transaction(open)).write(without(&without(open, "_period"), "_credited_at")),
        differs("credited and not sealed", transaction(open)).write(without(open, "_sealed")),
        differs("credited by nothing", transaction(sold)).write(without(sold, "credited_by")),
        credit("its payment is credited by nothing").write(without(sold, "credited_by")),
        credit("other parts").write(part(refund, "parts", -99)),
        credit("captured another amount").write(with(paid, "captured_ecopay", 3001)),
        Plant::unreadable("credited by another", sold, "credited_by", "worker"),
        outstanding("not due", waiting).write(without(waiting, "_due_pk")),
        outstanding("due for another work", waiting).write(changed(waiting, "_due_pk", "planted-lanes#due#0")),
        outstanding("not due any more", waiting).write(changed(waiting, "_due_pk", "planted-lanes#due#publish_late#0")),
        Plant::new("late", "credit_outstanding", transaction(waiting)).write(changed(
            waiting,
            "created_at",
            "2026-01-01T00:00:00Z",
        )),
        Plant::unreadable("open sum", lane, "taken_ecopay", "700"),
        Plant::unreadable("segment", lane, "segment", "2"),
        Plant::unreadable("number", closed, "period_id", "L0/x"),
    ];
    assert_found(world, &books, plants).await;
}
