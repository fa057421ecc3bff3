//! Winding a tenant down while workers fail.

use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::share;
use serde_json::{Value, json};

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
                let _ = shop.run_jobs().await.expect("the run succeeds");
            }
            unclaimed += 350;
            let view = world.wind_down(&job).await;
            assert_eq!(view["status"], "finished", "{fault:?}, write {nth}: {view}");
            let lines = world.wind_down_lines(&job, Some("closed"), 20).await;
            let accounts: Vec<&Value> = lines.iter().map(|line| &line["account"]).collect();
            let wanted = [json!(format!("card:{card}")), json!(format!("customer:{}", owner.id))];
            assert_eq!(accounts, wanted.iter().collect::<Vec<_>>(), "{fault:?}, write {nth}");
            assert_eq!(view["closed"], 2, "{fault:?}, write {nth}");
            let books = world.check_books().await;
            assert_eq!(books.posted("unclaimed", "ECOPAY"), unclaimed.into(), "{fault:?}, write {nth}");
            if missed > 0 {
                assert!(nth > 20, "only {nth} writes");
                break;
            }
        }
    }
}
