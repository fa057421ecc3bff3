//! The same for migrating tenants: every form of a customer's write, and the migration worker.

use super::drive::{BALANCE, in_flight, reconciliations, traffic};
use ledger_core::keys::{GOD_RECORD, sk};
use ledger_core::migration::{Concern, Model, Phase, Stage};
use ledger_runtime::migration::Migrated;
use ledger_tests::audit::n;
use ledger_tests::http::migrating::{last, phase_of};
use ledger_tests::http::{Customer, Host, World, endpoints};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const MODEL: Model = Model::GodRecord;

/// Both models of every concern are written, and the split records are read: money is the last concern to get there.
fn both() -> Phase {
    phase_of(MODEL, Concern::Money, Stage::ReadNew)
}

/// Everything of migrating tenants, each on a stack of its own.
pub(crate) fn everything() -> JoinSet<()> {
    let mut runs = JoinSet::new();
    // God Records alone; both models with split records read; and split records while the God Records are emptied.
    for phase in [Phase::first(MODEL), both(), last(MODEL)] {
        runs.spawn(at(phase));
    }
    runs.spawn(in_flight(async |world| world.set_contracting(MODEL).await));
    runs.spawn(passes());
    runs
}

/// Runs everything for a tenant in a phase.
async fn at(phase: Phase) {
    let world = World::legacy(Host::fresh(), &format!("driven-{phase}"), MODEL).await;
    world.hold_deliveries().await;
    if phase.is_last() {
        world.set_contracting(MODEL).await;
    } else {
        world.set_phase(phase).await;
    }
    let stage = endpoints::Stage::new(world).await;
    traffic(&stage).await;
    let is_split = phase.stage(Concern::Money).reads_split();
    reconciliations(&stage, if is_split { BALANCE } else { GOD_RECORD }).await;
}

/// Runs the passes for one customer, with a step back in between.
async fn passes() {
    let world = World::legacy(Host::fresh(), "taken-along", MODEL).await;
    let customer = left_behind(&world).await;
    let _ = world.put_phase(1).await.good();
    world.set_phase(both()).await;
    pass(&world, "backfill").await;
    let found = pass(&world, "verify").await;
    assert_eq!((&found["done"], &found["failed"]), (&json!(1), &json!(0)), "{found}");
    world.set_phase(last(MODEL)).await;
    // Reading the migration makes the functions use the new setting for what follows.
    world.migration().await;
    world.change(&format!("/v1/admin/customers/{}", customer.id), &json!({"name": "Hana"})).await;
    world.set_phase(both()).await;
    pass(&world, "backfill").await;
    world.set_contracting(MODEL).await;
    pass(&world, "contract").await;
    let record = world.row_of(&customer, GOD_RECORD).await;
    assert!(!record.contains_key("balance"), "{record:?}");
}

/// Requests a pass, runs it to its end, and returns its result.
async fn pass(world: &World, kind: &str) -> Value {
    let _ = world.request_pass(kind, &json!({})).await.good();
    let run = world.migrate().await.expect("the run succeeds");
    assert_eq!(run, Migrated { customers: 1, passes: 1 }, "{kind}");
    world.last_pass(kind).await
}

/// A customer as a legacy system has it: one item and its history.
async fn left_behind(world: &World) -> Customer {
    let record = [("balance", n(10_000)), ("point", n(70)), ("co2_total", n("1.5"))];
    let customer = world.legacy_customer(&record, &[]).await;
    world.plant_of(&customer, &format!("{}1617235200000#topup", sk::HISTORY), &[("amount", n(12_000))]).await;
    customer
}
