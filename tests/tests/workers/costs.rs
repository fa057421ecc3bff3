//! What becomes of an operation's records costs as listed: for many at once, and for one.
use ledger_tests::costs::{Costs, life};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_life_costs_as_listed() {
    let kept = Costs::read();
    let (lives, storage) = life::measure().await;
    Costs { lives, storage, ..kept.clone() }.check(&kept);
}
