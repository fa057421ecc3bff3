//! Budgets of assets, as the operator sets them.

use super::prepared::{Prepared, make};
use super::world::new_key;
use super::{Call, World};
use crate::cloud::gate;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use std::collections::HashMap;

/// A regional currency whose grants take from a budget.
pub const SPRING: &str = "REGIONAL#spring";
/// Where a budget is set.
pub const BUDGET: &str = "/v1/admin/assets/budget";

/// Adds [`SPRING`] to the terms that a tenant has at present.
async fn add(world: &World) {
    let terms = HashMap::from([
        ("scale".to_owned(), AttributeValue::N("0".to_owned())),
        ("transferable".to_owned(), AttributeValue::Bool(true)),
        ("spendable".to_owned(), AttributeValue::Bool(true)),
        ("budgeted".to_owned(), AttributeValue::Bool(true)),
    ]);
    let key = ledger_core::keys::config(&world.slug());
    let update = world.table().update_item().table_name(world.table_name());
    let update = update.key("uuid", AttributeValue::S(key.pk().to_owned()));
    let update = update.key("type", AttributeValue::S(key.sk().to_owned()));
    let update = update.update_expression("SET assets.#spring = :terms").expression_attribute_names("#spring", SPRING);
    let _ = update.expression_attribute_values(":terms", AttributeValue::M(terms)).send().await.expect("the table");
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
