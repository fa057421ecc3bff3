//! The operator's migration endpoints and their worker: tenants without one, refusals, and the pace of passes.
use ledger_core::dynamo::{self, Item};
use ledger_core::migration::{Concern, Model, Phase, Stage};
use ledger_local::migrate_command::{self, MigrateCommand, MigrateError, Step};
use ledger_runtime::migration::Migrated;
use ledger_tests::audit::n;
use ledger_tests::http::legacy_types::{self, Case};
use ledger_tests::http::migrating::{Migrating, last, phase_of};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Customer, Host, Merchant, Who, World};
use ledger_tests::share;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Every so many attributes in a type are sent all requests by default.
const CASE_STEP: usize = 7;
const PASSES: [&str; 3] = ["backfill", "verify", "contract"];

#[tokio::test]
async fn split_tenant_has_no_migration() {
    let world = World::new("migration-none").await;
    let before = world.books().await;
    assert_eq!(world.migration().await, json!({"status": "split", "stages": [], "passes": []}));
    let _ = world.put_phase(1).await.problem(404, "not_found");
    for kind in PASSES {
        let _ = world.request_pass(kind, &json!({})).await.problem(404, "not_found");
    }
    assert_eq!(world.migrate().await, Ok(Migrated::default()));
    world.books().await.unchanged_since(&before, "a request without a migration moved something");
}

#[tokio::test]
async fn phases_are_entered_in_order_and_after_their_passes() {
    let world = World::legacy(Host::fresh(), "migration-phases", Model::GodRecord).await;
    let at = |number| Phase::new(Model::GodRecord, number).expect("a phase");
    let phase = async || world.migration().await["phase"].clone();
    let end = last(Model::GodRecord).number();
    for skipped in [2, end, end + 1, 255] {
        let answer = world.put_phase(skipped).await.problem(400, "invalid_request");
        assert_eq!(answer.text("/field"), "phase");
    }
    let _ = world.request_pass("contract", &json!({})).await.problem(400, "wrong_state");
    for wrong in [0, 1001] {
        let answer = world.request_pass("backfill", &json!({"customers_per_second": wrong})).await;
        assert_eq!(answer.problem(400, "invalid_request").text("/field"), "customers_per_second");
    }
    assert_eq!(phase().await, json!(0));
    assert_eq!(world.put_phase(1).await.good().json()["phase"], 1);
    // Some environments may still use the phase before.
    let _ = world.put_phase(2).await.problem(400, "wrong_state");
    world.set_phase(at(1)).await;
    let _ = world.put_phase(2).await.problem(400, "wrong_state");
    let _ = world.request_pass("backfill", &json!({})).await.good();
    let _ = world.put_phase(2).await.problem(400, "wrong_state");
    assert_eq!(world.migrate().await, Ok(Migrated { customers: 0, passes: 1 }));
    assert_eq!(world.put_phase(2).await.good().json()["phase"], 2);
    world.set_phase(at(2)).await;
    assert_eq!(world.put_phase(1).await.good().json()["phase"], 1);
}

/// The customers per second are as requested, however few customers a page of the table has.
#[tokio::test]
async fn pass_keeps_the_requested_pace() {
    let world = World::legacy(Host::fresh(), "migration-pace", Model::GodRecord).await;
    for _ in 0..3 {
        let _ = world.customer().await;
    }
    let _ = world.request_pass("verify", &json!({"customers_per_second": 4})).await.good();
    let began = Instant::now();
    let done = world.migrate().await;
    assert_eq!(done, Ok(Migrated { customers: 3, passes: 1 }));
    assert!(began.elapsed() >= Duration::from_millis(750), "{:?}", began.elapsed());
}

/// The command of a step, with the operator's token in a file.
fn command(world: &World, step: Step) -> MigrateCommand {
    let token_file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.token", world.tenant));
    let Who::Bearer(token) = &world.operator.who else { panic!("an operator has a token") };
    std::fs::write(&token_file, token).expect("a file for a token");
    let (url, tenant) = (world.api.base().to_owned(), world.tenant.clone());
    MigrateCommand { url, token_file: Some(token_file), tenant, step }
}

/// The operator runs the steps from the shell.
#[tokio::test]
async fn migrate_command_runs_the_steps() {
    let world = World::legacy(Host::fresh(), "migration-shell", Model::GodRecord).await;
    let customer = world.legacy_customer(&[("balance", n(10_000))], &[]).await;
    let refused = world.legacy_customer(&[("balance", n(-1))], &[]).await;
    let shown_lines = Mutex::new(Vec::new());
    let run = async |step| {
        let progress = |line: &str| shown_lines.lock().expect("no panic").push(line.to_owned());
        migrate_command::run(&command(&world, step), progress).await
    };
    let (shown, clean) = run(Step::Status).await.expect("a status");
    assert!(clean && shown.starts_with("migrating from god_record: phase 0 of 28, since "), "{shown}");
    assert!(shown.ends_with("\nnext: phase 1, profile dual_write: may be entered"), "{shown}");
    assert_eq!(
        run(Step::Back).await.expect_err("the first phase has none before it").to_string(),
        "this is the first phase"
    );

    // It waits for the worker, and names the customers that were left.
    let work = async {
        while shown_lines.lock().expect("no panic").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        world.migrate().await
    };
    let (pass, worked) = tokio::join!(run(Step::Pass("backfill", Some(100))), work);
    assert_eq!(worked, Ok(Migrated { customers: 2, passes: 1 }));
    let (shown, clean) = pass.expect("a pass");
    assert_eq!(
        shown_lines.lock().expect("no panic")[0],
        "backfill in phase 0: waiting, 0 customers, 0 changed, 0 left"
    );
    assert!(!clean && shown.contains("\nbackfill in phase 0: done, 2 customers, 1 changed, 1 left\n"), "{shown}");
    assert!(shown.contains(&format!("    {} the God Record's `balance` ", refused.id)), "{shown}");
    assert!(!shown.contains(&customer.id), "{shown}");

    let (shown, clean) = run(Step::Next).await.expect("the first phase");
    assert!(clean && shown.starts_with("migrating from god_record: phase 1 of 28, "), "{shown}");
    for step in [Step::Next, Step::Back] {
        let why = run(step).await.expect_err("it has not settled").to_string();
        assert!(why.starts_with("400 wrong_state: the phase was just changed: wait "), "{why}");
    }
}

/// A pass runs in the worker: the end of the command that watches it does not stop it.
#[tokio::test]
async fn migrate_command_without_answer_says_that_the_pass_continues() {
    let world = World::legacy(Host::fresh(), "migration-unseen", Model::GodRecord).await;
    let verify = command(&world, Step::Pass("verify", None));
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let progress = |_: &str| {
        let _ = sender.lock().expect("no panic").take().map(|sender| sender.send(()));
    };
    let stop_stack = async {
        receiver.await.expect("the command shows the pass once");
        drop(world);
    };
    let (watched, ()) = tokio::join!(migrate_command::run(&verify, progress), stop_stack);
    let lost = watched.expect_err("the stack has stopped");
    assert!(matches!(&lost, MigrateError::OutOfSight { .. }), "{lost}");
    let why = lost.to_string();
    assert!(why.starts_with("the pass was requested and continues without this command; `migrate status` "), "{why}");
    assert!(why.contains(&format!("no answer from {}/v1/admin/migration", verify.url)), "{why}");
}

/// The customer's profile, balances and history by the customer API.
async fn customer_answers(world: &World, customer: &Customer) -> [Answer; 3] {
    let get = async |path: &str| world.api.settle(&Call::get(path, &customer.who)).await;
    [get("/v1/me").await, get("/v1/me/balances").await, get("/v1/me/transactions?limit=100").await]
}

/// Sends every kind of request that touches a customer; asserts that none is answered with a 5xx.
async fn send_requests(
    world: &World,
    merchant: &Merchant,
    rich: &Customer,
    customer: &Customer,
) -> Vec<(String, Answer)> {
    let operator = &world.operator.who;
    let path = format!("/v1/admin/customers/{}", customer.id);
    let grant = json!({"customer_id": customer.id, "asset": "POINT", "amount": "1", "reason": "for a test"});
    let status = |status: &str| json!({"status": status, "reason": "for a test"});
    let calls = [
        ("profile", Call::get("/v1/me", &customer.who)),
        ("balances", Call::get("/v1/me/balances", &customer.who)),
        ("history", Call::get("/v1/me/transactions", &customer.who)),
        ("operator", Call::get(&path, operator)),
        ("grant", Call::post("/v1/admin/grants", operator, &grant).key(new_key())),
        ("paid", rich.sends(customer, "1")),
        ("pay", customer.pays(merchant, "1")),
        ("patch", Call::patch("/v1/me", &customer.who, &json!({"name": "Hana"})).key(new_key())),
        ("freeze", Call::patch(&path, operator, &status("frozen")).key(new_key())),
        ("unfreeze", Call::patch(&path, operator, &status("active")).key(new_key())),
    ];
    let mut answers = Vec::new();
    for (name, call) in calls {
        let answer = world.executes(&call).await;
        assert!(answer.status < 500, "{name}: {answer:?}");
        answers.push((name.to_owned(), answer));
    }
    answers
}

fn status(answers: &[(String, Answer)], name: &str) -> u16 {
    answers.iter().find(|(called, _)| called == name).map(|(_, answer)| answer.status).expect("a request")
}

/// Every type of every attribute of a God Record, before adoption, during the migration and in its last phase: what can
/// be kept is kept; what cannot be is named to the operator and left unchanged.
#[tokio::test]
async fn legacy_attribute_of_any_type_is_kept_or_named() {
    let world = World::legacy(Host::fresh(), "legacy-types", Model::GodRecord).await;
    let merchant = world.merchant().await;
    let rich = world.customer_with("50000").await;
    let mut customers = Vec::new();
    for case in share::of(legacy_types::cases(), CASE_STEP) {
        let (customer, before) = case.customer(&world).await;
        let label = format!("{case:?}");
        let [profile, balances, history] = customer_answers(&world, &customer).await;
        assert!([&profile, &balances, &history].iter().all(|answer| answer.status < 500), "{label}");
        let answers = send_requests(&world, &merchant, &rich, &customer).await;
        if case.is_kept {
            for name in ["profile", "balances", "history", "operator", "grant", "patch", "freeze", "unfreeze"] {
                assert!(status(&answers, name) < 300, "{label} {name}: {answers:?}");
            }
            let created_at = profile.good().json()["created_at"].clone();
            if let Some(dynamo::Value::N(number)) = before.get("created_at") {
                let millis = if number == legacy_types::MILLIS { "123" } else { "000" };
                assert_eq!(created_at, json!(format!("2021-04-01T00:00:00.{millis}Z")), "{label}");
            }
        } else {
            for name in ["grant", "paid", "pay", "patch", "freeze", "unfreeze"] {
                assert_eq!(status(&answers, name), 400, "{label} {name}: {answers:?}");
            }
            let answer = |name: &str| answers.iter().find(|(called, _)| called == name).expect("a request").1.clone();
            let grant = answer("grant").problem(400, "legacy_record_unreadable");
            assert!(case.is_named(&grant.text("/attribute")), "{label}: {grant:?}");
            // Another customer does not see the attribute.
            let paid = answer("paid").problem(400, "legacy_record_unreadable");
            assert_eq!(paid.json().get("attribute"), None, "{label}");
        }
        customers.push((case, customer, before));
    }
    check_rows_unchanged(&world, &customers).await;
    let refused = customers.iter().filter(|(case, ..)| !case.is_kept).count();
    let _ = world.request_pass("backfill", &json!({"customers_per_second": 1000})).await.good();
    let _ = world.migrate_for(Duration::from_secs(60)).await.expect("a slice");
    let pass = world.last_pass("backfill").await;
    assert_eq!((&pass["status"], &pass["failed"]), (&json!("done"), &json!(refused)), "{pass}");
    for phase in [phase_of(Model::GodRecord, Concern::Money, Stage::DualWrite), last(Model::GodRecord)] {
        world.set_phase(phase).await;
        // The functions read the setting again.
        assert_eq!(world.migration().await["phase"], json!(phase.number()));
        for (case, customer, _) in &customers {
            let answers = send_requests(&world, &merchant, &rich, customer).await;
            let good = status(&answers, "grant") < 300;
            assert_eq!(good, case.is_kept, "phase {phase} {case:?}: {answers:?}");
        }
        check_rows_unchanged(&world, &customers).await;
    }
}

/// An unreadable record is unchanged; in a kept one, attributes that the ledger does not use are unchanged.
async fn check_rows_unchanged(world: &World, customers: &[(Case, Customer, Item)]) {
    let books = world.books().await;
    for (case, customer, before) in customers {
        let row = books.row(&format!("{}#customer#{}", world.tenant, customer.id), "customer");
        let row = row.unwrap_or_else(|| panic!("no record of {case:?}"));
        if case.is_kept {
            assert_eq!(row.get("loyalty_tier"), before.get("loyalty_tier"), "{case:?}");
            // Readers of the legacy system find the type that they know.
            if let Some(dynamo::Value::N(_)) = before.get("created_at") {
                assert_eq!(row.get("created_at"), before.get("created_at"), "{case:?}");
            }
        } else {
            assert_eq!(row, before, "{case:?}");
        }
    }
}

/// Legacy attributes that can be kept pass through the whole migration, including numeric timestamps and history of any
/// type: the customer sees the same throughout, and verification finds both models equal.
#[tokio::test]
async fn kept_legacy_attributes_survive_the_whole_migration() {
    let migrating = Migrating::start("legacy-types-all", Model::GodRecord, 0).await;
    let world = &migrating.world;
    let mut customers = Vec::new();
    let cases = legacy_types::cases().into_iter().filter(|case| case.is_kept && case.attribute != "loyalty_tier");
    for case in share::of_family(cases) {
        let (customer, _) = case.customer(world).await;
        customers.push((format!("{case:?}"), customer));
    }
    let (_, historian) = customers.first().expect("a customer");
    let rows = legacy_types::plant_history(world, historian).await;
    let shown = async |customer: &Customer| {
        let [profile, balances, history] = customer_answers(world, customer).await.map(|answer| answer.good().json());
        let mut shown = [profile, balances, history["items"].clone()];
        drop(shown[0].as_object_mut().expect("a profile").remove("updated_at"));
        for balance in shown[1]["balances"].as_array_mut().expect("balances") {
            drop(balance.as_object_mut().expect("a balance").remove("updated_at"));
        }
        shown
    };
    let _ = migrating.pass("backfill").await;
    let mut before = Vec::new();
    for (label, customer) in &customers {
        before.push((label, customer, shown(customer).await));
    }
    let lines = before[0].2[2].as_array().map(Vec::len).unwrap_or_default();
    assert!(lines >= rows.min(100), "{lines} of {rows} rows");
    for phase in migrating.phases() {
        let _ = migrating.enter(phase).await;
    }
    migrating.settle();
    let _ = migrating.clean("verify").await;
    let _ = migrating.contract().await;
    for (label, customer, before) in &before {
        assert_eq!(&shown(customer).await, before, "{label}");
    }
}
