use ledger_core::settlements::{Outcome, Step, Task};
use ledger_runtime::settlement::{Ended, KycAnswer, SettlementRef};
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::settling::{self, Settling};
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Host, World};
use ledger_tests::share;
use serde_json::json;
use std::time::Duration;
use stripe_simulator::{Fault as StripeFault, FaultKind};

const PAYOUT: Task = Task::Do(Step::Payout);
/// Longer than Stripe's lists may lag behind, a request may be in transit, and clocks may differ.
const LISTED: Duration = Duration::from_secs(16 * 60);
/// Longer than Stripe stores an idempotency key.
const FORGOTTEN: Duration = Duration::from_secs(25 * 60 * 60);

/// A settlement of 3,000 yen up to, but not including, its payout.
async fn charged(shop: &Settling) -> SettlementRef {
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    for step in [Step::Collect, Step::Hold, Step::Kyc, Step::Release, Step::Fee] {
        assert_eq!(shop.run(&at, Task::Do(step)).await, Ok(Outcome::Next));
    }
    at
}

/// Asserts that it is paid, once.
async fn assert_paid(shop: &Settling, at: &SettlementRef) {
    let (view, payouts) = (shop.view(at).await, shop.payouts());
    assert_eq!((view["status"].clone(), payouts.len()), (json!("paid"), 1), "{view} {payouts:?}");
    assert_eq!(
        (view["payout_reference"].clone(), payouts[0]["amount"].clone()),
        (payouts[0]["id"].clone(), json!(2951))
    );
    shop.world.check_books().await;
}

/// Asserts that nothing was paid and that the merchant's balance is as before.
async fn assert_undone(shop: &Settling, at: &SettlementRef) {
    assert_eq!(shop.walk(at).await, Ended::Over);
    let view = shop.view(at).await;
    assert_eq!((view["status"].clone(), view["undo_reason"].clone()), (json!("undone"), json!("payout_refused")));
    assert_eq!((shop.payouts().len(), shop.of_balance("ECOPAY", "balance").await), (0, "3000".to_owned()));
    shop.world.check_books().await;
}

/// The epochs of the PSP keys that were sent.
fn epochs(shop: &Settling) -> Vec<String> {
    shop.psp.keys().iter().map(|key| key.rsplit_once('-').expect("a key").1.to_owned()).collect()
}

#[tokio::test]
async fn scenario_6_is_paid_through_stripe() {
    let shop = Settling::by_stripe("stripe-6").await;
    let payment = shop.take("400000").await;
    shop.take("12300").await;
    shop.refund(&payment, "12300").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    let fields =
        ["status", "net", "fee", "tax", "payable", "destination"].map(|name| view[name].as_str().unwrap_or_default());
    assert_eq!(fields, ["paid", "400000", "6000", "600", "393400", "ba_1Midori"]);
    let [payout] = &shop.payouts()[..] else { panic!("{:?}", shop.payouts()) };
    let payout_fields = ["amount", "currency", "destination", "id"].map(|name| payout[name].clone());
    assert_eq!(payout_fields, [json!(393_400), json!("jpy"), json!("ba_1Midori"), view["payout_reference"].clone()]);
    assert_eq!(payout["metadata"]["ecopay_settlement"], at.id.to_string());
    assert_eq!(payout["metadata"]["ecopay_tenant"], "stripe-6");
    assert_eq!(view.get("transfer_on"), None);
    let books = shop.world.check_books().await;
    for (account, yen) in
        [("fees", 6_000), ("consumption_tax", 600), ("stripe_clearing", 393_400), ("bank_clearing", 0)]
    {
        assert_eq!(books.posted(account, "ECOPAY"), yen.into(), "{account}");
    }
    // No bank returns what Stripe paid.
    let returned = shop.about(&at, "returns", &json!({"note": "by the statement of the 30th"}));
    let _ = shop.world.api.settle(&returned).await.problem(400, "wrong_state");
}

#[tokio::test]
async fn crash_around_any_write_still_pays_once() {
    for (fault, tenant) in [(Fault::Refused, "stripe-before"), (Fault::AnswerCut, "stripe-after")] {
        let mut shop = Settling::by_stripe(tenant).await;
        for nth in share::writes() {
            shop.next_shop().await;
            shop.take("3000").await;
            shop.credit().await;
            let at = shop.close().await;
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            shop.crash_on(&at).await;
            assert_paid(&shop, &at).await;
            if shop.tap.faults_left() > 0 {
                assert!(nth > 6, "only {nth} writes");
                shop.tap.forget_faults();
                break;
            }
        }
    }
}

#[tokio::test]
async fn concurrent_sagas_pay_once() {
    let mut shop = Settling::by_stripe("stripe-twice").await;
    for _ in 0..4 {
        shop.next_shop().await;
        let at = charged(&shop).await;
        futures::future::join_all((0..4).map(|_| shop.walk(&at))).await;
        assert_eq!(shop.walk(&at).await, Ended::Over);
        assert_paid(&shop, &at).await;
    }
}

#[tokio::test]
async fn payout_is_paid_once_through_any_stripe_fault() {
    let mut shop = Settling::by_stripe("stripe-weather").await;
    for kind in [
        FaultKind::ErrorBefore,
        FaultKind::ErrorAfter,
        FaultKind::ConnectionLostBefore,
        FaultKind::ConnectionLostAfter,
        FaultKind::Conflict,
        FaultKind::RateLimited,
        FaultKind::LockTimeout,
    ] {
        shop.next_shop().await;
        shop.hand.ahead(Duration::ZERO);
        let at = charged(&shop).await;
        shop.simulator.inject(StripeFault::once(kind).on("POST", "/v1/payouts"));
        let first = shop.run(&at, PAYOUT).await;
        assert_ne!(first, Ok(Outcome::Undo), "{kind:?}");
        for turn in 1..4 {
            if shop.run(&at, PAYOUT).await == Ok(Outcome::Over) {
                break;
            }
            shop.hand.ahead(LISTED * turn);
        }
        assert_paid(&shop, &at).await;
    }
}

#[tokio::test]
async fn lost_payout_answer_is_retried_under_the_same_key() {
    let mut shop = Settling::by_stripe("stripe-lost").await;
    for mishap in [Mishap::LostBefore, Mishap::LostAfter, Mishap::MayPass] {
        shop.next_shop().await;
        let at = charged(&shop).await;
        let before = shop.psp.sends();
        shop.psp.next_sends([Some(mishap), Some(mishap)]);
        for _ in 0..2 {
            assert!(shop.run(&at, PAYOUT).await.is_err_and(|problem| problem.status() == 503), "{mishap:?}");
            assert_eq!(shop.view(&at).await["status"], "paying");
            shop.world.check_books().await;
        }
        assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Over), "{mishap:?}");
        assert_eq!(epochs(&shop)[before..], ["1", "1", "1"], "{mishap:?}");
        assert_paid(&shop, &at).await;
    }
}

#[tokio::test]
async fn refusal_stored_by_stripe_leads_to_the_next_key() {
    let shop = Settling::by_stripe("stripe-burnt").await;
    let at = charged(&shop).await;
    shop.psp.next_sends([Some(Mishap::Burnt), Some(Mishap::Burnt)]);
    for _ in 0..2 {
        assert!(shop.run(&at, PAYOUT).await.is_err_and(|problem| problem.status() == 503));
    }
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Over));
    assert_eq!(epochs(&shop), ["1", "2", "3"]);
    assert_paid(&shop, &at).await;
}

#[tokio::test]
async fn replayed_failure_leads_to_the_next_key_once_absence_is_proven() {
    let shop = Settling::by_stripe("stripe-replayed").await;
    let at = charged(&shop).await;
    shop.psp.next_sends([Some(Mishap::Replayed), Some(Mishap::Replayed)]);
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Wait));
    shop.hand.ahead(LISTED);
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Over));
    assert_eq!(epochs(&shop), ["1", "1", "2"]);
    assert_paid(&shop, &at).await;
}

#[tokio::test]
async fn final_refusal_undoes_the_settlement() {
    let shop = Settling::by_stripe("stripe-refused").await;
    let at = charged(&shop).await;
    shop.psp.next_sends([Some(Mishap::Refused)]);
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Undo));
    assert_undone(&shop, &at).await;
}

#[tokio::test]
async fn refusal_is_not_final_while_a_payout_may_exist() {
    let mut shop = Settling::by_stripe("stripe-doubted").await;
    // The payout was created before the refusal.
    let at = charged(&shop).await;
    shop.psp.next_sends([Some(Mishap::LostAfter), Some(Mishap::Refused)]);
    assert!(shop.run(&at, PAYOUT).await.is_err());
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Over));
    assert_paid(&shop, &at).await;
    // The payout request may still be in transit.
    shop.next_shop().await;
    let at = charged(&shop).await;
    shop.psp.next_sends([
        Some(Mishap::LostBefore),
        Some(Mishap::Refused),
        Some(Mishap::Refused),
        Some(Mishap::Refused),
    ]);
    assert!(shop.run(&at, PAYOUT).await.is_err());
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Wait));
    shop.hand.ahead(LISTED);
    shop.psp.fail_lookups(true);
    assert!(shop.run(&at, PAYOUT).await.is_err_and(|problem| problem.status() == 503));
    assert_eq!(shop.view(&at).await["status"], "paying");
    shop.psp.fail_lookups(false);
    shop.hand.ahead(LISTED * 2);
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Undo));
    assert_undone(&shop, &at).await;
}

#[tokio::test]
async fn refusal_is_not_final_once_another_worker_sends() {
    let shop = Settling::by_stripe("stripe-overtaken").await;
    let at = charged(&shop).await;
    shop.psp.next_sends([Some(Mishap::HeldAfter), Some(Mishap::Refused)]);
    let (late, quick) = tokio::join!(shop.run(&at, PAYOUT), async {
        shop.psp.held(1).await;
        let quick = shop.run(&at, PAYOUT).await;
        shop.psp.release();
        quick
    });
    assert_eq!((late, quick), (Ok(Outcome::Over), Ok(Outcome::Over)));
    assert_paid(&shop, &at).await;
}

#[tokio::test]
async fn payout_too_old_to_resend_is_looked_up() {
    let mut shop = Settling::by_stripe("stripe-old").await;
    for (mishap, more) in [(Mishap::LostAfter, &[][..]), (Mishap::LostBefore, &["2"])] {
        shop.next_shop().await;
        shop.hand.ahead(Duration::ZERO);
        let at = charged(&shop).await;
        let before = shop.psp.sends();
        shop.psp.next_sends([Some(mishap)]);
        assert!(shop.run(&at, PAYOUT).await.is_err());
        shop.hand.ahead(FORGOTTEN);
        shop.psp.fail_lookups(true);
        assert!(shop.run(&at, PAYOUT).await.is_err(), "the lookup is unavailable");
        shop.psp.fail_lookups(false);
        assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Over));
        assert_eq!(epochs(&shop)[before + 1..], *more, "{mishap:?}");
        assert_paid(&shop, &at).await;
    }
}

#[tokio::test]
async fn stripe_settlement_needs_a_tenant_with_stripe() {
    let world = World::with_terms(Host::fresh(), "stripe-not", |terms| terms.topup = None).await;
    let merchant = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}", merchant.id);
    for wrong in [
        json!({"kind": "stripe"}),
        json!({"kind": "stripe", "external_account": "acct_1"}),
        json!({"kind": "stripe", "external_account": "ba_1", "bank_code": "0009"}),
        json!({"kind": "cash", "external_account": "ba_1"}),
    ] {
        let patch = Call::patch(&path, &world.operator.who, &json!({"payout_destination": wrong})).key(new_key());
        let _ = world.api.settle(&patch).await.problem(400, "invalid_request");
    }
    settling::pays_to(&world, &merchant, &settling::registered()).await;
    let close = Call::post("/v1/admin/settlements", &world.operator.who, &json!({"merchant_id": merchant.id}));
    let refused = world.api.settle(&close.key(new_key())).await.problem(400, "invalid_request");
    assert!(format!("{refused:?}").contains("Stripe"), "{refused:?}");
}

#[tokio::test]
async fn kyc_refusal_prevents_the_payout() {
    let shop = Settling::by_stripe("stripe-kyc").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    shop.kyc.answer(at.merchant, KycAnswer::Refused);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!((shop.psp.sends(), shop.payouts().len()), (0, 0));
    shop.world.check_books().await;
}
