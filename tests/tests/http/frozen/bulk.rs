//! Bulk grants with customers who cannot be granted to, removed assets, store faults, and expired markers.

use jobs::Progress;
use ledger_core::dynamo;
use ledger_core::ids::Tenant;
use ledger_core::migration::Model;
use ledger_runtime::problem::Problem;
use ledger_tests::audit::n;
use ledger_tests::cloud::gate;
use ledger_tests::http::migrating::last;
use ledger_tests::http::tap::{Attempts, Fault, Tap};
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Host, World};
use serde_json::{Value, json};
use std::time::Duration;

async fn bulk(world: &World, ids: &[&str], asset: &str) -> String {
    let body = json!({"customer_ids": ids, "asset": asset, "amount": "25", "reason": "campaign"});
    let grant = Call::post("/v1/admin/grants", &world.operator.who, &body).key(new_key());
    world.executes(&grant).await.good().text("/job_id")
}

/// The job's status, the number of customers who have the grant, and the others, by id.
async fn view(world: &World, job: &str) -> (String, Value, Vec<(String, String)>) {
    let view = world.job(job).await;
    let lines = world.job_lines(job, Some("failed"), 100).await;
    assert_eq!(view["failed"], json!(lines.len()));
    let text = |line: &Value, name: &str| line[name].as_str().expect("a text").to_owned();
    let failures = lines.iter().map(|line| (text(line, "subject"), text(line, "code"))).collect();
    (text(&view, "status"), view["done"].clone(), failures)
}

/// The customers that have no grant of a job, in the order of their ids.
fn failures<const N: usize>(of: [(&str, &str); N]) -> Vec<(String, String)> {
    let mut of = of.map(|(customer, code)| (format!("customer:{customer}"), code.to_owned()));
    of.sort();
    of.to_vec()
}

fn dealt_with(subjects: usize) -> Result<Progress, Problem> {
    Ok(Progress { subjects, ..Progress::default() })
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

    assert_eq!(world.run_jobs().await, dealt_with(5));
    let invalid = (wrong.id.as_str(), "legacy_record_unreadable");
    let failed = failures([invalid, (&missing, "not_found")]);
    assert_eq!(view(&world, &first).await, ("done".to_owned(), json!(1), failed));
    assert_eq!(view(&world, &second).await, ("done".to_owned(), json!(1), failures([invalid])));
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

    assert_eq!(world.run_jobs().await, dealt_with(3));
    let failed = failures([(&one.id, "asset_not_run"), (&two.id, "asset_not_run")]);
    assert_eq!(view(&world, &removed).await, ("done".to_owned(), json!(0), failed));
    assert_eq!(view(&world, &later).await, ("done".to_owned(), json!(1), Vec::new()));
}

#[tokio::test]
async fn throttled_grant_is_retried_and_not_failed() {
    let host = Host::fresh();
    let world = World::with_terms(host.clone(), "bulk-throttle", |_| {}).await;
    let tap = Tap::default();
    let (stack, hand) = (host.stack(), TestClock::default());
    let of = (stack.dynamodb_url(), stack.table());
    let (worker, _) = tap.app(of, Attempts::OneShort, hand.clock(), stack.stripe()).await;
    let run = async || {
        let tenant = Tenant::parse(&world.tenant).expect("a slug");
        gate::as_function("jobs", jobs::run_due(&worker, &tenant)).await
    };
    let customers = [world.customer().await, world.customer().await, world.customer().await];
    let ids = customers.each_ref().map(|customer| customer.id.as_str());
    let job = bulk(&world, &ids, "POINT").await;
    // The job itself is written first.
    tap.next_writes([None, Some(Fault::Error(400, "ThrottlingException"))]);
    assert_eq!((run().await, tap.faults_left()), (dealt_with(2), 0));
    assert_eq!(view(&world, &job).await, ("running".to_owned(), json!(2), Vec::new()));
    assert_eq!(run().await, dealt_with(0), "a minute has not gone by");
    // The answer is lost after the effect.
    hand.forward(Duration::from_secs(61));
    tap.next_writes([Some(Fault::AnswerLost)]);
    assert_eq!(run().await, dealt_with(0));
    hand.forward(Duration::from_secs(121));
    assert_eq!(run().await, dealt_with(1));
    assert_eq!(view(&world, &job).await, ("done".to_owned(), json!(3), Vec::new()));
    assert_eq!(points(&world, &customers.each_ref()).await, ["25", "25", "25"]);
    world.check_books().await;
}

#[tokio::test]
async fn customer_is_granted_to_once_without_the_marker_of_the_grant() {
    let world = World::new("bulk-expired").await;
    let (kept, lost) = (world.customer().await, world.customer().await);
    let job = bulk(&world, &[&kept.id, &lost.id], "POINT").await;
    let old = world.books().await.row(&format!("bulk-expired#job#{job}"), "JOB").expect("the job").clone();
    assert_eq!(world.run_jobs().await, dealt_with(2));

    // As if the progress had not been stored, and one marker had expired.
    world.plant(old).await;
    let books = world.books().await;
    let markers = books.under("ledger_idem#bulk_grant#").filter(|(_, sk, _)| sk.ends_with(&lost.id));
    let markers: Vec<(String, String)> = markers.map(|(pk, sk, _)| (pk.to_owned(), sk.to_owned())).collect();
    assert_eq!(markers.len(), 1);
    for (pk, sk) in markers {
        world.remove(&pk, &sk).await;
    }
    assert_eq!(world.run_jobs().await, dealt_with(2));
    assert_eq!(view(&world, &job).await, ("done".to_owned(), json!(2), Vec::new()));
    assert_eq!(points(&world, &[&kept, &lost]).await, ["25", "25"]);
}
