//! Breaks planted in bank files: in the record, the parts, the transfers and the entry of the debit.

use super::foreign::{Plant, assert_found, changed, row};
use super::planted::{all, found, remove, roots, with};
use ledger_core::dynamo::{Item, Value};
use ledger_tests::audit::{Books, n, opt_text, s, text};
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Call, World};
use serde_json::json;

/// The row of a file.
fn file<'a>(books: &'a Books, id: &str) -> &'a Item {
    row(books, "bank_file", "FILE", |row| text(row, "bank_file_id") == id)
}

/// The row of the transfer that a file has.
fn transfer<'a>(books: &'a Books, id: &str) -> &'a Item {
    row(books, "bank_transfers", "TRANSFER#", |row| opt_text(row, "bank_file_id") == Some(id))
}

fn numbered(row: &Item, attribute: &str, number: i64) -> Item {
    let mut row = row.clone();
    row.insert(attribute.to_owned(), n(number));
    row
}

fn without(row: &Item, attributes: &[&str]) -> Item {
    let mut row = row.clone();
    row.retain(|name, _| !attributes.contains(&name.as_str()));
    row
}

/// A file that one person recorded as accepted and another as debited.
async fn debited(world: &World) -> String {
    let id = world.accepted_file().await;
    let _ = world.api.settle(&world.about_file(&id, "debit", &world.operator.who)).await.good();
    id
}

/// A file that two people recorded as rejected, and the written one that supersedes it.
async fn superseded(world: &World) -> (String, String) {
    let id = world.rejected_file().await;
    let by = world.api.settle(&world.about_file(&id, "supersede", &world.operator.who)).await.good();
    world.runs_jobs().await;
    (id, by.text("/bank_file_id"))
}

/// Two people record that the transfer of a file was returned.
async fn give_back(world: &World, id: &str) {
    let books = world.books().await;
    let [merchant, settlement] = ["merchant_id", "settlement_id"].map(|name| text(transfer(&books, id), name));
    let path = format!("/v1/admin/merchants/{merchant}/settlements/{settlement}/returns");
    let call = Call::post(&path, &world.operator.who, &json!({"note": "as the bank says"}));
    let _ = world.executes(&call.key(new_id())).await.good();
}

#[tokio::test]
async fn each_break_of_a_bank_file_is_found_and_named() {
    let world = &World::alone("planted-files").await;
    let (written, paid) = (world.written_file().await, debited(world).await);
    assert_eq!(world.reconciled().await["status"], "clean");
    let books = world.books().await;
    let reported = async |why: &str| {
        let report = world.reconciled().await;
        assert_eq!(report["status"], "breaks", "{why}: {report}");
        report
    };
    let of = |id: &str| found("bank_file_differs", &format!("bank_file:{id}"));

    // A file's returned sum.
    with(world, file(&books, &written), |row| {
        row.insert("returned_sum".to_owned(), n(1));
    })
    .await;
    assert_eq!(roots(&reported("returned").await), of(&written));
    world.plant(file(&books, &written).clone()).await;

    // The file of a transfer.
    let own = transfer(&books, &written);
    with(world, own, |row| {
        row.remove("bank_file_id");
    })
    .await;
    assert_eq!(roots(&reported("unassigned").await), of(&written));
    world.plant(own.clone()).await;

    // A debited file is accepted again.
    with(world, file(&books, &paid), |row| {
        row.insert("state".to_owned(), s("accepted"));
    })
    .await;
    assert_eq!(roots(&reported("accepted").await), of(&paid));
    let debit = ["debited_at", "debited_by", "debited_sum", "debit_transaction_id"];
    let accepted = changed(&without(file(&books, &paid), &debit), "state", "accepted");
    world.plant(accepted).await;
    assert_eq!(roots(&reported("never debited").await), of(&paid), "its entry is there");
    world.plant(file(&books, &paid).clone()).await;

    // A transfer is missing: the break of its file follows from that of its settlement.
    remove(world, own).await;
    let report = reported("no transfer").await;
    let settlement = format!("settlement:{}", text(own, "settlement_id"));
    assert_eq!(roots(&report), found("settlement_differs", &settlement));
    assert!(all(&report, |_| true).is_superset(&of(&written)), "{report}");
    world.plant(own.clone()).await;

    // The entry of the debit is missing.
    let entry = row(&books, "own", "TXN#", |row| text(row, "operation") == "bank_file_debit");
    remove(world, entry).await;
    let report = reported("no entry").await;
    assert_eq!(roots(&report), found("entry_missing", &format!("transaction:{}", text(entry, "transaction_id"))));
    assert!(all(&report, |_| true).is_superset(&of(&paid)), "{report}");
    world.plant(entry.clone()).await;
    assert_eq!(world.reconciled().await["status"], "clean", "everything is repaired");
}

#[tokio::test]
async fn each_fact_of_a_bank_file_counts_in_the_table_and_in_an_export() {
    let world = &World::alone("foreign-files").await;
    let (written, paid) = (world.written_file().await, debited(world).await);
    let (rejected, superseding) = superseded(world).await;
    let returned = debited(world).await;
    give_back(world, &returned).await;
    let books = world.books().await;
    let file = |id: &str| file(&books, id);
    let own = |id: &str| transfer(&books, id);
    let part = |id: &str| {
        let of = format!("{}#bank_file#{id}", world.tenant);
        books.row(&of, "PART#0001").expect("a part")
    };
    let differs = |why, id: &str| Plant::new(why, "bank_file_differs", format!("bank_file:{id}"));
    let pays =
        |why, id: &str| Plant::new(why, "settlement_differs", format!("settlement:{}", text(own(id), "settlement_id")));
    let entry = row(&books, "own", "TXN#", |row| opt_text(row, "bank_file_id") == Some(&paid));
    let nothing = Value::L(Vec::new());
    let unlisted = {
        let mut part = part(&written).clone();
        part.insert("transfers".to_owned(), nothing);
        part
    };
    let plants = vec![
        differs("sum", &written).write(numbered(file(&written), "sum", 2)),
        differs("count", &written).write(numbered(file(&written), "transfers", 2)),
        differs("parts", &written).write(numbered(file(&written), "parts", 2)),
        differs("a part is missing", &written).delete(part(&written)),
        differs("returned", &paid).write(numbered(file(&paid), "returned_transfers", 1)),
        differs("not returned", &returned).write(without(file(&returned), &["returned_transfers", "returned_sum"])),
        differs("sum of a rejected file", &rejected).write(numbered(file(&rejected), "sum", -1)),
        differs("returned of a rejected file", &rejected).write(numbered(file(&rejected), "returned_sum", 1)),
        differs("back in a rejected file", &superseding).write(changed(own(&superseding), "bank_file_id", &rejected)),
        differs("superseded by none", &written).write(changed(file(&written), "superseded_by", &paid)),
        differs("no record", &written).delete(file(&written)),
        differs("in a file that is not there", "2026-01-05-01").write(changed(
            own(&written),
            "bank_file_id",
            "2026-01-05-01",
        )),
        differs("debited more", &paid).write(numbered(file(&paid), "debited_sum", 2)),
        differs("debited nothing", &paid).write(without(file(&paid), &["debited_sum", "debit_transaction_id"])),
        differs("debit of another file", &written).write(changed(entry, "bank_file_id", &written)),
        Plant::new("another entry", "entry_missing", "transaction:019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e")
            .write(changed(file(&paid), "debit_transaction_id", "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e")),
        differs("sum of its transfers", &written).write(numbered(own(&written), "amount", 2)),
        pays("amount", &written).write(numbered(own(&written), "amount", 2)),
        pays("merchant", &written).write(changed(own(&written), "merchant_id", &new_id())),
        pays("returned", &written).write(changed(own(&written), "returned_at", "2026-11-21T00:00:00.000Z")),
        pays("not returned", &returned).write(without(own(&returned), &["returned_at"])),
        pays("no transfer", &written).delete(own(&written)),
        Plant::unreadable("state", file(&written), "state", "sent"),
        Plant::unreadable("another's key", file(&written), "bank_file_id", "2026-01-05-01"),
        Plant::unreadable("another day", own(&written), "day", "2026-01-05"),
        Plant::unreadable("another settlement", own(&written), "settlement_id", &new_id()),
        Plant::new("an empty part", "unreadable_item", format!("bank_file:{written} PART#0001")).write(unlisted),
    ];
    assert_found(world, &books, plants).await;
}
