//! Breaks whose way out is to put one item back, and that the other tests of reconciliation do not plant: each is found, and
//! the run after the item is put back is clean.

use super::foreign::{row, subject};
use super::planted::{all, found, remove, stage};
use ledger_core::dynamo::Item;
use ledger_core::reconcile::Limits;
use ledger_tests::audit::{Books, n, s, text};
use ledger_tests::http::World;
use ledger_tests::http::world::new_id;
use serde_json::{Value, json};
use std::time::Duration;

/// One item written behind the ledger's back, or deleted, and the breaks that are found.
struct Plant {
    why: &'static str,
    /// The item as it is written; `None`: it is deleted.
    written: Option<Item>,
    /// The item as it was; `None`: there was none.
    original: Option<Item>,
    kinds: &'static [&'static str],
    subject: String,
}

fn changed(why: &'static str, of: &Item, numbers: &[(&str, i64)]) -> Plant {
    let mut written = of.clone();
    written.extend(numbers.iter().map(|(name, number)| ((*name).to_owned(), n(*number))));
    Plant { why, written: Some(written), original: Some(of.clone()), kinds: &[], subject: String::new() }
}

impl Plant {
    fn found_as(mut self, kinds: &'static [&'static str], subject: impl Into<String>) -> Self {
        (self.kinds, self.subject) = (kinds, subject.into());
        self
    }

    fn with_text(mut self, name: &str, value: &str) -> Self {
        let written = self.written.as_mut().expect("an item");
        written.insert(name.to_owned(), s(value));
        self
    }
}

async fn put_back(world: &World, plant: &Plant) {
    match (&plant.original, &plant.written) {
        (Some(original), _) => world.plant(original.clone()).await,
        (None, Some(written)) => remove(world, written).await,
        (None, None) => {}
    }
}

/// The wallet that a payment holds part of, with its account and its item.
fn holding(books: &Books) -> (String, &Item) {
    let held = |row: &Item| row.get("held").is_some_and(|held| *held != n(0));
    let wallet = row(books, "customer", "BALANCE#ECOPAY", held);
    let id = text(wallet, "uuid").rsplit('#').next().expect("an id");
    (format!("customer:{id}"), wallet)
}

fn number(row: &Item, name: &str) -> i64 {
    i64::try_from(ledger_tests::audit::number(row, name)).expect("whole yen")
}

#[tokio::test]
async fn each_item_that_is_put_back_ends_its_break() {
    let stage = stage("put-back").await;
    let world = &stage.world;
    let books = world.books().await;
    let (account, wallet) = holding(&books);
    let hold = row(&books, "payment", "HOLD", |row| text(row, "state") == "authorized");
    let pay = row(&books, "customer", "TXN#", |row| text(row, "operation") == "pay");
    let pending = row(&books, "topup", "TOPUP", |row| text(row, "state") == "pending");
    let succeeded = row(&books, "topup", "TOPUP", |row| text(row, "state") == "succeeded");
    let at = |name: &str, more: i64| number(wallet, name) + more;
    let exposed = |more: i64| ("exposure", at("exposure", more));
    let elsewhere = {
        let twin = changed("entry in another partition", pay, &[]);
        Plant { original: None, ..twin }.with_text("uuid", &format!("{}#customer#{}", world.tenant, new_id()))
    };
    let plants = [
        elsewhere.found_as(&["entry_doubled"], subject(pay, "transaction")),
        changed("held", wallet, &[("held", at("held", 1)), exposed(1)]).found_as(&["held_differs"], &account),
        changed("held alone", wallet, &[("held", at("held", 1))])
            .found_as(&["held_differs", "exposure_differs"], &account),
        changed("reserved", wallet, &[("reserved", 1), exposed(1)]).found_as(&["reserved_differs"], &account),
        changed("debt", wallet, &[("owed", 1)]).found_as(&["owed_differs"], &account),
        changed("debt below zero", wallet, &[("owed", -1)]).found_as(&["negative_balance"], &account),
        Plant { written: None, ..changed("no balance", wallet, &[]) }.found_as(&["balance_differs"], &account),
        changed("hold", hold, &[]).with_text("state", "captured").found_as(&["hold_differs"], subject(hold, "payment")),
        changed("credited by the record", pending, &[])
            .with_text("state", "succeeded")
            .found_as(&["credit_without_charge", "topup_differs"], subject(pending, "topup")),
        changed("charge", succeeded, &[("charge", number(succeeded, "charge") + 1)])
            .found_as(&["charge_differs"], subject(succeeded, "topup")),
    ];
    let mut missed = Vec::new();
    for plant in &plants {
        match &plant.written {
            Some(written) => world.plant(written.clone()).await,
            None => remove(world, plant.original.as_ref().expect("an item")).await,
        }
        let report = world.reconciled().await;
        put_back(world, plant).await;
        let findings = all(&report, |_| true);
        for kind in plant.kinds {
            if !findings.is_superset(&found(kind, &plant.subject)) {
                missed.push(format!("{}: {kind} of {} is not in {findings:?}", plant.why, plant.subject));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
    let _ = world.check_books().await;
}

/// Work that is late ends when its worker has run.
#[tokio::test]
async fn late_work_ends_when_its_worker_has_run() {
    let stage = stage("late-work").await;
    let world = &stage.world;
    let customer = world.customer_with("100").await;
    let entry = world.api.settle(&customer.pays(&stage.merchant, "70")).await.good().text("/transaction_id");
    let kinds = async || -> Value {
        let id = world.operator("/v1/admin/reconciliation/runs", &json!({})).await.text("/run_id");
        for _ in 0..50 {
            let none = Limits { event: Duration::ZERO, credit: Duration::ZERO, ..Limits::default() };
            let _ = world.reconcile_as(|settings| settings.limits = none).await.expect("the run succeeds");
            let path = format!("/v1/admin/reconciliation/runs/{id}?limit=100");
            let report = world.api.send(&ledger_tests::http::Call::get(&path, &world.operator.who)).await.good().json();
            if !["requested", "running"].contains(&report["status"].as_str().expect("a status")) {
                return report;
            }
        }
        panic!("{id} did not end")
    };
    let late = all(&kinds().await, |_| true);
    for kind in ["event_unsent", "credit_outstanding"] {
        assert!(late.is_superset(&found(kind, &format!("transaction:{entry}"))), "{kind}: {late:?}");
    }
    let _ = world.credit().await.expect("the run succeeds");
    let report = kinds().await;
    assert_eq!(report["status"], "clean", "{report}");
}
