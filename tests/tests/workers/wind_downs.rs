//! Winding a tenant down while workers fail.

use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::share;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_account_is_closed_once_with_a_fault_at_every_write() {
    let shop = Settling::new("wind-down-faults").await;
    let world = &shop.world;
    let mut unclaimed = 0;
    for fault in [Fault::Refused, Fault::AnswerCut] {
        for nth in share::writes() {
            let owner = world.customer_with("300").await;
            let card = world.card(Some(&owner), "50").await;
            let job = world.started_winding_down().await;
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            let _ = shop.run_jobs().await;
            let missed = shop.tap.faults_left();
            shop.tap.forget_faults();
            for _ in 0..5 {
                // An account without a certain outcome is tried again after some minutes.
                shop.hand.forward(Duration::from_secs(600));
                let _ = shop.run_jobs().await.expect("the run succeeds");
            }
            unclaimed += 350;
            let view = world.job(&job).await;
            assert_eq!(view["status"], "done", "{fault:?}, write {nth}: {view}");
            let lines = world.job_lines(&job, Some("done"), 20).await;
            let accounts: Vec<&Value> = lines.iter().map(|line| &line["subject"]).collect();
            let wanted = [json!(format!("card:{card}")), json!(format!("customer:{}", owner.id))];
            assert_eq!(accounts, wanted.iter().collect::<Vec<_>>(), "{fault:?}, write {nth}");
            assert_eq!(view["done"], 2, "{fault:?}, write {nth}");
            let books = world.check_books().await;
            assert_eq!(books.posted("unclaimed", "ECOPAY"), unclaimed.into(), "{fault:?}, write {nth}");
            if missed > 0 {
                assert!(nth > 20, "only {nth} writes");
                break;
            }
        }
    }
}
