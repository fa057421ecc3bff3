//! The same of tenants that are on their way from a legacy model: what writes to customers, in each form that such a
//! write has, and the worker that takes customers along.

use super::drive::{BALANCE, in_flight, reconciliations, traffic};
use ledger_core::keys::{GOD_RECORD, sk};
use ledger_core::migration::{Concern, Model, Phase, Stage};
use ledger_runtime::migration::Migrated;
use ledger_tests::http::books::n;
use ledger_tests::http::migrating::{last, phase_of};
use ledger_tests::http::{Customer, Host, World, endpoints};
use serde_json::{Value, json};

const MODEL: Model = Model::GodRecord;

/// Of all concerns both models are written, and the split records are read: money is the last to come there.
fn both() -> Phase {
    phase_of(MODEL, Concern::Money, Stage::ReadNew)
}

/// All of tenants that are on their way.
pub(crate) async fn everything() {
    // God Records alone; both models, of which the split records are read; and split records, while the God Records are
    // emptied.
    for phase in [Phase::first(MODEL), both(), last(MODEL)] {
        at(phase).await;
    }
    in_flight(async |world| world.stand_contracting(MODEL).await).await;
    passes().await;
}

/// A tenant that stands at a phase.
async fn at(phase: Phase) {
    let world = World::legacy(Host::fresh(), &format!("driven-{phase}"), MODEL).await;
    world.hold_deliveries().await;
    if phase.is_last() {
        world.stand_contracting(MODEL).await;
    } else {
        world.stand_at(phase).await;
    }
    let stage = endpoints::Stage::set(world).await;
    traffic(&stage).await;
    let is_split = phase.stage(Concern::Money).reads_split();
    reconciliations(&stage, if is_split { BALANCE } else { GOD_RECORD }).await;
}

/// One customer is taken along, with a step back on the way.
async fn passes() {
    let world = World::legacy(Host::fresh(), "taken-along", MODEL).await;
    let customer = left_behind(&world).await;
    let _ = world.put_phase(1).await.good();
    world.stand_at(both()).await;
    pass(&world, "backfill").await;
    let found = pass(&world, "verify").await;
    assert_eq!((&found["customers"], &found["left"]), (&json!(1), &json!(0)), "{found}");
    world.stand_at(last(MODEL)).await;
    // Whoever shows it has read it: what follows is not written by an earlier setting.
    world.migration().await;
    world.change(&format!("/v1/admin/customers/{}", customer.id), &json!({"name": "Hana"})).await;
    world.stand_at(both()).await;
    pass(&world, "backfill").await;
    world.stand_contracting(MODEL).await;
    pass(&world, "contract").await;
    let record = world.row_of(&customer, GOD_RECORD).await;
    assert!(!record.contains_key("balance"), "{record:?}");
}

/// Asks for a pass and carries it to its end: what it came to.
async fn pass(world: &World, kind: &str) -> Value {
    let _ = world.ask_for(kind, &json!({})).await.good();
    let run = world.migrate().await.expect("a whole run");
    assert_eq!(run, Migrated { customers: 1, passes: 1 }, "{kind}");
    world.last_pass(kind).await
}

/// A customer as a legacy system had them: one item, and what happened.
async fn left_behind(world: &World) -> Customer {
    let record = [("balance", n(10_000)), ("point", n(70)), ("co2_total", n("1.5"))];
    let customer = world.legacy_customer(&record, &[]).await;
    world.plant_of(&customer, &format!("{}1617235200000#topup", sk::HISTORY), &[("amount", n(12_000))]).await;
    customer
}
