//! Checks writes of one item, alone or in a transaction.

use super::placeholders::Placeholders;
use super::syntax::{self, Fault, Kind};
use super::values::{self, ItemJson};
use super::{Refusal, Rule, conditions, keys, updates};
use serde_json::Value as Json;

/// The most bytes of an expression.
const EXPRESSION_BYTES_MAX: usize = 4096;
const TABLE_NAME_LENGTHS: std::ops::RangeInclusive<usize> = 3..=255;

/// Legacy parameters that expressions have replaced.
const LEGACY: [&str; 7] = [
    "Expected",
    "ConditionalOperator",
    "AttributesToGet",
    "AttributeUpdates",
    "KeyConditions",
    "QueryFilter",
    "ScanFilter",
];

/// Checks a write of a whole item.
///
/// # Errors
/// The first refusal.
pub(super) fn check_put(action: &Json) -> Result<(), Refusal> {
    check_members(action, &[Kind::Condition])?;
    keys::check_item(&action["Item"])?;
    check_condition_alone(action)
}

/// Checks a deletion or a condition check: an action with a key and a condition.
///
/// # Errors
/// The first refusal.
pub(super) fn check_keyed(action: &Json) -> Result<(), Refusal> {
    check_members(action, &[Kind::Condition])?;
    keys::check_key(&action["Key"])?;
    check_condition_alone(action)
}

/// Checks an update.
///
/// # Errors
/// The first refusal.
pub(super) fn check_update(action: &Json) -> Result<(), Refusal> {
    check_members(action, &[Kind::Update, Kind::Condition])?;
    keys::check_key(&action["Key"])?;
    let mut placeholders = Placeholders::read(action, &[Kind::Update, Kind::Condition])?;
    if let Some(text) = expression(action, Kind::Update)? {
        let update = syntax::update(text).map_err(|fault| fault.of(Kind::Update))?;
        let empty = ItemJson::new();
        updates::check(&update, action["Key"].as_object().unwrap_or(&empty), &mut placeholders)?;
    }
    check_condition(action, Kind::Condition, &mut placeholders)?;
    placeholders.check_all_used()
}

/// Checks the `ReturnValues` of a put or a deletion.
///
/// # Errors
/// A refusal of a value that only an update can have.
pub(super) fn check_returned(body: &Json) -> Result<(), Refusal> {
    match body["ReturnValues"].as_str() {
        Some("ALL_OLD" | "NONE") | None => Ok(()),
        Some(_) => Err(Rule::ReturnValuesOfPut.refusal(&[])),
    }
}

/// Checks the members that actions of every kind have.
///
/// # Errors
/// The first refusal.
pub(super) fn check_members(action: &Json, kinds: &[Kind]) -> Result<(), Refusal> {
    check_table(action["TableName"].as_str().unwrap_or_default())?;
    let legacy: Vec<&str> = LEGACY.into_iter().filter(|name| !action[*name].is_null()).collect();
    let given: Vec<&str> = kinds.iter().map(|kind| kind.parameter()).filter(|name| !action[*name].is_null()).collect();
    if !legacy.is_empty() && !given.is_empty() {
        return Err(Rule::LegacyParameter.refusal(&[&legacy.join(", "), &given.join(", ")]));
    }
    match action["ReturnValuesOnConditionCheckFailure"].as_str() {
        Some("ALL_OLD" | "NONE") | None => Ok(()),
        Some(other) => Err(Rule::ReturnValuesOnFailure.refusal(&[other])),
    }
}

/// Checks a table's name.
///
/// # Errors
/// A refusal of an invalid name.
pub(super) fn check_table(name: &str) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(Rule::TableName.refusal(&[name, what]));
    match name.len() {
        length if length < *TABLE_NAME_LENGTHS.start() => wrong("have length greater than or equal to 3"),
        length if length > *TABLE_NAME_LENGTHS.end() => wrong("have length less than or equal to 255"),
        _ if !name.bytes().all(|sign| sign.is_ascii_alphanumeric() || b"_.-".contains(&sign)) => {
            wrong("satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
        }
        _ => Ok(()),
    }
}

/// The text of an action's expression of a kind.
///
/// # Errors
/// A refusal if it is empty or too long.
pub(super) fn expression(action: &Json, kind: Kind) -> Result<Option<&str>, Refusal> {
    let Some(text) = action[kind.parameter()].as_str() else { return Ok(None) };
    if text.is_empty() {
        return Err(Fault::new(Rule::ExpressionEmpty, &[]).of(kind));
    }
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(Fault::new(Rule::ExpressionTooLong, &[&text.len().to_string()]).of(kind));
    }
    Ok(Some(text))
}

fn check_condition_alone(action: &Json) -> Result<(), Refusal> {
    let mut placeholders = Placeholders::read(action, &[Kind::Condition])?;
    check_condition(action, Kind::Condition, &mut placeholders)?;
    placeholders.check_all_used()
}

fn check_condition(action: &Json, kind: Kind, placeholders: &mut Placeholders<'_>) -> Result<(), Refusal> {
    let Some(text) = expression(action, kind)? else { return Ok(()) };
    let condition = syntax::condition(text).map_err(|fault| fault.of(kind))?;
    conditions::check(&condition, placeholders).map_err(|fault| fault.of(kind))
}

/// The bytes that an action writes, as far as the request states them.
#[must_use]
pub(super) fn size(action: &Json) -> usize {
    let of = |name: &str| action[name].as_object().map_or(0, values::item_size);
    of("Item") + of("Key") + of("ExpressionAttributeValues")
}
