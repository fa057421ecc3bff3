//! Calls to the store, counted on the wire: with warm caches a payment is one round trip, and so is its replay.
//! And what each request costs, compared with `tests/costs.txt`.
use ledger_tests::costs::Costs;
use ledger_tests::costs::requests::{self, tapped, tapped_with};
use ledger_tests::http::Call;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::prepared::Prepared;
use ledger_tests::http::stripe::signed;
use ledger_tests::http::tap::Tap;
use ledger_tests::limits::{limits, overridable};
use serde_json::json;

const WRITE: &str = "TransactWriteItems";
const GET: &str = "GetItem";
const MANY: &str = "BatchGetItem";
const QUERY: &str = "Query";

/// The calls that a request makes.
async fn calls(stage: &Stage, tap: &Tap, call: &Call, status: u16) -> Vec<String> {
    let _ = tap.take();
    let answer = stage.world.api.send(call).await;
    assert_eq!(answer.status, status, "{answer:?}");
    tap.take_targets()
}

#[tokio::test]
async fn payment_and_its_replay_are_one_round_trip_each() {
    let (stage, tap) = tapped("round-trips").await;
    for endpoint in [
        Endpoint::Pay,
        Endpoint::Transfer,
        Endpoint::Charge,
        Endpoint::Authorize,
        Endpoint::CardPay,
        Endpoint::CardTopup,
        Endpoint::PaymentCode,
    ] {
        let Prepared { call, status, .. } = endpoint.prepare_executed(&stage).await;
        assert_eq!(calls(&stage, &tap, &call, status).await, [WRITE], "{endpoint:?}");
        assert_eq!(calls(&stage, &tap, &call, status).await, [WRITE], "{endpoint:?}: replay");
    }
}

/// What the member granted alone in the day is on the member's record, and whose sign-in the member's is an item beside it.
#[tokio::test]
async fn grant_of_one_person_reads_the_member_then_writes_and_its_replay_only_reads() {
    let (stage, tap) = tapped("round-trips-grant").await;
    let Prepared { call, status, .. } = Endpoint::Grant.prepare_executed(&stage).await;
    assert_eq!(calls(&stage, &tap, &call, status).await, [MANY, MANY, WRITE]);
    assert_eq!(calls(&stage, &tap, &call, status).await, [MANY]);
}

#[tokio::test]
async fn request_of_an_adjustment_reads_the_requester_then_writes_and_its_replay_only_reads() {
    let (stage, tap) = tapped("round-trips-request").await;
    let Prepared { call, status, .. } = Endpoint::AdjustmentRequest.prepare(&stage).await;
    assert_eq!(calls(&stage, &tap, &call, status).await, [MANY, WRITE]);
    assert_eq!(calls(&stage, &tap, &call, status).await, [MANY]);
}

#[tokio::test]
async fn refund_reads_then_writes_and_its_replay_only_reads() {
    let (stage, tap) = tapped("round-trips-refund").await;
    // A refund of a payment that earned points also reads the payer's points.
    for (amount, most) in [("50", 2), ("1000", 3)] {
        let (_, payment) = stage.paid(amount).await;
        let refund = stage.merchant.refunds(&payment, "10");
        let made = calls(&stage, &tap, &refund, 201).await;
        assert_eq!((made.len(), made.last().map(String::as_str)), (most, Some(WRITE)), "{made:?}");
        let replayed = calls(&stage, &tap, &refund, 201).await;
        assert_eq!(replayed.len(), 1, "{replayed:?}");
        assert_ne!(replayed, [WRITE]);
    }
}

/// A capture and a void read the payment first, also if they come late.
#[tokio::test]
async fn capture_and_void_read_then_write() {
    let (stage, tap) = tapped("round-trips-hold").await;
    let ((_, one), (_, other)) = (stage.held("500").await, stage.held("500").await);
    for call in [
        stage.merchant.captures(&one, Some("300")),
        stage.merchant.captures(&one, None),
        stage.merchant.voids(&other),
        stage.merchant.voids(&other),
    ] {
        assert_eq!(calls(&stage, &tap, &call, 200).await, [MANY, WRITE]);
        assert_eq!(calls(&stage, &tap, &call, 200).await, [MANY], "replay");
    }
}

#[tokio::test]
async fn refusal_is_two_round_trips_and_its_replay_one() {
    let (stage, tap) = tapped("round-trips-refusal").await;
    let customer = stage.world.customer_with("10").await;
    let card = stage.world.card(None, "10").await;
    for call in [
        customer.pays(&stage.merchant, "11"),
        stage.terminal.does("pay", &card, &json!({"amount": "11"})),
        stage.terminal.does("topup", &card, &json!({"amount": "19991"})),
    ] {
        assert_eq!(calls(&stage, &tap, &call, 400).await, [WRITE, WRITE]);
        assert_eq!(calls(&stage, &tap, &call, 400).await, [WRITE], "replay");
    }
    // A refusal planned without the store is stored by one call.
    let above_cap = stage.terminal.does("topup", &card, &json!({"amount": "20001"}));
    assert_eq!(calls(&stage, &tap, &above_cap, 400).await, [WRITE]);
    // An invalid request makes no call.
    for wrong in [customer.pays(&stage.merchant, "0"), customer.pays(&stage.merchant, "1").keyless()] {
        assert!(calls(&stage, &tap, &wrong, 400).await.is_empty());
    }
}

/// A count is in the action that changes the balance, and an amount above a limit is refused without that action.
#[tokio::test]
async fn limits_add_no_call() {
    let rules = ["pay_operation=1000", "pay_day=100000", "pay_month=100000", "transfer_day=100000"];
    let cards = [("card", "pay_day=100000"), ("card", "cash_topup_month=100000")];
    let rules: Vec<_> = rules.into_iter().map(|rule| ("customer", rule)).chain(cards).collect();
    let (stage, tap) = tapped_with("round-trips-limits", |terms| terms.limits = Some(limits(&rules))).await;
    for endpoint in [
        Endpoint::Pay,
        Endpoint::Transfer,
        Endpoint::Charge,
        Endpoint::Authorize,
        Endpoint::CardPay,
        Endpoint::CardTopup,
    ] {
        // One person grants what is granted here.
        let Prepared { call, status, .. } = endpoint.prepare_executed(&stage).await;
        assert_eq!(calls(&stage, &tap, &call, status).await, [WRITE], "{endpoint:?}");
    }
    let customer = stage.world.customer_with("2000").await;
    // The one call stores the refusal.
    assert_eq!(calls(&stage, &tap, &customer.pays(&stage.merchant, "1001"), 400).await, [WRITE]);

    let (stage, tap) = tapped_with("round-trips-own", |terms| terms.limits = Some(overridable(&rules))).await;
    let customer = stage.world.customer_with("2000").await;
    assert_eq!(calls(&stage, &tap, &customer.pays(&stage.merchant, "1000"), 201).await, [WRITE]);
    // The account's own limits might allow it: they are read.
    assert_eq!(calls(&stage, &tap, &customer.pays(&stage.merchant, "1001"), 400).await, [QUERY, WRITE]);
}

/// An operation that calls Stripe: the claim, the reads for the response, and its completion.
#[tokio::test]
async fn topup_and_its_refund_make_the_expected_calls() {
    let (stage, tap) = tapped("round-trips-topup").await;
    let world = &stage.world;
    let customer = world.customer().await;
    let call = customer.tops_up("1000");
    assert_eq!(calls(&stage, &tap, &call, 201).await, [WRITE, MANY, MANY, WRITE]);
    assert_eq!(calls(&stage, &tap, &call, 201).await, [WRITE], "replay");
    let topup = world.topup(&customer, "1000").await;
    let view = Call::get(&format!("/v1/me/topups/{}", topup.id), &customer.who);
    assert_eq!(calls(&stage, &tap, &view, 200).await, [MANY]);
    let event = signed(&world.paid_event(&topup.id, &topup.intent, 1000).to_string());
    assert_eq!(calls(&stage, &tap, &event, 200).await, [MANY, MANY, WRITE]);
    assert_eq!(calls(&stage, &tap, &event, 200).await, [MANY, MANY], "repeated");

    let _ = world.stripe(&format!("/payment_intents/{}/succeed", topup.intent), &json!({})).await;
    let refund = topup.refund(world, "100");
    let made = calls(&stage, &tap, &refund, 201).await;
    // The member and what ties the member to the customer are read first.
    assert_eq!(made, [MANY, MANY, GET, WRITE, MANY, MANY, WRITE]);
    assert_eq!(calls(&stage, &tap, &refund, 201).await, [MANY], "replay");
    // A top-up above the cap is refused after one call, and Stripe is not called.
    let above = customer.tops_up("50000");
    assert_eq!(calls(&stage, &tap, &above, 400).await, [WRITE, WRITE]);
    let _ = tap.take();
    assert_eq!(world.intents().await, 2);
}

#[tokio::test]
async fn uncached_merchant_costs_one_read_once() {
    let (stage, tap) = tapped("round-trips-cold").await;
    let (customer, merchant) = (stage.world.customer_with("10").await, stage.world.merchant().await);
    let first = calls(&stage, &tap, &customer.pays(&merchant, "1"), 201).await;
    assert_eq!(first, ["GetItem", WRITE], "the first request reads the merchant");
    assert_eq!(calls(&stage, &tap, &customer.pays(&merchant, "1"), 201).await, [WRITE]);
}

/// The units, calls, bytes and shared items of each operation's request.
#[tokio::test]
async fn every_write_costs_as_listed() {
    let kept = Costs::read();
    Costs { requests: requests::measure().await, ..kept.clone() }.check(&kept);
}
