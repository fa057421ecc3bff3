//! Bulk grants with customers who cannot be granted to, removed assets, store faults, and expired markers.

use jobs::Progress;
use ledger_core::dynamo;
use ledger_core::ids::Tenant;
use ledger_core::migration::Model;
use ledger_runtime::clock::Clock;
use ledger_tests::audit::{n, s};
use ledger_tests::cloud::gate;
use ledger_tests::http::migrating::last;
use ledger_tests::http::tap::{Attempts, Fault, Tap};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Host, World};
use serde_json::{Value, json};

/// Longer ago than the replay window of a job's grants.
const EXPIRED: &str = "2020-01-01T00:00:00.000Z";

async fn bulk(world: &World, ids: &[&str], asset: &str) -> String {
    let body = json!({"customer_ids": ids, "asset": asset, "amount": "25", "reason": "campaign"});
    let grant = Call::post("/v1/admin/grants", &world.operator.who, &body).key(new_key());
    world.executes(&grant).await.good().text("/job_id")
}

/// The job's status, the number of customers done, and all failures.
async fn view(world: &World, job: &str) -> (String, Value, Value) {
    let call = Call::get(&format!("/v1/admin/grants/{job}"), &world.operator.who);
    let view = world.api.send(&call).await.good();
    let (status, view) = (view.text("/status"), view.json());
    assert_eq!(view["failed"], json!(view["failures"].as_array().expect("failures").len()));
    (status, view["done"].clone(), view["failures"].clone())
}

fn failure(customer: &str, reason: &str) -> Value {
    json!({"customer_id": customer, "reason": reason})
}

async fn points(world: &World, customers: &[&Customer]) -> Vec<String> {
    let mut points = Vec::new();
    for customer in customers {
        points.push(world.balance(customer, "POINT").await);
    }
    points
}

#[tokio::test]
async fn customer_with_unreadable_legacy_record_fails_alone() {
    let world = World::migrating("bulk-legacy", last(Model::GodRecord)).await;
    let wrong = world.legacy_customer(&[("balance", n(1000)), ("balance_held", n(1))], &[]).await;
    let (good, late) = (world.legacy_customer(&[("balance", n(1000))], &[]).await, world.customer().await);
    let missing = new_id();
    let first = bulk(&world, &[&wrong.id, &good.id, &missing], "POINT").await;
    let second = bulk(&world, &[&wrong.id, &late.id], "POINT").await;

    assert_eq!(world.run_jobs().await, Ok(Progress { done: 5, failed: 3, ..Progress::default() }));
    let invalid = failure(&wrong.id, "legacy_record_unreadable");
    let failed = json!([invalid, failure(&missing, "not_found")]);
    assert_eq!(view(&world, &first).await, ("completed_with_failures".to_owned(), json!(3), failed));
    assert_eq!(view(&world, &second).await, ("completed_with_failures".to_owned(), json!(2), json!([invalid])));
    assert_eq!(points(&world, &[&good, &late]).await, ["25", "25"]);
    assert_eq!(world.run_jobs().await, Ok(Progress::default()));

    // Every other operation on the customer has the same error.
    let grant = json!({"customer_id": wrong.id, "asset": "POINT", "amount": "25", "reason": "thanks"});
    let freeze = json!({"name": "Taro"});
    let path = format!("/v1/admin/customers/{}", wrong.id);
    let merchant = world.merchant().await;
    for call in [
        Call::post("/v1/admin/grants", &world.operator.who, &grant).key(new_key()),
        Call::patch(&path, &world.operator.who, &freeze).key(new_key()),
        wrong.pays(&merchant, "100"),
        good.sends(&wrong, "100"),
        wrong.sends(&good, "100"),
        wrong.requests_code(),
        wrong.tops_up("300"),
    ] {
        let answer = world.executes(&call).await;
        assert_eq!((answer.status, answer.code().as_deref()), (400, Some("legacy_record_unreadable")), "{call:?}");
    }
}

#[tokio::test]
async fn job_in_removed_asset_ends_and_blocks_no_other() {
    let world = World::new("bulk-asset").await;
    let (one, two) = (world.customer().await, world.customer().await);
    let removed = bulk(&world, &[&one.id, &two.id], "REGIONAL#aoba").await;
    let config = world.books().await.row("bulk-asset#tenant#root", "CONFIG").expect("a configuration").clone();
    let dynamo::Value::M(mut assets) = config["assets"].clone() else { panic!("assets") };
    let _ = assets.remove("REGIONAL#aoba").expect("the asset is in the terms");
    let mut without = config.clone();
    let _ = without.insert("assets".to_owned(), dynamo::Value::M(assets));
    world.plant(without).await;
    let later = bulk(&world, &[&one.id], "POINT").await;

    assert_eq!(world.run_jobs().await, Ok(Progress { done: 3, failed: 2, ..Progress::default() }));
    let failed = json!([failure(&one.id, "asset_not_run"), failure(&two.id, "asset_not_run")]);
    assert_eq!(view(&world, &removed).await, ("completed_with_failures".to_owned(), json!(2), failed));
    assert_eq!(view(&world, &later).await, ("finished".to_owned(), json!(1), json!([])));
}

#[tokio::test]
async fn throttled_grant_is_retried_and_not_failed() {
    let host = Host::fresh();
    let world = World::with_terms(host.clone(), "bulk-throttle", |_| {}).await;
    let tap = Tap::default();
    let (stack, clock) = (host.stack(), Clock::system());
    let (worker, _) = tap.app((stack.dynamodb_url(), stack.table()), Attempts::OneShort, clock, stack.stripe()).await;
    let run = async || {
        let tenant = Tenant::parse(&world.tenant).expect("a slug");
        gate::as_function("jobs", jobs::run_due(&worker, &tenant)).await
    };
    let customers = [world.customer().await, world.customer().await, world.customer().await];
    let ids = customers.each_ref().map(|customer| customer.id.as_str());
    let job = bulk(&world, &ids, "POINT").await;
    tap.next_writes([Some(Fault::Error(400, "ThrottlingException"))]);
    let busy = run().await.expect_err("the outcome of one grant is unknown");
    assert_eq!((busy.code(), tap.faults_left()), ("busy", 0));
    assert_eq!(view(&world, &job).await, ("running".to_owned(), json!(2), json!([])));
    // The answer is lost after the effect.
    tap.next_writes([Some(Fault::AnswerLost)]);
    let _ = run().await.expect_err("the outcome of one grant is unknown");
    assert_eq!(run().await, Ok(Progress { done: 1, failed: 0, ..Progress::default() }));
    assert_eq!(view(&world, &job).await, ("finished".to_owned(), json!(3), json!([])));
    assert_eq!(points(&world, &customers.each_ref()).await, ["25", "25", "25"]);
    world.check_books().await;
}

#[tokio::test]
async fn job_older_than_its_markers_grants_nothing_twice() {
    let world = World::new("bulk-expired").await;
    let (kept, lost) = (world.customer().await, world.customer().await);
    let job = bulk(&world, &[&kept.id, &lost.id], "POINT").await;
    let mut old = world.books().await.row(&format!("bulk-expired#job#{job}"), "JOB").expect("the job").clone();
    assert_eq!(world.run_jobs().await, Ok(Progress { done: 2, failed: 0, ..Progress::default() }));

    // As if the progress had not been stored, the job were old, and one marker had expired.
    let _ = old.insert("created_at".to_owned(), s(EXPIRED));
    world.plant(old).await;
    let books = world.books().await;
    let markers = books.under("card_op_idem#bulk_grant#").filter(|(_, sk, _)| sk.ends_with(&lost.id));
    let markers: Vec<(String, String)> = markers.map(|(pk, sk, _)| (pk.to_owned(), sk.to_owned())).collect();
    assert_eq!(markers.len(), 1);
    for (pk, sk) in markers {
        world.remove(&pk, &sk).await;
    }
    assert_eq!(world.run_jobs().await, Ok(Progress { done: 2, failed: 1, ..Progress::default() }));
    let failed = json!([failure(&lost.id, "job_expired")]);
    assert_eq!(view(&world, &job).await, ("completed_with_failures".to_owned(), json!(2), failed));
    assert_eq!(points(&world, &[&kept, &lost]).await, ["25", "25"]);
}
