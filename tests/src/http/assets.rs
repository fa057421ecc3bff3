//! Budgets of assets, as the operator sets them.

use super::prepared::{Prepared, make};
use super::world::new_key;
use super::{Call, World};
use crate::cloud::gate;
use ledger_core::dynamo::Value as Attribute;
use ledger_core::keys;
use ledger_core::money::{Asset, AssetSpec};
use ledger_core::terms::{AssetTerms, TenantTerms};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A regional currency whose grants take from a budget.
pub const SPRING: &str = "REGIONAL#spring";
/// Where a budget is set.
pub const BUDGET: &str = "/v1/admin/assets/budget";

/// Adds [`SPRING`] to the terms that a tenant is opened with. The functions keep terms for a minute, so where a budget of it
/// is approved, the tenant has it from the beginning.
///
/// # Panics
/// Never: the name and the scale are valid.
pub fn with_spring(terms: &mut TenantTerms) {
    let asset = Asset::parse(SPRING).expect("an asset");
    let Asset::Regional(key) = &asset else { panic!("a regional currency") };
    let spec = AssetSpec::regional(key.clone(), 0).expect("a scale");
    let _ = terms.assets.insert(asset, AssetTerms { budgeted: true, ..AssetTerms::running(spec, None) });
}

/// Adds [`SPRING`] to the terms that a tenant has at present.
async fn add(world: &World) {
    let key = keys::config(&world.slug());
    let mut config = world.app.dynamo().get(&key).await.expect("the table").expect("a tenant");
    let Some(Attribute::M(assets)) = config.get_mut("assets") else { panic!("assets") };
    let flag = |name: &str| (name.to_owned(), Attribute::Bool(true));
    let mut terms: BTreeMap<String, Attribute> = ["transferable", "spendable", "budgeted"].map(flag).into();
    let _ = terms.insert("scale".to_owned(), Attribute::int(0));
    let _ = assets.insert(SPRING.to_owned(), Attribute::M(terms));
    world.plant(config).await;
    world.app.records().forget_tenant(&world.slug());
}

fn body(budget: &str) -> Value {
    json!({"asset": SPRING, "budget": budget})
}

/// A request that sets the budget of an asset that is added for it.
pub async fn sets(world: &World) -> Call {
    gate::as_test(add(world)).await;
    Call::post(BUDGET, &world.operator.who, &body("1000")).key(new_key())
}

/// The same request, with another one under its key.
pub(super) async fn prepare(world: &World) -> Prepared {
    gate::as_test(add(world)).await;
    Prepared { status: 200, ..make(world, BUDGET, &body("1000")).with_other("budget", "1001") }
}
