//! Shortens an action for a vector's file: leaves out what every action has or what follows from the rest.

use crate::wire;
use serde_json::{Map, Value as Json, json};

/// The action without its table's name, the names of its expressions, and the request for the old item.
///
/// # Panics
/// If the action lacks one of them, because the file could not express that.
#[must_use]
pub(super) fn shorten(action: &Json) -> Json {
    let mut short = action.clone();
    for body in short.as_object_mut().into_iter().flat_map(|verbs| verbs.values_mut()).filter_map(Json::as_object_mut) {
        for (name, value) in defaults(body) {
            if body.get(name) == Some(&value) {
                body.remove(name);
            }
        }
    }
    assert_eq!(expand(&short).as_ref(), Ok(action), "an action that a vector's file cannot express");
    short
}

/// The complete action, as it is sent.
///
/// # Errors
/// If the action is not one operation with its parameters.
pub(super) fn expand(action: &Json) -> Result<Json, String> {
    let mut full = action.clone();
    let body = match full.as_object_mut().filter(|verbs| verbs.len() == 1) {
        Some(verbs) => verbs.values_mut().next().and_then(Json::as_object_mut),
        None => None,
    };
    let body = body.ok_or_else(|| format!("not an action: {action}"))?;
    for (name, value) in defaults(body) {
        body.entry(name).or_insert(value);
    }
    Ok(full)
}

/// Parameters that an action has unless its file states others.
fn defaults(body: &Map<String, Json>) -> Vec<(&'static str, Json)> {
    let mut defaults =
        vec![("TableName", json!(wire::TABLE)), ("ReturnValuesOnConditionCheckFailure", json!("ALL_OLD"))];
    let names = placeholders(body);
    if !names.is_empty() {
        defaults.push(("ExpressionAttributeNames", Json::Object(names)));
    }
    defaults
}

/// Each placeholder `#name` of the expressions, for the attribute `name`.
fn placeholders(body: &Map<String, Json>) -> Map<String, Json> {
    let expressions =
        ["ConditionExpression", "UpdateExpression"].into_iter().filter_map(|name| body.get(name)?.as_str());
    let names = expressions.flat_map(|expression| expression.split('#').skip(1)).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    });
    names.map(|name| (format!("#{name}"), json!(name))).collect()
}
