//! The same of tenants that are on their way from a legacy model: what writes to customers, in each form that such a
//! write has, and the worker that takes customers along.

use super::drive::{in_flight, traffic};
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_core::keys::{GOD_RECORD, sk};
use ledger_core::migration::Model;
use ledger_runtime::migration::{Migrated, Settings};
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::migrating::{last, stand_at};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Host, World};
use serde_json::{Value, json};

const MODEL: Model = Model::GodRecord;
/// Of all concerns both models are written, and the split records are read.
const BOTH: u8 = 21;

/// All of it.
pub(crate) async fn everything() {
    // God Records alone; both models; and split records, while the God Records are emptied.
    for (tenant, phase, contracting) in [("first", 0, false), ("both", BOTH, false), ("last", last(MODEL), true)] {
        let world = World::legacy(Host::fresh(), &format!("driven-{tenant}"), MODEL).await;
        world.hold_deliveries().await;
        stand_at(&world, MODEL, phase, contracting).await;
        traffic(&Stage::set(world).await).await;
    }
    in_flight(async |world| stand_at(world, MODEL, last(MODEL), true).await).await;
    passes().await;
}

/// One customer is taken along, with a step back on the way.
async fn passes() {
    let world = World::legacy(Host::fresh(), "taken-along", MODEL).await;
    let customer = left_behind(&world).await;
    let put = Call::new("PUT".parse().expect("a method"), "/v1/admin/migration/phase", &world.operator.who);
    let _ = world.api.settle(&put.json(&json!({"phase": 1}))).await.good();
    stand_at(&world, MODEL, BOTH, false).await;
    pass(&world, "backfill").await;
    let found = pass(&world, "verify").await;
    assert_eq!((&found["customers"], &found["left"]), (&json!(1), &json!(0)), "{found}");
    stand_at(&world, MODEL, last(MODEL), false).await;
    // Whoever shows it has read it: what follows is not written by an earlier setting.
    let _ = view(&world).await;
    world.change(&format!("/v1/admin/customers/{customer}"), &json!({"name": "Hana"})).await;
    stand_at(&world, MODEL, BOTH, false).await;
    pass(&world, "backfill").await;
    stand_at(&world, MODEL, last(MODEL), false).await;
    pass(&world, "contract").await;
    let books = world.books().await;
    let record = books.row(&format!("{}#customer#{customer}", world.tenant), GOD_RECORD).expect("a God Record");
    assert!(!record.contains_key("balance"), "{record:?}");
}

/// Asks for a pass and carries it to its end: what it came to.
async fn pass(world: &World, kind: &str) -> Value {
    let path = format!("/v1/admin/migration/{kind}");
    let call = Call::post(&path, &world.operator.who, &json!({})).key(new_key());
    let _ = world.api.settle(&call).await.good();
    let run = world.migrate_as(Settings { unsettled: true, ..Settings::default() }).await.expect("a whole run");
    assert_eq!(run, Migrated { customers: 1, passes: 1 }, "{kind}");
    let view = view(world).await;
    let mut passes = view["passes"].as_array().expect("passes").iter();
    passes.find(|pass| pass["kind"] == kind).cloned().unwrap_or_else(|| panic!("no {kind} in {view}"))
}

async fn view(world: &World) -> Value {
    world.api.send(&Call::get("/v1/admin/migration", &world.operator.who)).await.good().json()
}

/// A customer as a legacy system had them: one item, and what happened. The customer's id.
async fn left_behind(world: &World) -> String {
    let id = new_id();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let n = |number: &str| AttributeValue::N(number.to_owned());
    let pk = text(&format!("{}#customer#{id}", world.tenant));
    let record = [
        ("uuid", pk.clone()),
        ("type", text(GOD_RECORD)),
        ("name", text("Hanako")),
        ("balance", n("10000")),
        ("point", n("70")),
        ("co2_total", n("1.5")),
    ];
    let row = [("uuid", pk), ("type", text(&format!("{}1617235200000#topup", sk::HISTORY))), ("amount", n("12000"))];
    world.plant(record.map(|(name, value)| (name.to_owned(), value)).into()).await;
    world.plant(row.map(|(name, value)| (name.to_owned(), value)).into()).await;
    id
}
