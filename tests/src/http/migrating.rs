//! A tenant on its way from a legacy model, wherever on it a test wants it.

use super::World;
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_core::migration::{Model, Phase};
use std::collections::HashMap;

/// Long ago: every function has seen the setting.
const SINCE: &str = "2020-01-01T00:00:00.000Z";

/// The last phase of a model's way.
///
/// # Panics
/// Never: there is a first one.
#[must_use]
pub fn last(model: Model) -> u8 {
    Phase::all(model).last().expect("a phase").number()
}

/// Puts a tenant at a phase, past the ledger, as if it had been there for long. Each time under a fence of its own, so
/// that what was asked for before is of another setting.
///
/// # Panics
/// When the tenant has no configuration.
pub async fn stand_at(world: &World, model: Model, phase: u8, contracting: bool) {
    let books = world.books().await;
    let mut config = books.row(&format!("{}#tenant#root", world.tenant), "CONFIG").expect("a configuration").clone();
    let before = config.get("migration").and_then(|before| before.as_m().ok()?.get("fence")?.as_n().ok());
    let fence = before.map_or(0, |fence| fence.parse::<i64>().expect("a whole number") + 1);
    let mut setting = HashMap::from([
        ("model".to_owned(), AttributeValue::S(model.name().to_owned())),
        ("phase".to_owned(), AttributeValue::N(phase.to_string())),
        ("fence".to_owned(), AttributeValue::N(fence.to_string())),
        ("since".to_owned(), AttributeValue::S(SINCE.to_owned())),
    ]);
    if contracting {
        setting.insert("contracting".to_owned(), AttributeValue::Bool(true));
    }
    config.insert("migration".to_owned(), AttributeValue::M(setting));
    world.plant(config).await;
}
