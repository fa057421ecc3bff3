//! The payment day of a settlement that is opened by hand, at the request and at the decision, and schedules that the bank can
//! never follow.
#![cfg(feature = "stack")]

use ledger_core::time::Timestamp;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::settling::{closing, payable, pays_to, registered};
use ledger_tests::http::terms::{CHANGES, body, in_an_hour, timed_with};
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Merchant, World};
use serde_json::{Value, json};

/// A Wednesday in Japan, an hour before the bank's cut-off. The clock goes on from there.
const IN_TIME: &str = "2026-11-25T11:00:00+09:00";

/// A tenant with the terms of the demo, whose functions go by a clock of the test that begins at an instant.
async fn world_at(tenant: &str, instant: &str) -> (World, TestClock) {
    let clock = TestClock::default();
    set(&clock, instant);
    timed_with(clock, tenant, |_| {}).await
}

fn set(clock: &TestClock, instant: &str) {
    clock.set(Timestamp::parse(instant).expect("an instant"));
}

/// Requests a settlement that is paid on a day; returns the id of the approval.
async fn requested(world: &World, merchant: &Merchant, pay_on: Option<&str>) -> String {
    world.api.settle(&closing(world, merchant, pay_on)).await.good().text("/approval_id")
}

async fn approved(world: &World, id: &str) -> Answer {
    world.api.settle(&decides("approve", id, &world.second.who)).await
}

/// The payment days of a merchant's settlements.
async fn days(world: &World, merchant: &Merchant) -> Vec<String> {
    let path = format!("/v1/admin/merchants/{}/settlements", merchant.id);
    let page = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    let items = page["items"].as_array().expect("settlements").iter();
    items.map(|settlement| settlement["pay_on"].as_str().expect("a day").to_owned()).collect()
}

/// The field and the text of a refusal.
fn refusal(answer: &Answer) -> [String; 2] {
    ["/field", "/detail"].map(|name| answer.text(name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stated_day_on_which_the_bank_does_not_pay_is_refused_and_the_possible_days_are_named() {
    let (world, _) = world_at("pay-days", IN_TIME).await;
    let merchant = payable(&world).await;
    let why = "pay_on: must be a day on which banks are open, from 2026-11-26 to 2026-12-10";
    // The past, today, a Saturday, a day that is too far, and the last day that there is.
    for wrong in ["2020-01-01", "2026-11-25", "2026-11-28", "2026-12-11", "9999-12-31"] {
        let refused = world.api.settle(&closing(&world, &merchant, Some(wrong))).await.problem(400, "invalid_request");
        assert_eq!(refusal(&refused), ["pay_on", why], "{wrong}");
    }
    let last = requested(&world, &merchant, Some("2026-12-10")).await;
    let first = requested(&world, &merchant, Some("2026-11-26")).await;
    let _ = approved(&world, &first).await.good();
    let _ = approved(&world, &last).await.problem(409, "already_exists");
    assert_eq!(days(&world, &merchant).await, ["2026-11-26"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn default_day_is_the_first_possible_one_at_the_decision() {
    let (world, clock) = world_at("pay-default", IN_TIME).await;
    let merchant = payable(&world).await;
    let id = requested(&world, &merchant, None).await;
    // A Saturday.
    set(&clock, "2026-11-28T09:00:00+09:00");
    let _ = approved(&world, &id).await.good();
    assert_eq!(days(&world, &merchant).await, ["2026-12-01"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settlement_whose_stated_day_is_too_early_at_the_decision_is_stale() {
    let (world, clock) = world_at("pay-stale", IN_TIME).await;
    let merchant = payable(&world).await;
    let id = requested(&world, &merchant, Some("2026-11-26")).await;
    set(&clock, "2026-11-25T12:00:00+09:00");
    let _ = approved(&world, &id).await.problem(400, "approval_stale");
    let _ = approved(&world, &id).await.problem(400, "wrong_state");
    assert_eq!(days(&world, &merchant).await, Vec::<String>::new());
    let path = format!("/v1/admin/approvals/{id}");
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    assert_eq!((shown.text("/status"), shown.text("/details/pay_on")), ("stale".to_owned(), "2026-11-26".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_paid_through_stripe_can_be_paid_today_and_on_a_holiday() {
    // A Saturday, after the cut-off.
    let (world, _) = world_at("pay-stripe", "2026-11-28T15:00:00+09:00").await;
    let merchant = async || {
        let merchant = world.merchant().await;
        pays_to(&world, &merchant, &registered()).await;
        merchant
    };
    let first = merchant().await;
    let why = "pay_on: must be a day from 2026-11-28 to 2026-12-13";
    for wrong in ["2026-11-27", "2026-12-14"] {
        let refused = world.api.settle(&closing(&world, &first, Some(wrong))).await.problem(400, "invalid_request");
        assert_eq!(refusal(&refused), ["pay_on", why], "{wrong}");
    }
    for (pay_on, want) in [(None, "2026-11-28"), (Some("2026-11-28"), "2026-11-28"), (Some("2026-12-13"), "2026-12-13")]
    {
        let merchant = merchant().await;
        let _ = approved(&world, &requested(&world, &merchant, pay_on).await).await.good();
        assert_eq!(days(&world, &merchant).await, [want], "{pay_on:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn day_whose_bank_holidays_are_not_known_is_refused() {
    let (world, clock) = world_at("pay-unknown", "2027-12-29T09:00:00+09:00").await;
    let merchant = payable(&world).await;
    let id = requested(&world, &merchant, None).await;
    set(&clock, "2027-12-30T13:00:00+09:00");
    let late = world.api.settle(&closing(&world, &merchant, None)).await.problem(400, "invalid_request");
    assert!(late.text("/detail").contains("the bank holidays of 2028-01-01 are not known"), "{late:?}");
    // It stays pending: a release that knows the day can approve it.
    let refused = approved(&world, &id).await.problem(400, "invalid_request");
    assert_eq!(refused.text("/field"), "pay_on");
    let shown = world.api.send(&Call::get(&format!("/v1/admin/approvals/{id}"), &world.operator.who)).await.good();
    assert_eq!(shown.text("/status"), "pending");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terms_with_a_schedule_that_the_bank_can_never_follow_are_refused() {
    let world = World::new("pay-terms").await;
    let change =
        |changes: &Value| Call::post(CHANGES, &world.operator.who, &body(changes, in_an_hour(&world))).key(new_key());
    let early = json!({"settlement.schedule": "weekly:friday bank_days:1"});
    let refused = world.api.settle(&change(&early)).await.problem(400, "invalid_request");
    let [field, why] = refusal(&refused);
    assert_eq!(field, "settlement.schedule");
    assert!(why.ends_with("the earliest rule is weekly:friday bank_days:2"), "{why}");
    for (field, wrong, bounds) in [
        ("settlement.bank_lead_days", "6", "from 0 to 5"),
        ("settlement.bank_ahead_days", "61", "from 1 to 60"),
        ("settlement.bank_cut_off", "24:00", "from 00:00 to 23:59"),
    ] {
        let refused = world.api.settle(&change(&json!({field: wrong}))).await.problem(400, "invalid_request");
        let [named, why] = refusal(&refused);
        assert!(named == field && why.ends_with(bounds), "{field}: {why}");
    }
    // With a bank that takes a file on its payment day.
    let good = json!({"settlement.schedule": "weekly:friday bank_days:1", "settlement.bank_lead_days": "0"});
    let _ = world.executes(&change(&good)).await.good();
    let terms = world.api.send(&Call::get("/v1/admin/terms", &world.operator.who)).await.good().json();
    let next = &terms["versions"][0]["terms"];
    let shown = ["bank_lead_days", "bank_cut_off", "bank_ahead_days"].map(|name| &next[format!("settlement.{name}")]);
    assert_eq!(shown, [&json!("0"), &json!("12:00"), &json!("15")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchants_schedule_that_the_bank_can_never_follow_is_refused_unless_stripe_pays_it() {
    let world = World::new("pay-own").await;
    let (by_bank, by_stripe, by_none) = (payable(&world).await, world.merchant().await, world.merchant().await);
    pays_to(&world, &by_stripe, &registered()).await;
    let early = Some("monthly:month_end next_month:1:next");
    for merchant in [&by_bank, &by_none] {
        let refused = world.api.settle(&world.schedules(&merchant.id, early)).await.problem(400, "invalid_request");
        let [field, why] = refusal(&refused);
        assert!(field == "schedule" && why.ends_with("monthly:month_end next_month:2:next"), "{why}");
        let _ = world.executes(&world.schedules(&merchant.id, Some("by_hand"))).await.good();
    }
    let _ = world.executes(&world.schedules(&by_stripe.id, early)).await.good();
}
