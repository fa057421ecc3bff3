use ledger_core::settlements::{Outcome, Step, Task};
use ledger_runtime::settlement::{Ended, SettlementRef};
use ledger_tests::http::Call;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::stripe::signed;
use ledger_tests::http::world::{new_id, new_key};
use serde_json::{Value, json};

const PAYOUT: Task = Task::Do(Step::Payout);
const KINDS: [&str; 3] = ["payout.created", "payout.paid", "payout.failed"];

/// A paid settlement of 3,000 yen, with the id of its payout.
async fn paid(shop: &Settling) -> (SettlementRef, String) {
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let payout = shop.payouts().pop().expect("a payout");
    (at, payout["id"].as_str().expect("an id").to_owned())
}

/// Asserts that the payout's money was credited to the merchant again, once.
async fn assert_returned(shop: &Settling, at: &SettlementRef) {
    let view = shop.view(at).await;
    assert_eq!((view["status"].clone(), view["returned_at"].is_string()), (json!("returned"), true), "{view}");
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "2951");
    let books = shop.world.check_books().await;
    books.check_credited();
}

/// The next settlement pays the returned money and the new payments, with a fee on the latter alone.
async fn assert_paid_again(shop: &Settling, status: &str) {
    shop.take("1000").await;
    shop.credit().await;
    let next = shop.close().await;
    assert_eq!(shop.walk(&next).await, Ended::Over);
    let view = shop.view(&next).await;
    let totals = json!({"taken": "1000", "refunded": "0", "payouts_returned": "2951", "carried_in": "0"});
    assert_eq!(view["totals"]["ECOPAY"], totals);
    let fields = ["status", "net", "fee", "tax", "payable"].map(|name| view[name].as_str().unwrap_or_default());
    assert_eq!(fields, [status, "3951", "15", "1", "3935"]);
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    shop.world.check_books().await;
}

async fn fail(shop: &Settling, payout: &str) {
    let _ = shop.world.stripe(&format!("/payouts/{payout}/fail"), &json!({})).await;
}

#[tokio::test]
async fn failed_payout_is_returned_once_in_any_event_order() {
    let mut shop = Settling::by_stripe("back-orders").await;
    for [a, b, c] in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        shop.next_shop().await;
        let (at, payout) = paid(&shop).await;
        let _ = shop.world.stripe(&format!("/payouts/{payout}/pay"), &json!({})).await;
        fail(&shop, &payout).await;
        for kind in [a, b, c, a, b, c] {
            assert_eq!(shop.world.deliver(KINDS[kind], &payout).await, 200, "{}", KINDS[kind]);
        }
        assert_returned(&shop, &at).await;
    }
    assert_paid_again(&shop, "paid").await;
}

#[tokio::test]
async fn payout_that_failed_before_its_answer_is_returned_once() {
    let mut shop = Settling::by_stripe("back-ahead").await;
    for event_first in [true, false] {
        shop.next_shop().await;
        shop.take("3000").await;
        shop.credit().await;
        let at = shop.close().await;
        shop.psp.next_sends([Some(Mishap::LostAfter)]);
        for step in [Step::Collect, Step::Hold, Step::Kyc, Step::Release, Step::Fee] {
            assert_eq!(shop.run(&at, Task::Do(step)).await, Ok(Outcome::Next));
        }
        assert!(shop.run(&at, PAYOUT).await.is_err());
        let payout = shop.payouts()[0]["id"].as_str().expect("an id").to_owned();
        fail(&shop, &payout).await;
        if event_first {
            assert_eq!(shop.world.deliver("payout.failed", &payout).await, 200);
            assert_returned(&shop, &at).await;
        }
        assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Over));
        assert_eq!(shop.world.deliver("payout.failed", &payout).await, 200);
        assert_eq!(shop.walk(&at).await, Ended::Over);
        assert_returned(&shop, &at).await;
        assert_eq!(shop.payouts().len(), 1);
    }
    assert_paid_again(&shop, "paid").await;
}

#[tokio::test]
async fn failed_payout_found_by_lookup_is_returned() {
    let shop = Settling::by_stripe("back-found").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    // The lookup finds the payout, which has failed by then; its event never arrives.
    shop.psp.next_sends([Some(Mishap::LostAfter), Some(Mishap::Replayed)]);
    for step in [Step::Collect, Step::Hold, Step::Kyc, Step::Release, Step::Fee] {
        assert_eq!(shop.run(&at, Task::Do(step)).await, Ok(Outcome::Next));
    }
    assert!(shop.run(&at, PAYOUT).await.is_err());
    fail(&shop, shop.payouts()[0]["id"].as_str().expect("an id")).await;
    assert_eq!(shop.run(&at, PAYOUT).await, Ok(Outcome::Over));
    assert_returned(&shop, &at).await;
}

#[tokio::test]
async fn concurrent_payout_events_return_money_once() {
    let mut shop = Settling::by_stripe("back-parallel").await;
    for _ in 0..3 {
        shop.next_shop().await;
        let (at, payout) = paid(&shop).await;
        fail(&shop, &payout).await;
        let event = shop.world.stripe_event("payout.failed", &payout).await;
        // The same event, and others with the same content.
        let events: Vec<Value> = (0..8)
            .map(|n| {
                let mut event = event.clone();
                if n % 2 == 0 {
                    event["id"] = json!(format!("evt_{}", new_id().replace('-', "")));
                }
                event
            })
            .collect();
        let calls: Vec<Call> = events.iter().map(|event| signed(&event.to_string())).collect();
        for answer in futures::future::join_all(calls.iter().map(|call| shop.world.api.settle(call))).await {
            let _ = answer.good();
        }
        assert_returned(&shop, &at).await;
    }
}

#[tokio::test]
async fn contradicting_payout_event_is_kept_and_foreign_one_is_not() {
    let shop = Settling::by_stripe("back-contradicting").await;
    let (at, payout) = paid(&shop).await;
    fail(&shop, &payout).await;
    let event = shop.world.stripe_event("payout.failed", &payout).await;
    let event_with = |change: &dyn Fn(&mut Value)| {
        let mut event = event.clone();
        event["id"] = json!(format!("evt_{}", new_id().replace('-', "")));
        change(&mut event);
        signed(&event.to_string())
    };
    let object = |name: &'static str, value: Value| {
        event_with(&move |event: &mut Value| event["data"]["object"][name] = value.clone())
    };
    let metadata = |name: &'static str, value: String| {
        event_with(&move |event: &mut Value| event["data"]["object"]["metadata"][name] = json!(value))
    };
    for contradicting in [
        object("amount", json!(2950)),
        object("currency", json!("usd")),
        object("livemode", json!(true)),
        object("id", json!("po_another")),
        event_with(&|event| event["livemode"] = json!(true)),
        event_with(&|event| event["account"] = json!("acct_1")),
        metadata("ecopay_settlement", new_id()),
        metadata("ecopay_merchant", new_id()),
    ] {
        let _ = shop.world.api.send(&contradicting).await.problem(503, "event_kept");
    }
    let foreign = metadata("ecopay_ledger", "another".to_owned());
    assert_eq!(shop.world.api.send(&foreign).await.good().text("/status"), "foreign");
    // A payout that the ledger did not request: it has no metadata.
    let without_metadata = object("metadata", json!({}));
    assert_eq!(shop.world.api.send(&without_metadata).await.good().text("/status"), "foreign");
    assert_eq!(shop.view(&at).await["status"], "paid");
    shop.world.check_books().await;
    assert_eq!(shop.world.deliver("payout.failed", &payout).await, 200);
    assert_returned(&shop, &at).await;
}

#[tokio::test]
async fn bank_return_needs_second_approver_and_is_booked_once() {
    let shop = Settling::new("back-bank").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    let return_call = || shop.about(&at, "returns", &json!({"note": "wrong account, by the statement of the 30th"}));
    let _ = shop.world.api.settle(&return_call()).await.problem(400, "wrong_state");
    assert_eq!(shop.walk(&at).await, Ended::Over);

    let request_return = async || shop.good(&return_call()).await.text("/approval_id");
    let approve = |id: &str| decides("approve", id, &shop.world.second.who);
    let (one, other) = (request_return().await, request_return().await);
    let alone = Call { who: shop.world.operator.who.clone(), ..approve(&one) };
    let _ = shop.world.api.settle(&alone.key(new_key())).await.problem(403, "four_eyes_required");
    let _ = shop.world.api.settle(&approve(&new_id())).await.problem(404, "not_found");
    assert_eq!(shop.view(&at).await["status"], "booked");

    let approval = approve(&one);
    let calls = [approval.clone(), approve(&one), approve(&other), approval.clone()];
    let answers = futures::future::join_all(calls.iter().map(|call| shop.world.api.settle(call))).await;
    assert!(answers.iter().any(|answer| answer.status == 200), "{answers:?}");
    assert_returned(&shop, &at).await;
    for call in [approve(&one), return_call()] {
        let _ = shop.world.api.settle(&call).await.problem(400, "wrong_state");
    }
    // One of the two may have been decided on as stale before.
    let late = shop.world.api.settle(&approve(&other)).await;
    assert!(["approval_stale", "wrong_state"].contains(&late.code().as_deref().unwrap_or_default()), "{late:?}");
    let books = shop.world.check_books().await;
    assert_eq!(books.posted("bank_clearing", "ECOPAY"), 0.into());
    assert_paid_again(&shop, "booked").await;
}

#[tokio::test]
async fn undone_settlement_gives_back_returned_money_too() {
    let shop = Settling::by_stripe("back-undone").await;
    let (_, payout) = paid(&shop).await;
    fail(&shop, &payout).await;
    assert_eq!(shop.world.deliver("payout.failed", &payout).await, 200);
    let next = shop.close().await;
    shop.psp.next_sends([Some(Mishap::Refused)]);
    assert_eq!(shop.walk(&next).await, Ended::Over);
    assert_eq!(shop.view(&next).await["status"], "undone");
    shop.world.check_books().await;
    assert_paid_again(&shop, "paid").await;
}
