//! Runs: requested once, run once, and reported.

use ledger_core::ids::Tenant;
use ledger_core::reconcile::run::of_the_night;
use ledger_runtime::reconcile::{Outlets, Settings};
use ledger_runtime::worker::Due;
use ledger_tests::audit::n;
use ledger_tests::cloud::gate;
use ledger_tests::http::topup_rig::{Rig, Scene};
use ledger_tests::http::{Call, World};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn concurrent_workers_run_a_due_run_once() {
    let world = World::alone("runs").await;
    let _ = world.customer_with("100").await;
    let id = world.operator("/v1/admin/reconciliation/runs", &json!({})).await.text("/run_id");
    let (one, two) = tokio::join!(world.reconcile(), world.reconcile());
    assert_eq!(one.expect("the run succeeds").runs + two.expect("the run succeeds").runs, 1);
    let get = async |path: &str| world.api.send(&Call::get(path, &world.operator.who)).await.good().json();
    let run = get(&format!("/v1/admin/reconciliation/runs/{id}")).await;
    assert_eq!(run["status"], "clean", "{run}");
    assert_eq!(world.reconcile().await.expect("the run succeeds").runs, 0, "it is over");
    let list = get("/v1/admin/reconciliation").await;
    assert_eq!(list["items"][0]["run_id"], id.as_str(), "{list}");
    let nothing = format!("/v1/admin/reconciliation/runs/{}", ledger_tests::http::world::new_id());
    let _ = world.api.send(&Call::get(&nothing, &world.operator.who)).await.problem(404, "not_found");
}

#[tokio::test]
async fn nightly_run_is_run_once_and_writes_a_jsonl_report() {
    let world = World::alone("night").await;
    let reports = ledger_local::reports::LocalReports::default();
    let customer = world.customer_with("100").await;
    let pk = format!("night#customer#{}", customer.id);
    let mut row = world.books().await.row(&pk, "BALANCE#ECOPAY").expect("a balance").clone();
    row.insert("balance".to_owned(), n("-1"));
    world.plant(row).await;
    let tenant = Tenant::parse("night").expect("a slug");
    let outlets = Outlets { reports: Some(Arc::new(reports.clone())), ..Outlets::default() };
    let mut settings = Settings::of(&world.app);
    settings.units_per_second = 1_000_000;
    let due = Due::everything(tenant);
    let run = async || gate::as_function("reconcile", reconcile::run_as((&world.app, &outlets), &due, &settings)).await;
    // Before three in the morning no nightly run is due: one is requested.
    let _ = world.operator("/v1/admin/reconciliation/runs", &json!({})).await;
    let done = run().await.expect("the run succeeds");
    assert!(done.reconciled.breaks >= 3, "{done:?}");
    assert_eq!(run().await.expect("nothing to do").reconciled.runs, 0);
    let kept = reports.kept();
    let (name, lines) = kept.iter().next().expect("a report");
    assert!(name.starts_with("night/reconciliation-"), "{name}");
    let lines: Vec<serde_json::Value> =
        String::from_utf8_lossy(lines).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0]["status"], "breaks");
    assert!(lines.iter().any(|line| line["kind"] == "negative_balance"), "{lines:?}");
}

#[tokio::test]
async fn call_that_has_too_little_time_for_a_reconciliation_leaves_it_to_another() {
    const FUNCTION_TIME: Duration = Duration::from_secs(15 * 60);
    let world = World::alone("late").await;
    let _ = world.operator("/v1/admin/reconciliation/runs", &json!({})).await;
    let (outlets, due) = (Outlets::default(), Due::everything(Tenant::parse("late").expect("a slug")));
    let run = async |settings: Settings| {
        gate::as_function("reconcile", reconcile::run_as((&world.app, &outlets), &due, &settings)).await
    };
    let late = run(Settings { longest: FUNCTION_TIME, ..Settings::of(&world.app) }).await;
    assert_eq!(late.expect("the reconciliation is left").reconciled.runs, 0);
    let done = run(Settings { units_per_second: 1_000_000, ..Settings::of(&world.app) }).await;
    assert!(done.expect("the run succeeds").reconciled.runs >= 1);
}

/// The nightly runs of all tenants have one id.
#[tokio::test]
async fn nightly_runs_of_two_tenants_at_once_are_both_clean() {
    const NIGHT: Duration = Duration::from_secs(3 * 60 * 60);
    let rig = Rig::new().await;
    let (actor, scenes) = (rig.actor().await, [rig.scene("night-one").await, rig.scene("night-two").await]);
    if of_the_night(&scenes[0].tenant, actor.app.now()).expect("a run").is_none() {
        actor.clock.ahead(NIGHT);
    }
    let settings = Settings { units_per_second: 1_000_000, ..Settings::of(&actor.app) };
    let outlets = Outlets::default();
    let run = async |scene: &Scene| {
        let due = Due::everything(scene.tenant.clone());
        gate::as_function("reconcile", reconcile::run_as((&actor.app, &outlets), &due, &settings)).await
    };
    let (one, two) = tokio::join!(run(&scenes[0]), run(&scenes[1]));
    for done in [one, two] {
        let done = done.expect("the run succeeds");
        assert_eq!((done.reconciled.runs, done.reconciled.breaks), (1, 0), "{done:?}");
    }
}
