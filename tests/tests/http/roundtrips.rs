//! Calls to the store, counted on the wire: with warm caches a payment is one round trip, and so is its replay.
//! And the write costs of each operation, compared with `costs.txt`.
use ledger_runtime::clock::Clock;
use ledger_tests::http::endpoints::{Endpoint, Prepared, Stage};
use ledger_tests::http::stripe::signed;
use ledger_tests::http::tap::Tap;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Host, World};
use serde_json::json;
use std::fmt::Write;

const WRITE: &str = "TransactWriteItems";
const GET: &str = "GetItem";
const MANY: &str = "BatchGetItem";
const COSTS: &str = include_str!("../../costs.txt");

/// A stage whose calls to the store are recorded, with caches as warm as after the first request.
async fn tapped(tenant: &str) -> (Stage, Tap) {
    let tap = Tap::default();
    let of_app = tap.clone();
    let host = Host::with_app(|backend| async move {
        of_app.app((&backend.dynamodb_url, &backend.table), false, Clock::system(), &backend.stripe).await
    });
    let stage = Stage::new(World::with_terms(host, tenant, |_| {}).await).await;
    // Stripe's events arrive at any time, and would be counted.
    stage.world.hold_deliveries().await;
    let _ = stage.paid("1").await;
    let _ = stage.paid_by_card("1").await;
    (stage, tap)
}

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
        Endpoint::Grant,
        Endpoint::AdjustmentRequest,
        Endpoint::PaymentCode,
    ] {
        let Prepared { call, status, .. } = endpoint.prepare(&stage).await;
        assert_eq!(calls(&stage, &tap, &call, status).await, [WRITE], "{endpoint:?}");
        assert_eq!(calls(&stage, &tap, &call, status).await, [WRITE], "{endpoint:?}: replay");
    }
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
    assert_eq!(made, [MANY, GET, WRITE, MANY, MANY, WRITE]);
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

/// What each operation writes. The expected form of a differing line is printed.
#[tokio::test]
async fn every_write_costs_as_listed() {
    let (stage, tap) = tapped("costs").await;
    let mut measured = Vec::new();
    // Operations that start the tenant's migration come last, since they change customers' writes.
    let (migrations, usual): (Vec<_>, Vec<_>) =
        Endpoint::ALL.into_iter().partition(|endpoint| endpoint.is_migrations());
    measured.extend(costs_of_all(&stage, &tap, usual).await);
    for (name, call) in more(&stage).await {
        measured.extend(costs_of(&stage, &tap, &[name], &call).await);
    }
    measured.extend(costs_of_all(&stage, &tap, migrations).await);
    let expected: Vec<&str> = COSTS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let lines: Vec<&str> = measured.iter().map(String::as_str).collect();
    let mut report = String::new();
    for line in lines.iter().filter(|line| !expected.contains(line)) {
        let _ = writeln!(report, "{line}");
    }
    assert!(report.is_empty(), "tests/costs.txt lacks:\n{report}");
    assert_eq!(expected, lines, "tests/costs.txt has extra lines, or lines in another order");
}

/// The lines of the endpoints.
async fn costs_of_all(stage: &Stage, tap: &Tap, endpoints: Vec<Endpoint>) -> Vec<String> {
    let mut measured = Vec::new();
    for endpoint in endpoints {
        let prepared = endpoint.prepare(stage).await;
        measured.extend(costs_of(stage, tap, &names(endpoint), &prepared.call).await);
        let replay = costs_of(stage, tap, &[], &prepared.call).await;
        assert!(replay.is_empty(), "{endpoint:?}: a replay writes");
    }
    measured
}

/// One line for each write of a request: name, items, write units.
async fn costs_of(stage: &Stage, tap: &Tap, names: &[&str], call: &Call) -> Vec<String> {
    tap.meter();
    let _ = tap.take();
    let _ = stage.world.api.send(call).await;
    let written: Vec<_> = tap.take().into_iter().filter(|seen| seen.write_units.is_some()).collect();
    assert_eq!(written.len(), names.len(), "{names:?}: {written:?}");
    let lines = names.iter().zip(written).map(|(name, seen)| {
        let units = seen.write_units.as_deref().unwrap_or_default().trim_end_matches(".0");
        format!("{name:<44} {:>5} {units:>5}", seen.keys().len())
    });
    lines.collect()
}

/// The name of each of an endpoint's writes.
fn names(endpoint: Endpoint) -> Vec<&'static str> {
    let name = match endpoint {
        Endpoint::Topup => {
            return vec!["top-up requested, before Stripe is called", "top-up requested, after Stripe answered"];
        }
        Endpoint::TopupRefund => {
            return vec!["top-up refunded, before Stripe is called", "top-up refunded, after Stripe answered"];
        }
        Endpoint::Pay => "customer pays, in money",
        Endpoint::Transfer => "customer sends to another",
        Endpoint::PaymentCode => "one-time code issued",
        Endpoint::ProfilePatch => "customer changes the profile",
        Endpoint::CardPatch => "customer freezes a card",
        Endpoint::Charge => "merchant charges a one-time code",
        Endpoint::Refund => "merchant refunds a part",
        Endpoint::CustomerOpen => "operator opens a customer",
        Endpoint::CustomerPatch => "operator freezes a customer",
        Endpoint::MerchantOpen => "operator registers a merchant",
        Endpoint::MerchantPatch => "operator suspends a merchant",
        Endpoint::CardIssue => "operator issues a card",
        Endpoint::CardAdminPatch => "operator freezes a card",
        Endpoint::TerminalOpen => "operator registers a terminal",
        Endpoint::TerminalPatch => "operator freezes a terminal",
        Endpoint::Enrolment => "enrolment code issued",
        Endpoint::Grant => "points granted to one customer",
        Endpoint::BulkGrant => "points granted in bulk, the job",
        Endpoint::AdjustmentRequest => "adjustment requested",
        Endpoint::AdjustmentApprove => "adjustment approved",
        Endpoint::AdjustmentReject => "adjustment rejected",
        Endpoint::CardTopup => "card topped up",
        Endpoint::CardPay => "card pays",
        Endpoint::CardRefund => "card payment refunded",
        Endpoint::CardReverse => "card payment reversed",
        Endpoint::EventDismiss => "kept event dismissed",
        Endpoint::ParkedResolve => "parked top-up given up",
        Endpoint::DecisionRequest => "decision about a contradiction requested",
        Endpoint::DecisionApprove => "contradicted top-up booked",
        Endpoint::Authorize => "merchant authorizes a one-time code",
        Endpoint::Capture => "merchant captures a part",
        Endpoint::Void => "merchant voids an authorization",
        Endpoint::SettlementOpen => "merchant's period closed",
        Endpoint::SettlementResume => "stuck settlement resumed",
        Endpoint::ResendRequest => "resend of a bank file requested",
        Endpoint::ResendApprove => "resend of a bank file approved",
        Endpoint::ReturnRequest => "return of a transfer requested",
        Endpoint::ReturnApprove => "transfer booked as returned",
        Endpoint::ReconciliationRequest => "reconciliation requested",
        Endpoint::BreakAdjustment => "break's adjustment requested",
        Endpoint::MigrationBackfill => "migration's backfill requested",
        Endpoint::MigrationVerify => "migration's verification requested",
        Endpoint::MigrationContract => "migration's contraction requested",
    };
    vec![name]
}

/// A payment that was authorized, then captured in part.
async fn payment_held(stage: &Stage) -> String {
    let (_, payment) = stage.held("500").await;
    let _ = stage.world.api.settle(&stage.merchant.captures(&payment, Some("300"))).await.good();
    payment
}

/// Variants of the operations with other costs.
async fn more(stage: &Stage) -> Vec<(&'static str, Call)> {
    let Stage { world, merchant, terminal } = stage;
    let customer = world.customer_with("1740").await;
    world.grant(&customer, "POINT", "500").await;
    world.grant(&customer, "REGIONAL#aoba", "1000").await;
    let body = json!({"merchant_id": merchant.id, "amount": "3240", "points": "500", "regional": {"aoba": "1000"}});
    let mixed = customer.pays(merchant, "1").json(&body);
    let (paid, payment) = stage.paid("10").await;
    let payment_by_id = merchant.refunds(&payment, "10");
    let unknown_original = terminal.does("pay", &new_id(), &json!({"amount": "1"}));
    let topup = world.topup(&world.customer().await, "1000").await;
    let credited = signed(&world.paid_event(&topup.id, &topup.intent, 1000).to_string());
    let unknown = world.paid_event(&new_id(), "pi_unknown", 300);
    let disputed = world.paid_topup(&world.customer().await, "1000").await;
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", disputed.intent), &json!({})).await;
    let dispute = world.stripe_event("charge.dispute.funds_withdrawn", dispute["id"].as_str().expect("an id")).await;
    vec![
        ("customer pays, in money, points and regional", mixed),
        ("payment without points refunded", payment_by_id),
        ("refusal stored", terminal.does("topup", &new_id(), &json!({"amount": "20001"}))),
        ("reversal of an unknown operation", terminal.reverses("card_pay", &unknown_original)),
        ("top-up credited by an event", credited),
        ("event kept for review", signed(&unknown.to_string())),
        ("dispute's money taken by an event", signed(&dispute.to_string())),
        ("repeated capture", stage.merchant.captures(&payment_held(stage).await, None)),
        ("profile patched with nothing", Call::patch("/v1/me", &paid.who, &json!({})).key(new_key())),
    ]
}
