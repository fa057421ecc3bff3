//! A row of verdicts in a vector's file: `if` reasons, `then` the outcome. A reason's item is a difference from an item
//! in the file.

use super::vector::{ReasonJson, Row};
use super::{patch, world};
use crate::layout;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

const CHECK_FAILED: &str = "ConditionalCheckFailed";
const ABSENT: &str = "absent";

/// The bases of a difference, in the order of preference: the item in the given state, the item that the action puts,
/// and an item with only the action's key.
const BASES: [&str; 3] = ["given", "written", "key"];

/// A row as stored in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowJson {
    /// Reasons by the position of their action.
    #[serde(default)]
    r#if: BTreeMap<String, Json>,
    /// The outcome.
    then: String,
}

/// Shortens a row for a file.
#[must_use]
pub(super) fn shorten(row: &Row, request: &[Json], state: &[Json]) -> Json {
    let reasons: Map<String, Json> = row
        .reasons
        .iter()
        .map(|(position, reason)| {
            let action = &request[position.parse::<usize>().expect("a position")];
            (position.clone(), shorten_reason(reason, action, state))
        })
        .collect();
    if reasons.is_empty() { json!({ "then": row.outcome }) } else { json!({ "if": reasons, "then": row.outcome }) }
}

/// Expands a row from a file.
///
/// # Errors
/// Describes what is invalid.
pub(super) fn expand(row: RowJson, request: &[Json], state: &[Json]) -> Result<Row, String> {
    let reasons = row.r#if.into_iter().map(|(position, reason)| {
        let action = position.parse::<usize>().ok().and_then(|position| request.get(position));
        let action = action.ok_or_else(|| format!("no action has the position {position}"))?;
        Ok((position, expand_reason(reason, action, state)?))
    });
    Ok(Row { outcome: row.then, reasons: reasons.collect::<Result<_, String>>()? })
}

fn shorten_reason(reason: &ReasonJson, action: &Json, state: &[Json]) -> Json {
    match (reason.code.as_str(), &reason.item) {
        (CHECK_FAILED, None) => json!(ABSENT),
        (CHECK_FAILED, Some(item)) => {
            let differences = BASES.into_iter().filter_map(|word| {
                let base = base(word, action, state)?;
                Some(if base == *item { json!(word) } else { json!({ word: patch::difference(&base, item) }) })
            });
            differences.min_by_key(|difference| layout::flat(difference).len()).expect("the base `key` exists")
        }
        (code, None) => json!(code),
        (code, Some(_)) => panic!("an item with {code}, which a vector's file cannot express"),
    }
}

fn expand_reason(reason: Json, action: &Json, state: &[Json]) -> Result<ReasonJson, String> {
    let failed = |item: Option<Json>| ReasonJson { code: CHECK_FAILED.to_owned(), item };
    let base = |word: &str| base(word, action, state).ok_or_else(|| format!("no item is `{word}`"));
    match reason {
        Json::String(word) if word == ABSENT => Ok(failed(None)),
        Json::String(word) if BASES.contains(&word.as_str()) => Ok(failed(Some(base(&word)?))),
        Json::String(code) => Ok(ReasonJson { code, item: None }),
        Json::Object(only) if only.len() == 1 => {
            let (word, change) = only.into_iter().next().expect("one member");
            Ok(failed(Some(patch::apply(&base(&word)?, &change))))
        }
        other => Err(format!("not a reason: {other}")),
    }
}

fn base(word: &str, action: &Json, state: &[Json]) -> Option<Json> {
    let body = action.as_object()?.values().next()?;
    let item = body.get("Key").or_else(|| body.get("Item"))?;
    match word {
        "given" => state.iter().find(|other| world::has_same_key(item, other)).cloned(),
        "written" => body.get("Item").cloned(),
        "key" => Some(json!({ "uuid": item["uuid"], "type": item["type"] })),
        _ => None,
    }
}
