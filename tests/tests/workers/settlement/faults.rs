use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::share;

/// Runs a settlement whose `n`th write meets the fault, then from the start again, for each write of the saga.
/// Every task is run twice.
async fn at_every_write(name: &str, fault: Fault, kyc: KycAnswer, expected: &str) {
    let mut shop = Settling::new(name).await;
    for nth in share::writes() {
        shop.next_shop().await;
        let payment = shop.take("3000").await;
        shop.credit().await;
        shop.take("500").await;
        shop.refund(&payment, "100").await;
        shop.credit().await;
        let at = shop.close().await;
        shop.kyc.answer(at.merchant, kyc.clone());
        let faults = std::iter::repeat_n(None, nth).chain([Some(fault.clone())]);
        shop.tap.next_writes(faults);
        shop.crash_on(&at).await;
        let view = shop.view(&at).await;
        assert_eq!(view["status"], expected, "write {nth} meets {fault:?}");
        let left = if expected == "booked" { "0" } else { "3400" };
        assert_eq!(shop.of_balance("ECOPAY", "balance").await, left, "write {nth} meets {fault:?}");
        assert_eq!(shop.of_balance("ECOPAY", "held").await, "0", "write {nth} meets {fault:?}");
        assert_eq!(view.get("transfer_on").is_some(), expected == "booked", "write {nth} meets {fault:?}");
        shop.world.check_books().await;
        let missed = shop.tap.faults_left();
        shop.tap.forget_faults();
        if expected == "undone" {
            // The next settlement has all of it.
            shop.kyc.answer(at.merchant, passed());
            let next = shop.close().await;
            assert_eq!(shop.walk(&next).await, Ended::Over, "write {nth} meets {fault:?}");
            let next = shop.view(&next).await;
            assert_eq!(
                (&next["status"], &next["records"]),
                (&"booked".into(), &3.into()),
                "write {nth} meets {fault:?}"
            );
            assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0", "write {nth} meets {fault:?}");
            shop.world.check_books().await;
        }
        if missed > 0 {
            assert!(nth > 6, "only {nth} writes");
            return;
        }
    }
}

fn passed() -> KycAnswer {
    KycAnswer::Passed { reference: "chk".to_owned() }
}

#[tokio::test]
async fn crash_before_any_write_still_settles() {
    at_every_write("settled-before", Fault::Refused, passed(), "booked").await;
}

#[tokio::test]
async fn crash_after_any_write_still_settles() {
    at_every_write("settled-after", Fault::AnswerCut, passed(), "booked").await;
}

#[tokio::test]
async fn crash_before_any_write_still_compensates() {
    at_every_write("undone-before", Fault::Refused, KycAnswer::Refused, "undone").await;
}

#[tokio::test]
async fn crash_after_any_write_still_compensates() {
    at_every_write("undone-after", Fault::AnswerCut, KycAnswer::Refused, "undone").await;
}

#[tokio::test]
async fn concurrent_sagas_settle_once() {
    let mut shop = Settling::new("settled-twice").await;
    for _ in 0..5 {
        shop.next_shop().await;
        shop.take("3000").await;
        shop.credit().await;
        let at = shop.close().await;
        let walks = (0..4).map(|_| shop.walk(&at));
        futures::future::join_all(walks).await;
        assert_eq!(shop.view(&at).await["status"], "booked");
        shop.world.check_books().await;
    }
}
