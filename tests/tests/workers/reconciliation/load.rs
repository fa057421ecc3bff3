//! Repeated runs find no break in a healthy tenant under live load.

use futures::future::join_all;
use ledger_tests::http::World;
use ledger_tests::http::endpoints::Stage;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn healthy_tenant_under_load_has_no_break() {
    let stage = Stage::new(World::alone("live-load").await).await;
    let world = &stage.world;
    let over = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let clients = (0..6).map(async |client| {
        let customer = world.customer_with("100000").await;
        let friend = world.customer().await;
        while !over.load(Ordering::Relaxed) {
            let payment = world.api.settle(&customer.pays(&stage.merchant, "30")).await.good().text("/payment_id");
            let _ = world.api.settle(&stage.merchant.refunds(&payment, "10")).await.good();
            let _ = world.api.settle(&customer.sends(&friend, "1")).await.good();
            if client % 2 == 0 {
                let code = customer.code(world).await;
                let held = world.api.settle(&stage.merchant.authorizes(&code, "20")).await.good().text("/payment_id");
                let _ = world.api.settle(&stage.merchant.captures(&held, Some("5"))).await.good();
            } else {
                let _ = world.topup(&friend, "100").await;
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    });
    let credits = async {
        while !over.load(Ordering::Relaxed) {
            let _ = world.credit().await;
        }
    };
    let runs = async {
        let mut reports: Vec<Value> = Vec::new();
        for _ in 0..5 {
            reports.push(world.reconciled().await);
        }
        over.store(true, Ordering::Relaxed);
        reports
    };
    let (_, (), reports) = tokio::join!(join_all(clients), credits, runs);
    assert!(done.load(Ordering::Relaxed) > 10, "there was load");
    for report in &reports {
        assert_eq!(report["breaks"], serde_json::json!({}), "{report}");
    }
    let last = world.reconciled().await;
    assert_eq!(last["status"], "clean", "{last}");
    world.check_books().await;
}
