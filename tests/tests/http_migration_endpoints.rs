//! The operator's endpoints of a migration, and the worker behind them: who has none, what is refused, and the pace.
#![cfg(feature = "stack")]

use ledger_core::migration::{Model, Phase};
use ledger_runtime::migration::Migrated;
use ledger_tests::http::migrating::last;
use ledger_tests::http::{Host, World};
use serde_json::json;
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
