//! Records in states and of kinds unknown to the ledger: each is a break, and stays one when its group is read again.

use super::export::{export, found as found_in, reconciled};
use super::planted::{all, found, remove, stage};
use ledger_core::dynamo::Item;
use ledger_runtime::settlement::Ended;
use ledger_tests::audit::{Books, MARKERS, opt_text, s, text};
use ledger_tests::http::World;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::world::new_id;
use serde_json::json;
use std::time::Duration;

/// An id that no record has.
const ABSENT: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

/// One change made past the ledger, and the break that it must cause.
pub(super) struct Plant {
    why: &'static str,
    /// Rows that are written over the original ones.
    written: Vec<Item>,
    /// Rows that are deleted.
    deleted: Vec<Item>,
    expected: (&'static str, String),
}

impl Plant {
    pub(super) fn new(why: &'static str, kind: &'static str, subject: impl Into<String>) -> Self {
        Self { why, written: Vec::new(), deleted: Vec::new(), expected: (kind, subject.into()) }
    }

    /// A row made unreadable by the value of one attribute.
    pub(super) fn unreadable(why: &'static str, row: &Item, attribute: &str, value: &str) -> Self {
        Self::new(why, "unreadable_item", shown(row)).write(changed(row, attribute, value))
    }

    pub(super) fn write(mut self, row: Item) -> Self {
        self.written.push(row);
        self
    }

    pub(super) fn delete(mut self, row: &Item) -> Self {
        self.deleted.push(row.clone());
        self
    }

    /// Checks that a run finds the break in the table and in an export, then restores the rows.
    async fn check_found(&self, world: &World, books: &Books) -> Result<(), String> {
        for row in &self.written {
            world.plant(row.clone()).await;
        }
        for row in &self.deleted {
            remove(world, row).await;
        }
        let report = world.reconciled().await;
        let directory = export(&world.tenant, &world.books().await, |count| count);
        let exported = found_in(&reconciled(&directory).await.expect("an export"));
        let _ = std::fs::remove_dir_all(directory);
        for row in &self.written {
            match books.row(text(row, "uuid"), text(row, "type")) {
                Some(original) => world.plant(original.clone()).await,
                None => remove(world, row).await,
            }
        }
        for row in &self.deleted {
            world.plant(row.clone()).await;
        }
        let (kind, subject) = &self.expected;
        let (expected, findings) = (found(kind, subject), all(&report, |_| true));
        // An export is not compared with the provider.
        let is_in_export = kind.starts_with("provider_") || exported.is_superset(&expected);
        if report["status"] == "breaks" && findings.is_superset(&expected) && is_in_export {
            return Ok(());
        }
        Err(format!("{}: {kind} of {subject} is not in {} {findings:?}, {exported:?}", self.why, report["status"]))
    }
}

/// Asserts that each plant is found, and that the books are clean afterwards.
pub(super) async fn assert_found(world: &World, books: &Books, plants: Vec<Plant>) {
    let mut missed = Vec::new();
    for plant in plants {
        missed.extend(plant.check_found(world, books).await.err());
    }
    assert!(missed.is_empty(), "{} were missed:\n{}", missed.len(), missed.join("\n"));
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "everything is repaired: {report}");
}

pub(super) fn changed(row: &Item, attribute: &str, value: &str) -> Item {
    let mut row = row.clone();
    row.insert(attribute.to_owned(), s(value));
    row
}

/// A row's name in a report.
fn shown(row: &Item) -> String {
    let sk = text(row, "type");
    match MARKERS.iter().find_map(|prefix| sk.strip_prefix(prefix)).and_then(|rest| rest.split('#').next()) {
        Some(operation) => format!("{} marker of {operation}", owner(row)),
        None => format!("{} {sk}", owner(row)),
    }
}

fn owner(row: &Item) -> String {
    let mut parts = text(row, "uuid").splitn(3, '#').skip(1);
    format!("{}:{}", parts.next().expect("a kind"), parts.next().expect("an id"))
}

pub(super) fn subject(row: &Item, kind: &str) -> String {
    format!("{kind}:{}", text(row, &format!("{kind}_id")))
}

/// The first row of a partition under a prefix for which `is` holds.
pub(super) fn row<'a>(books: &'a Books, partition: &str, prefix: &'static str, is: impl Fn(&Item) -> bool) -> &'a Item {
    let mut rows = books.under(prefix).filter(|(pk, _, row)| pk.split('#').nth(1) == Some(partition) && is(row));
    rows.next().unwrap_or_else(|| panic!("no {prefix} of a {partition}")).2
}

fn entry<'a>(books: &'a Books, operation: &str) -> &'a Item {
    row(books, "customer", "TXN#", |row| text(row, "operation") == operation)
}

/// An item of a kind that the ledger does not write, in the partition of `beside`.
fn unknown_item(beside: &Item, sk: &str) -> Item {
    Item::from([("uuid".to_owned(), beside["uuid"].clone()), ("type".to_owned(), s(sk))])
}

/// Creates a paid top-up with a dispute, and waits for its clawback.
async fn disputed(world: &World) -> Books {
    let customer = world.customer().await;
    let topup = world.paid_topup(&customer, "900").await;
    let _ = world.stripe(&format!("/payment_intents/{}/dispute", topup.intent), &json!({})).await;
    for _ in 0..200 {
        let books = world.books().await;
        if books.under("CLAWBACK#").next().is_some() {
            return books;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the dispute never arrives")
}

#[tokio::test]
async fn record_in_an_unknown_state_is_unreadable() {
    let stage = stage("foreign-states").await;
    let books = disputed(&stage.world).await;
    let any = |_: &Item| true;
    let plants = vec![
        Plant::unreadable("payment", row(&books, "payment", "PAYMENT", any), "state", "settled"),
        Plant::unreadable("hold", row(&books, "payment", "HOLD", any), "state", "authorised"),
        Plant::unreadable("refund", row(&books, "payment", "REFUND#", any), "kind", "chargeback"),
        Plant::unreadable("top-up", row(&books, "topup", "TOPUP", any), "state", "paid"),
        Plant::unreadable("refund of a top-up", row(&books, "topup", "REFUND#", any), "state", "done"),
        Plant::unreadable("clawback", row(&books, "topup", "CLAWBACK#", any), "state", "lost"),
        Plant::unreadable("entry", entry(&books, "pay"), "operation", "gift"),
        Plant::unreadable("entry's status", entry(&books, "capture"), "payment_status", "taken"),
        Plant::unreadable("entry's decision", entry(&books, "topup"), "decided", "maybe"),
        Plant::unreadable("reference", row(&books, "customer", "TXNREF#", any), "operation", "gift"),
        Plant::unreadable("reference's home", row(&books, "customer", "TXNREF#", any), "home", "wallet:1"),
        Plant::unreadable("marker", row(&books, "customer", "card_op_idem#pay", any), "state", "LOST"),
        Plant::unreadable("balance", row(&books, "customer", "BALANCE#ECOPAY", any), "corrected_at", "today"),
        Plant::unreadable("marker's operation", row(&books, "customer", "card_op_idem#pay", any), "operation", "gift"),
        Plant::unreadable("approval", row(&books, "approvals", "APPROVAL#", any), "state", "posted"),
        Plant::unreadable("card", row(&books, "card", "card", any), "state", "melted"),
    ];
    assert_found(&stage.world, &books, plants).await;
}

#[tokio::test]
async fn item_of_an_unknown_kind_is_newer_and_no_break() {
    let stage = stage("foreign-kinds").await;
    let books = stage.world.books().await;
    let any = |_: &Item| true;
    let payment = row(&books, "payment", "PAYMENT", any);
    let tenant = &stage.world.tenant;
    let rows = [
        unknown_item(payment, "CHARGEBACK#1"),
        unknown_item(payment, "HOLD#2"),
        unknown_item(row(&books, "topup", "TOPUP", any), "VOUCHER"),
        unknown_item(row(&books, "customer", "PROFILE", any), "LOAN#1"),
        unknown_item(row(&books, "merchant", "PROFILE", any), "TOPUP"),
        unknown_item(row(&books, "card", "card", any), "BALANCE#ECOPAY"),
        unknown_item(row(&books, "tenant", "CONFIG", any), "ASSETS"),
        changed(&unknown_item(payment, "PAYMENT"), "uuid", &format!("{tenant}#wallet#{}", new_id())),
    ];
    let before = stage.world.reconciled().await;
    for row in rows {
        stage.world.plant(row).await;
    }
    let after = stage.world.reconciled().await;
    assert_eq!(after["newer"], json!({"unknown kind": 8}), "{after}");
    assert_eq!(after["breaks"], before["breaks"], "{after}");
}

#[tokio::test]
async fn record_whose_id_differs_from_its_key_is_unreadable() {
    let stage = stage("foreign-ids").await;
    let books = stage.world.books().await;
    let any = |_: &Item| true;
    let mut plants = Vec::new();
    for (partition, prefix, attribute) in [
        ("payment", "PAYMENT", "payment_id"),
        ("payment", "HOLD", "payment_id"),
        ("payment", "REFUND#", "refund_id"),
        ("topup", "TOPUP", "topup_id"),
        ("topup", "REFUND#", "topup_id"),
        ("customer", "TXN#", "transaction_id"),
        ("customer", "TXNREF#", "transaction_id"),
    ] {
        plants.push(Plant::unreadable(prefix, row(&books, partition, prefix, any), attribute, ABSENT));
    }
    assert_found(&stage.world, &books, plants).await;
}

#[tokio::test]
async fn fact_without_its_record_is_a_break() {
    let stage = stage("foreign-facts").await;
    let books = disputed(&stage.world).await;
    let any = |_: &Item| true;
    let has_entry = |row: &Item| opt_text(row, "entry_id").is_some();
    let transaction = |row: &Item| subject(row, "transaction");
    let reference = row(&books, "customer", "TXNREF#", any);
    let marker = row(&books, "customer", "card_op_idem#pay", has_entry);
    let approval = row(&books, "approvals", "APPROVAL#", |row| opt_text(row, "transaction_id").is_some());
    let event = row(&books, "stripe_event", "event", has_entry);
    let elsewhere = format!("customer:{}", new_id());
    let with_refund = row(&books, "topup", "REFUND#", any);
    let disputed = row(&books, "topup", "CLAWBACK#", any);
    let topup = |of: &Item| row(&books, "topup", "TOPUP", |row| text(row, "topup_id") == text(of, "topup_id"));
    let topup_entry = entry(&books, "topup");
    let foreign_step = |operation: &str| changed(topup_entry, "operation", operation);
    let plants = vec![
        Plant::new("reference", "entry_differs", transaction(reference)).write(changed(reference, "operation", "pay")),
        Plant::new("marker", "entry_differs", format!("transaction:{}", text(marker, "entry_id"))).write(changed(
            marker,
            "entry_home",
            &elsewhere,
        )),
        Plant::new("approval of no entry", "entry_missing", format!("transaction:{ABSENT}")).write(changed(
            approval,
            "transaction_id",
            ABSENT,
        )),
        Plant::new("event", "entry_differs", format!("transaction:{}", text(event, "entry_id"))).write(changed(
            event,
            "entry_home",
            &elsewhere,
        )),
        Plant::new("marker of no entry", "entry_missing", format!("transaction:{ABSENT}"))
            .write(changed(marker, "entry_id", ABSENT)),
        Plant::new("top-up", "topup_missing", subject(topup(disputed), "topup"))
            .delete(topup(disputed))
            .delete(disputed),
        Plant::new("top-up and its refund", "topup_missing", subject(topup(with_refund), "topup"))
            .delete(topup(with_refund))
            .delete(with_refund),
        Plant::new("refund of a top-up", "topup_differs", subject(with_refund, "topup")).delete(with_refund),
        Plant::new("refund of a top-up at the provider", "provider_refund_differs", subject(with_refund, "topup"))
            .delete(with_refund),
        Plant::new("clawback", "topup_differs", subject(disputed, "topup")).delete(disputed),
        Plant::new("step of no top-up", "topup_differs", subject(topup_entry, "topup")).write(foreign_step("grant")),
        Plant::new("payment", "payment_missing", subject(row(&books, "payment", "REFUND#", any), "payment"))
            .delete(row(&books, "payment", "PAYMENT", |row| text(row, "state") == "partially_refunded")),
    ];
    assert_found(&stage.world, &books, plants).await;
}

#[tokio::test]
async fn settlement_with_foreign_facts_is_a_break() {
    let shop = Settling::by_stripe("foreign-settlement").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let world = &shop.world;
    let books = world.books().await;
    let any = |_: &Item| true;
    let settlement = row(&books, "merchant", "SETTLEMENT#", any);
    let paid = row(&books, "merchant", "TXN#", |row| text(row, "operation") == "settlement_payout");
    let closed = row(&books, "merchant", "PERIOD#", any);
    let mut given_back = closed.clone();
    let _ = given_back.remove("settlement_id");
    let another = new_id();
    let of_another = changed(closed, "uuid", &format!("{}#merchant#{another}", world.tenant));
    let beside = changed(&changed(closed, "type", "PERIOD#L00#00000009"), "period_id", "L0/9");
    let of = || subject(settlement, "settlement");
    let plants = vec![
        Plant::unreadable("state", settlement, "state", "sent"),
        Plant::unreadable("another's key", settlement, "settlement_id", &new_id()),
        Plant::unreadable("another merchant", settlement, "merchant_id", &new_id()),
        Plant::new("no record", "settlement_differs", of()).delete(settlement),
        Plant::new("entries alone", "settlement_differs", of()).delete(settlement).write(given_back),
        Plant::new("foreign entry", "settlement_differs", of()).write(changed(paid, "operation", "pay")),
        Plant::new("period of another merchant", "settlement_differs", of()).write(changed(
            &of_another,
            "merchant_id",
            &another,
        )),
        Plant::new("period that it did not close", "settlement_differs", of()).write(beside),
    ];
    assert_found(world, &books, plants).await;
}
