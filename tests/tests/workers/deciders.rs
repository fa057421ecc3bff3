//! A command on which no member may decide rings once an hour, until one may.

use ledger_core::ids::Tenant;
use ledger_core::time::Timestamp;
use ledger_runtime::app::App;
use ledger_runtime::metrics::Metric;
use ledger_tests::cloud::gate;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Host, World, host, staff};
use serde_json::json;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The beginning of the next hour.
fn next_hour(now: Timestamp) -> Timestamp {
    let into = u64::try_from(now.seconds().rem_euclid(3600)).expect("seconds");
    now.plus(HOUR).minus(Duration::from_secs(into))
}

async fn run(worker: &App, world: &World) {
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let _ = gate::as_function("jobs", jobs::run_due(worker, &tenant)).await.expect("the run succeeds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_about_the_only_other_decider_rings_until_a_third_has_accepted() {
    let host = Host::fresh();
    let world = World::with_terms(host.clone(), "no-decider", |_| {}).await;
    let (stack, hand) = (host.stack(), TestClock::default());
    let of = (host::functions_client(stack.dynamodb_url()).await, stack.table());
    let (worker, counting) = host::app(of, hand.clock(), stack.stripe());
    let rings = || counting.total(Metric::NoDecider);
    let hour = next_hour(world.app.now());
    hand.set(hour);
    run(&worker, &world).await;
    assert_eq!(rings(), 0, "nothing is pending");
    // Of two owners one asks to change the roles of the other, who may not decide on that.
    let path = format!("/v1/admin/staff/{}", world.second.id);
    let asks = Call::patch(&path, &world.operator.who, &json!({"roles": ["owner", "treasurer"]})).key(new_key());
    let asked = world.api.settle(&asks).await.good();
    assert_eq!(asked.status, 202, "{asked:?}");
    let id = asked.text("/approval_id");
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.problem(403, "four_eyes_required");
    // What the other may decide on is pending too, and does not ring.
    let customer = world.customer().await;
    let grant = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "40", "reason": "spring"});
    let grants = Call::post("/v1/admin/grants", &world.operator.who, &grant).key(new_key());
    assert_eq!(world.api.settle(&grants).await.good().status, 202);
    run(&worker, &world).await;
    assert_eq!(rings(), 1);
    hand.set(hour.plus(MINUTE * 10));
    run(&worker, &world).await;
    assert_eq!(rings(), 1, "once an hour");
    // An invited member decides on nothing.
    let third = staff::invited(&world, "approver").await;
    hand.set(hour.plus(HOUR));
    run(&worker, &world).await;
    assert_eq!(rings(), 2);
    let who = world.token("admin", &third, None).await;
    let accepts = Call::post("/v1/admin/staff/accept", &who, &json!({})).key(new_key());
    let _ = world.api.settle(&accepts).await.good();
    hand.set(hour.plus(HOUR * 2));
    run(&worker, &world).await;
    assert_eq!(rings(), 2, "a third member may decide");
    let _ = world.api.settle(&decides("approve", &id, &who)).await.good();
    let _ = world.check_books().await;
}
