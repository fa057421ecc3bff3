use ledger_core::settlements::{Compensation, Outcome, Step, Task};
use ledger_runtime::metrics::Metric;
use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use serde_json::json;

#[tokio::test]
async fn merchant_refused_by_kyc_is_settled_next_time() {
    let shop = Settling::new("settled-refused").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    let merchant = at.merchant;
    shop.kyc.answer(merchant, KycAnswer::Refused);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!((view["status"].clone(), view["undo_reason"].clone()), (json!("undone"), json!("kyc_refused")));
    assert_eq!((view["records"].clone(), view.get("transfer_on")), (json!(0), None));
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "3000");
    assert_eq!(shop.of_balance("ECOPAY", "held").await, "0");
    shop.world.check_books().await;

    shop.kyc.answer(merchant, KycAnswer::Passed { reference: "chk_2".to_owned() });
    let next = shop.close().await;
    assert_eq!(shop.walk(&next).await, Ended::Over);
    assert_eq!(shop.view(&next).await["payable"], "2951");
    shop.world.check_books().await;
}

#[tokio::test]
async fn kyc_check_without_answer_makes_the_saga_wait() {
    let shop = Settling::new("settled-pending").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    shop.kyc.answer(at.merchant, KycAnswer::Unknown);
    assert_eq!(shop.walk(&at).await, Ended::Waiting);
    assert_eq!(shop.run(&at, Task::Do(Step::Kyc)).await, Ok(Outcome::Wait));
    assert_eq!(shop.view(&at).await["status"], "held");
    shop.world.check_books().await;
    shop.kyc.answer(at.merchant, KycAnswer::Passed { reference: "chk_1".to_owned() });
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!(shop.view(&at).await["status"], "booked");
}

#[tokio::test]
async fn payout_too_large_for_the_file_is_undone_in_full() {
    let shop = Settling::new("settled-too-much").await;
    shop.take("20000000000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!((view["status"].clone(), view["undo_reason"].clone()), (json!("undone"), json!("payout_refused")));
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "20000000000");
    let books = shop.world.check_books().await;
    for account in ["fees", "consumption_tax", "bank_clearing"] {
        assert_eq!(books.posted(account, "ECOPAY"), 0.into(), "{account}");
    }
}

#[tokio::test]
async fn settlement_of_more_records_than_one_transaction_is_undone_and_settled() {
    let shop = Settling::new("settled-many").await;
    let customer = shop.world.customer_with("1000").await;
    let calls: Vec<_> = (0..220).map(|_| customer.pays(&shop.merchant, "3")).collect();
    for few in calls.chunks(20) {
        for answer in futures::future::join_all(few.iter().map(|call| shop.world.api.settle(call))).await {
            let _ = answer.good();
        }
    }
    shop.credit().await;
    let at = shop.close().await;
    shop.kyc.answer(at.merchant, KycAnswer::Refused);
    assert_eq!(shop.run(&at, Task::Do(Step::Collect)).await, Ok(Outcome::Next));
    assert_eq!(shop.view(&at).await["records"], 220);
    shop.world.check_books().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!(shop.view(&at).await["status"], "undone");
    shop.world.check_books().await;
    shop.kyc.answer(at.merchant, KycAnswer::Passed { reference: String::new() });
    let next = shop.close().await;
    assert_eq!(shop.walk(&next).await, Ended::Over);
    assert_eq!(shop.view(&next).await["net"], "660");
    shop.world.check_books().await;
}

#[tokio::test]
async fn stuck_compensation_stops_and_is_resumed() {
    let shop = Settling::new("settled-stuck").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    shop.kyc.answer(at.merchant, KycAnswer::Refused);
    for (task, outcome) in [(Step::Collect, Outcome::Next), (Step::Hold, Outcome::Next), (Step::Kyc, Outcome::Undo)] {
        assert_eq!(shop.run(&at, Task::Do(task)).await, Ok(outcome));
    }
    // The store is unavailable for longer than all retries.
    shop.tap.every_call(Some(Fault::Error(500, "InternalServerError")));
    assert!(shop.run(&at, Task::Undo(Compensation::Hold)).await.is_err());
    shop.tap.every_call(None);
    let stuck = || shop.counting.total(Metric::CompensationStuck);
    assert_eq!(stuck(), 0);
    for _ in 0..2 {
        assert_eq!(shop.run(&at, Task::Stop).await, Ok(Outcome::Next));
        assert_eq!(stuck(), 1, "it is counted once");
    }
    let view = shop.view(&at).await;
    assert_eq!((view["status"].clone(), view["stuck_since"].is_string()), (json!("held"), true));
    shop.world.check_books().await;

    let resume = shop.about(&at, "resume", &json!({"reason": "the store is available again"}));
    shop.good(&resume).await;
    let again = shop.about(&at, "resume", &json!({"reason": "once more"}));
    let _ = shop.world.api.settle(&again).await.problem(400, "wrong_state");
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!((view["status"].clone(), view["stuck_since"].is_null()), (json!("undone"), true));
    shop.world.check_books().await;
}
