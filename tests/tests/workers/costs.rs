//! x
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probe() {
    let (lives, storage) = ledger_tests::costs::life::measure().await;
    println!("{}", ledger_tests::costs::Costs { lives, storage, ..Default::default() }.text());
}
