//! Totals of closed days that are not what their entries come to.

use super::planted::{all, entry, found, remove, roots, with};
use crate::figures::{Town, today};
use ledger_core::dynamo::Value;
use ledger_tests::audit::{n, s};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_that_were_closed_at_once_are_compared_with_all_their_entries() {
    let town = Town::new("closed-at-once").await;
    let world = &town.world;
    let _ = world.seal_and_fold().await;
    // The worker that closes days stops for four days.
    for _ in 0..4 {
        town.trade().await;
        let _ = world.seal().await.expect("the run succeeds");
        town.next_noon();
    }
    assert_eq!(world.fold().await.days, 4);
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_that_differ_from_the_journal_are_found_and_named() {
    let town = Town::new("planted-totals").await;
    let world = &town.world;
    // The days before the first closing are not compared.
    let _ = world.seal_and_fold().await;
    let date = today(world);
    town.trade().await;
    let _ = world.seal_and_fold().await;
    town.next_noon();
    let _ = world.seal_and_fold().await;
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
    let books = world.books().await;
    let pk = |of: &str| format!("{}#totals#{of}", world.tenant);
    let merchant = format!("merchant:{}", town.merchants[1].id);
    let totals = |of: &str| books.row(&pk(of), &format!("TOTALS#{date}")).expect("totals");
    let reported = async |subject: &str, why: &str| {
        let report = world.reconciled().await;
        assert_eq!(roots(&report), found("totals_differ", &format!("totals:{subject}:{date}")), "{why}: {report}");
        report
    };

    // A sum, a count, and a line that is missing.
    for (of, name, value) in [
        (merchant.as_str(), "lines", Value::L(vec![s("pay ECOPAY merchants 1 31 0")])),
        ("tenant", "entries", Value::M([("pay".to_owned(), n("3"))].into())),
        (merchant.as_str(), "lines", Value::L(Vec::new())),
    ] {
        with(world, totals(of), |row| {
            row.insert(name.to_owned(), value);
        })
        .await;
        let report = reported(of, name).await;
        let finding = &report["findings"]["items"][0];
        assert_ne!(finding["expected"], finding["found"], "{finding}");
        world.plant(totals(of).clone()).await;
    }

    // Totals of a merchant that has none.
    let other = "merchant:01890a5d-ac96-774b-bcce-b302099a8001";
    with(world, totals(&merchant), |row| {
        row.insert("uuid".to_owned(), s(pk(other)));
    })
    .await;
    let (group, subject) = (format!("{}#totals_of#merchant", world.tenant), format!("SUBJECT#{other}"));
    let listed = [("uuid", s(&group)), ("type", s(&subject)), ("v", n("1"))];
    world.plant(listed.map(|(name, value)| (name.to_owned(), value)).into()).await;
    let _ = reported(other, "planted").await;
    world.remove(&pk(other), &format!("TOTALS#{date}")).await;
    world.remove(&group, &subject).await;

    // Totals that are gone.
    remove(world, totals(&merchant)).await;
    let _ = reported(&merchant, "gone").await;
    world.plant(totals(&merchant).clone()).await;

    // Totals that no item lists are in no page of their group.
    let (group, subject) = (format!("{}#totals_of#merchant", world.tenant), format!("SUBJECT#{merchant}"));
    remove(world, books.row(&group, &subject).expect("the list")).await;
    let report = world.reconciled().await;
    assert_eq!(roots(&report), found("totals_unlisted", &format!("totals:{merchant}")), "{report}");
    world.plant(books.row(&group, &subject).expect("the list").clone()).await;

    // An entry that is gone: other checks find it too.
    let (_, entry) = entry(&books, "transfer");
    remove(world, entry).await;
    let report = world.reconciled().await;
    assert!(
        all(&report, |_| true).contains(&("totals_differ".to_owned(), format!("totals:tenant:{date}"))),
        "{report}"
    );
    world.plant(entry.clone()).await;
    assert_eq!(world.reconciled().await["status"], json!("clean"));
}
