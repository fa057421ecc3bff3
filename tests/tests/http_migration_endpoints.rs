//! The operator's endpoints of a migration, and the worker behind them: who has none, what is refused, and the pace.
#![cfg(feature = "stack")]

use ledger_core::migration::Model;
use ledger_runtime::migration::{Migrated, Settings};
use ledger_tests::http::migrating::{last, stand_at};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Host, World};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PASSES: [&str; 3] = ["backfill", "verify", "contract"];

async fn pass(world: &World, kind: &str, body: &Value) -> Answer {
    let path = format!("/v1/admin/migration/{kind}");
    world.api.settle(&Call::post(&path, &world.operator.who, body).key(new_key())).await
}

async fn enter(world: &World, phase: u8) -> Answer {
    let put = Call::new("PUT".parse().expect("a method"), "/v1/admin/migration/phase", &world.operator.who);
    world.api.settle(&put.json(&json!({"phase": phase}))).await
}

async fn view(world: &World) -> Value {
    world.api.send(&Call::get("/v1/admin/migration", &world.operator.who)).await.good().json()
}

#[tokio::test]
async fn a_tenant_of_split_records_has_no_migration() {
    let world = World::new("migration-none").await;
    let before = world.books().await;
    assert_eq!(view(&world).await, json!({"status": "split", "stages": [], "passes": []}));
    let _ = enter(&world, 1).await.problem(404, "not_found");
    for kind in PASSES {
        let _ = pass(&world, kind, &json!({})).await.problem(404, "not_found");
    }
    assert_eq!(world.migrate().await, Ok(Migrated::default()));
    world.books().await.unchanged_since(&before, "a migration that there is not moved something");
}

#[tokio::test]
async fn phases_come_one_after_the_other_and_on_evidence() {
    let world = World::legacy(Host::fresh(), "migration-phases", Model::GodRecord).await;
    let phase = async || view(&world).await["phase"].clone();
    for skipped in [2, last(Model::GodRecord), last(Model::GodRecord) + 1, 255] {
        let answer = enter(&world, skipped).await.problem(400, "invalid_request");
        assert_eq!(answer.text("/field"), "phase");
    }
    let _ = pass(&world, "contract", &json!({})).await.problem(400, "wrong_state");
    for wrong in [0, 1001] {
        let answer = pass(&world, "backfill", &json!({"customers_per_second": wrong})).await;
        assert_eq!(answer.problem(400, "invalid_request").text("/field"), "customers_per_second");
    }
    assert_eq!(phase().await, json!(0));
    assert_eq!(enter(&world, 1).await.good().json()["phase"], 1);
    // Somebody may still go by the phase before.
    let _ = enter(&world, 2).await.problem(400, "wrong_state");
    stand_at(&world, Model::GodRecord, 1, false).await;
    let _ = enter(&world, 2).await.problem(400, "wrong_state");
    let _ = pass(&world, "backfill", &json!({})).await.good();
    let _ = enter(&world, 2).await.problem(400, "wrong_state");
    assert_eq!(world.migrate().await, Ok(Migrated { customers: 0, passes: 1 }));
    assert_eq!(enter(&world, 2).await.good().json()["phase"], 2);
    stand_at(&world, Model::GodRecord, 2, false).await;
    assert_eq!(enter(&world, 1).await.good().json()["phase"], 1);
}

/// However few customers a page of the table has: what they are looked at per second is what was asked for.
#[tokio::test]
async fn a_pass_keeps_its_pace() {
    let world = World::legacy(Host::fresh(), "migration-pace", Model::GodRecord).await;
    for _ in 0..3 {
        let _ = world.customer().await;
    }
    let _ = pass(&world, "verify", &json!({"customers_per_second": 4})).await.good();
    let began = Instant::now();
    let done = world.migrate_as(Settings::default()).await;
    assert_eq!(done, Ok(Migrated { customers: 3, passes: 1 }));
    assert!(began.elapsed() >= Duration::from_millis(750), "{:?}", began.elapsed());
}
