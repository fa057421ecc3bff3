//! The operator's endpoints of a migration, and the worker behind them: who has none, what is refused, and the pace.
#![cfg(feature = "stack")]

use ledger_core::migration::{Model, Phase};
use ledger_local::migrate_command::{self, MigrateCommand, MigrateError, Step};
use ledger_runtime::migration::Migrated;
use ledger_tests::http::books::n;
use ledger_tests::http::migrating::last;
use ledger_tests::http::{Host, Who, World};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const PASSES: [&str; 3] = ["backfill", "verify", "contract"];

#[tokio::test]
async fn a_tenant_of_split_records_has_no_migration() {
    let world = World::new("migration-none").await;
    let before = world.books().await;
    assert_eq!(world.migration().await, json!({"status": "split", "stages": [], "passes": []}));
    let _ = world.put_phase(1).await.problem(404, "not_found");
    for kind in PASSES {
        let _ = world.ask_for(kind, &json!({})).await.problem(404, "not_found");
    }
    assert_eq!(world.migrate().await, Ok(Migrated::default()));
    world.books().await.unchanged_since(&before, "a migration that there is not moved something");
}

#[tokio::test]
async fn phases_come_one_after_the_other_and_on_evidence() {
    let world = World::legacy(Host::fresh(), "migration-phases", Model::GodRecord).await;
    let at = |number| Phase::new(Model::GodRecord, number).expect("a phase");
    let phase = async || world.migration().await["phase"].clone();
    let end = last(Model::GodRecord).number();
    for skipped in [2, end, end + 1, 255] {
        let answer = world.put_phase(skipped).await.problem(400, "invalid_request");
        assert_eq!(answer.text("/field"), "phase");
    }
    let _ = world.ask_for("contract", &json!({})).await.problem(400, "wrong_state");
    for wrong in [0, 1001] {
        let answer = world.ask_for("backfill", &json!({"customers_per_second": wrong})).await;
        assert_eq!(answer.problem(400, "invalid_request").text("/field"), "customers_per_second");
    }
    assert_eq!(phase().await, json!(0));
    assert_eq!(world.put_phase(1).await.good().json()["phase"], 1);
    // Somebody may still go by the phase before.
    let _ = world.put_phase(2).await.problem(400, "wrong_state");
    world.stand_at(at(1)).await;
    let _ = world.put_phase(2).await.problem(400, "wrong_state");
    let _ = world.ask_for("backfill", &json!({})).await.good();
    let _ = world.put_phase(2).await.problem(400, "wrong_state");
    assert_eq!(world.migrate().await, Ok(Migrated { customers: 0, passes: 1 }));
    assert_eq!(world.put_phase(2).await.good().json()["phase"], 2);
    world.stand_at(at(2)).await;
    assert_eq!(world.put_phase(1).await.good().json()["phase"], 1);
}

/// However few customers a page of the table has: what they are looked at per second is what was asked for.
#[tokio::test]
async fn a_pass_keeps_its_pace() {
    let world = World::legacy(Host::fresh(), "migration-pace", Model::GodRecord).await;
    for _ in 0..3 {
        let _ = world.customer().await;
    }
    let _ = world.ask_for("verify", &json!({"customers_per_second": 4})).await.good();
    let began = Instant::now();
    let done = world.migrate().await;
    assert_eq!(done, Ok(Migrated { customers: 3, passes: 1 }));
    assert!(began.elapsed() >= Duration::from_millis(750), "{:?}", began.elapsed());
}

/// The command that takes a step, with the operator's token in a file.
fn command(world: &World, step: Step) -> MigrateCommand {
    let token_file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.token", world.tenant));
    let Who::Bearer(token) = &world.operator.who else { panic!("an operator has a token") };
    std::fs::write(&token_file, token).expect("a file for a token");
    let (url, tenant) = (world.api.base().to_owned(), world.tenant.clone());
    MigrateCommand { url, token_file: Some(token_file), tenant, step }
}

/// An operator's day at the shell.
#[tokio::test]
async fn a_command_takes_the_steps() {
    let world = World::legacy(Host::fresh(), "migration-shell", Model::GodRecord).await;
    let customer = world.legacy_customer(&[("balance", n(10_000))], &[]).await;
    let refused = world.legacy_customer(&[("balance", n(-1))], &[]).await;
    let said = Mutex::new(Vec::new());
    let run = async |step| {
        let progress = |line: &str| said.lock().expect("no panic").push(line.to_owned());
        migrate_command::run(&command(&world, step), progress).await
    };
    let (shown, clean) = run(Step::Status).await.expect("a status");
    assert!(clean && shown.starts_with("migrating from god_record: phase 0 of 28, since "), "{shown}");
    assert!(shown.ends_with("\nnext: phase 1, profile dual_write: may be entered"), "{shown}");
    assert_eq!(run(Step::Back).await.expect_err("there is none").to_string(), "this is the first phase");

    // It waits for the worker, and tells whom it left.
    let work = async {
        while said.lock().expect("no panic").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        world.migrate().await
    };
    let (pass, worked) = tokio::join!(run(Step::Pass("backfill", Some(100))), work);
    assert_eq!(worked, Ok(Migrated { customers: 2, passes: 1 }));
    let (shown, clean) = pass.expect("a pass");
    assert_eq!(said.lock().expect("no panic")[0], "backfill in phase 0: requested, 0 customers, 0 changed, 0 left");
    assert!(!clean && shown.contains("\nbackfill in phase 0: done, 2 customers, 1 changed, 1 left\n"), "{shown}");
    assert!(shown.contains(&format!("    {} the God Record's `balance` ", refused.id)), "{shown}");
    assert!(!shown.contains(&customer.id), "{shown}");

    let (shown, clean) = run(Step::Next).await.expect("the first phase");
    assert!(clean && shown.starts_with("migrating from god_record: phase 1 of 28, "), "{shown}");
    for step in [Step::Next, Step::Back] {
        let why = run(step).await.expect_err("it has not settled").to_string();
        assert!(why.starts_with("400 wrong_state: the phase was changed a moment ago: wait "), "{why}");
    }
}

/// The pass is its worker's: who watched it has not stopped it.
#[tokio::test]
async fn whoever_loses_sight_of_a_pass_is_told_that_it_goes_on() {
    let world = World::legacy(Host::fresh(), "migration-unseen", Model::GodRecord).await;
    let verify = command(&world, Step::Pass("verify", None));
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let asked = Mutex::new(Some(asked));
    let progress = |_: &str| {
        let _ = asked.lock().expect("no panic").take().map(|asked| asked.send(()));
    };
    let gone = async {
        was_asked.await.expect("a first look");
        drop(world);
    };
    let (watched, ()) = tokio::join!(migrate_command::run(&verify, progress), gone);
    let lost = watched.expect_err("nobody answers any more");
    assert!(matches!(&lost, MigrateError::OutOfSight { .. }), "{lost}");
    let why = lost.to_string();
    assert!(why.starts_with("the pass was asked for and does not need this command; `migrate status` "), "{why}");
    assert!(why.contains(&format!("no answer from {}/v1/admin/migration", verify.url)), "{why}");
}
