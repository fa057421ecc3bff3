//! Requests for every view of figures.

use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::{Call, Who};
use serde_json::json;

/// Every view of figures. A tenant in migration has none.
pub(super) async fn views(Stage { world, merchant, .. }: &Stage, customer: &str, card: &str) {
    let view = async |path: String, who: &Who| {
        let answer = world.api.send(&Call::get(&path, who)).await;
        if answer.status == 400 {
            let _ = answer.problem(400, "wrong_state");
        } else {
            let _ = answer.good();
        }
    };
    for path in ["totals", "totals?by=shop", "statements?month=2026-01"] {
        view(format!("/v1/merchant/{path}"), &merchant.who).await;
    }
    let own = format!("statements?merchant_id={}&month=2026-01", merchant.id);
    for path in [
        "totals",
        "totals?by=merchant",
        "totals?by=shop",
        "totals?by=terminal",
        "trial-balance",
        "prepaid-report",
        &own,
    ] {
        view(format!("/v1/admin/{path}"), &world.operator.who).await;
    }
    let merchant = format!("merchant:{}", merchant.id);
    for account in ["fees".to_owned(), format!("customer:{customer}"), format!("card:{card}"), merchant] {
        view(format!("/v1/admin/accounts/{account}/balance?at=2026-01-01"), &world.operator.who).await;
    }
    let asked = world.asks_for(&json!({"kind": "payouts", "from": "2026-01-01", "to": "2026-01-01"}));
    let file = world.api.settle(&asked).await.good().text("/job_id");
    view(format!("/v1/admin/files/{file}"), &world.operator.who).await;
}
