//! Stripe's payouts are compared with the settlements that they paid.

use crate::reconciliation::planted::{all, found, remove, roots, with};
use ledger_runtime::settlement::Ended;
use ledger_tests::audit::s;
use ledger_tests::http::settling::Settling;
use serde_json::{Value, json};

async fn reported(shop: &Settling) -> Value {
    let report = shop.world.reconciled().await;
    assert_eq!(report["provider"], "listed", "{report}");
    report
}

#[tokio::test]
async fn payouts_and_settlements_are_compared_both_ways() {
    let shop = Settling::by_stripe("payouts-compared").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!(reported(&shop).await["status"], "clean");
    let subject = format!("settlement:{}", at.id);
    let books = shop.world.books().await;
    let pk = format!("{}#merchant#{}", shop.world.tenant, at.merchant);
    let row = books.row(&pk, &format!("SETTLEMENT#{}", at.id)).expect("a settlement");

    // Our record states that nothing was paid.
    with(&shop.world, row, |row| {
        row.insert("state".to_owned(), s("undone"));
    })
    .await;
    let report = reported(&shop).await;
    assert!(all(&report, |_| true).is_superset(&found("payout_differs", &subject)), "{report}");

    // Our record is missing.
    remove(&shop.world, row).await;
    let report = reported(&shop).await;
    assert!(all(&report, |_| true).is_superset(&found("payout_differs", &subject)), "{report}");
    shop.world.plant(row.clone()).await;
    assert_eq!(reported(&shop).await["status"], "clean");

    // Stripe's payout failed, and its event is not delivered yet.
    let payout = shop.payouts()[0]["id"].as_str().expect("an id").to_owned();
    let _ = shop.world.stripe(&format!("/payouts/{payout}/fail"), &json!({})).await;
    let report = reported(&shop).await;
    assert_eq!(roots(&report), found("payout_missing", &subject), "{report}");
    assert_eq!(shop.world.deliver("payout.failed", &payout).await, 200);
    assert_eq!(reported(&shop).await["status"], "clean");
    shop.world.check_books().await;
}
