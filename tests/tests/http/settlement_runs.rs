//! Runs that close merchants' periods, by hand, and the schedules of merchants.

use ledger_tests::http::approvals::decides;
use ledger_tests::http::settling::payable;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, World, staff};
use serde_json::{Value, json};

const WEEKLY: &str = "weekly:friday bank_days:2";

async fn run_to_the_end(world: &World, run: &str) -> Value {
    for _ in 0..20 {
        let _ = world.run_jobs().await.expect("the run succeeds");
        let view = world.settlement_run(run).await;
        if view["ended_at"].is_string() {
            return view;
        }
    }
    panic!("the run does not end: {}", world.settlement_run(run).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchants_schedule_is_set_shown_and_cleared() {
    let world = World::new("schedules").await;
    let merchant = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}", merchant.id);
    let shown = async || world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    assert_eq!(shown().await.get("settlement_schedule"), None);
    for schedule in [WEEKLY, "monthly:month_end next_month:10:next", "by_hand"] {
        let _ = world.executes(&world.schedules(&merchant.id, Some(schedule))).await.good();
        assert_eq!(shown().await["settlement_schedule"], schedule);
    }
    let _ = world.executes(&world.schedules(&merchant.id, None)).await.good();
    assert_eq!(shown().await.get("settlement_schedule"), None);
    for wrong in ["", "daily", "monthly:31 bank_days:3", "weekly:friday"] {
        let refused =
            world.api.settle(&world.schedules(&merchant.id, Some(wrong))).await.problem(400, "invalid_request");
        assert_eq!(refused.json()["field"], "schedule", "{wrong}");
    }
    let _ = world.api.settle(&world.schedules(&new_id(), Some(WEEKLY))).await.problem(404, "not_found");
    let stranger = World::new("schedules-stranger").await;
    let _ = stranger.api.settle(&stranger.schedules(&merchant.id, Some(WEEKLY))).await.problem(404, "not_found");
    let trail = Call::get("/v1/admin/audit?limit=100", &world.operator.who);
    let trail = world.api.send(&trail).await.good().json().to_string();
    assert_eq!(trail.matches(r#""action":"settlement_schedule""#).count(), 4, "{trail}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_by_hand_closes_once_for_a_day_and_never_for_an_earlier_one() {
    let world = World::new("runs-by-hand").await;
    let merchant = payable(&world).await;
    let customer = world.customer_with("300").await;
    let _ = world.api.settle(&customer.pays(&merchant, "300")).await.good();
    let _ = world.credit().await.expect("a run");
    let _ = world.executes(&world.schedules(&merchant.id, Some(WEEKLY))).await.good();
    let start = world.runs_settlements("2026-11-20");
    let stored = world.api.settle(&start).await.good();
    assert_eq!((stored.status, stored.text("/status").as_str()), (202, "pending"));
    let run = world.executes(&start).await.good().text("/job_id");
    assert_eq!(world.settlement_run(&run).await["status"], "waiting");
    assert_eq!(world.api.settle(&start).await.body, stored.body, "the stored response is replayed");
    let view = run_to_the_end(&world, &run).await;
    assert_eq!((&view["status"], &view["done"]), (&json!("done"), &json!(1)), "{view}");
    assert_eq!((&view["reason"], &view["settlements"]["open"]), (&json!("set a day late"), &json!(1)), "{view}");
    // For the same day, and for the week before.
    for day in ["2026-11-20", "2026-11-13"] {
        let again = world.executes(&world.runs_settlements(day)).await.good().text("/job_id");
        let view = run_to_the_end(&world, &again).await;
        assert_eq!((&view["status"], &view["done"], &view["skipped"]), (&json!("done"), &json!(0), &json!(1)));
        let lines = world.settlement_run_merchants(&again, None, 100).await;
        assert_eq!(lines[0]["code"], "closed_before", "{day}");
    }
    // On a Thursday no schedule closes.
    let other = world.executes(&world.runs_settlements("2026-11-19")).await.good().text("/job_id");
    let _ = run_to_the_end(&world, &other).await;
    assert_eq!(world.settlement_run_merchants(&other, None, 100).await, Vec::<Value>::new());
    assert_eq!(world.jobs("settlement_run").await.len(), 4);
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_refuses_bad_requests_and_names_what_is_wrong() {
    let (world, stranger) = (World::new("runs-bad").await, World::new("runs-stranger").await);
    let run = world.executes(&world.runs_settlements("2026-11-20")).await.good().text("/job_id");
    let today = world.app.now().business_date().to_string();
    for wrong in [today.as_str(), "2999-01-01", "2026-11-31", "yesterday", ""] {
        let refused = world.api.settle(&world.runs_settlements(wrong)).await.problem(400, "invalid_request");
        assert_eq!(refused.json()["field"], "closing_on", "{wrong}");
    }
    let get = |path: &str| Call::get(path, &world.operator.who);
    let lines = format!("/v1/admin/settlement-runs/{run}/merchants");
    for query in ["status=opened", "cursor=x", "limit=0", "limit=101", "page=2"] {
        let _ = world.api.send(&get(&format!("{lines}?{query}"))).await.problem(400, "invalid_request");
    }
    for path in
        [format!("/v1/admin/settlement-runs/{}", new_id()), format!("/v1/admin/settlement-runs/{}/merchants", new_id())]
    {
        let _ = world.api.send(&get(&path)).await.problem(404, "not_found");
    }
    for path in [format!("/v1/admin/settlement-runs/{run}"), lines] {
        let _ = stranger.api.send(&Call::get(&path, &stranger.operator.who)).await.problem(404, "not_found");
    }
    assert_eq!(stranger.jobs("settlement_run").await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_and_schedule_are_approved_by_another_person() {
    let world = World::new("runs-approval").await;
    let merchant = payable(&world).await;
    let asked = world.api.settle(&world.schedules(&merchant.id, Some(WEEKLY))).await.good();
    assert_eq!(asked.status, 202, "{asked:?}");
    let own = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.operator.who)).await;
    assert_eq!(own.code().unwrap_or_default(), "four_eyes_required");
    // What was seen has changed meanwhile: the command is stale.
    let other = world.api.settle(&world.schedules(&merchant.id, Some("by_hand"))).await.good();
    let _ = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.second.who)).await.good();
    let late = world.api.settle(&decides("approve", &other.text("/approval_id"), &world.second.who)).await;
    let _ = late.problem(400, "approval_stale");
    let path = format!("/v1/admin/merchants/{}", merchant.id);
    let (_, support) = staff::member(&world, "support").await;
    let body = json!({"schedule": WEEKLY, "reason": "mine"});
    let denied = Call::post(&format!("{path}/settlement-schedule"), &support, &body).key(new_key());
    let _ = world.api.settle(&denied).await.problem(403, "permission_missing");
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    assert_eq!(shown["settlement_schedule"], WEEKLY);

    let asked = world.api.settle(&world.runs_settlements("2026-11-20")).await.good();
    assert_eq!(asked.status, 202, "{asked:?}");
    assert_eq!(world.jobs("settlement_run").await, Vec::<Value>::new());
    let approved = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.second.who)).await.good();
    let view = run_to_the_end(&world, &approved.text("/job_id")).await;
    assert_eq!((&view["status"], &view["skipped"]), (&json!("done"), &json!(1)), "{view}");
}
