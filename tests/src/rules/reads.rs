//! Checks reads of one item, queries and scans.

use super::actions::{check_members, expression};
use super::key_condition::{self, KeyCondition};
use super::placeholders::Placeholders;
use super::schema::{self, KeyNames, TABLE};
use super::syntax::{self, Element, Kind, Operand};
use super::values;
use super::{Refusal, Rule, conditions, keys, updates};
use serde_json::Value as Json;

const SELECTIONS: [&str; 4] = ["ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES"];

/// Checks a read of one item, alone or in a transaction.
///
/// # Errors
/// The first refusal.
pub(super) fn check_get(read: &Json) -> Result<(), Refusal> {
    check_members(read, &[Kind::Projection])?;
    keys::check_key(&read["Key"])?;
    check_projection_alone(read)
}

/// Checks a projection whose placeholders are used by no other expression.
///
/// # Errors
/// The first refusal.
pub(super) fn check_projection_alone(read: &Json) -> Result<(), Refusal> {
    let mut placeholders = Placeholders::read(read, &[Kind::Projection])?;
    check_projection(read, &mut placeholders)?;
    placeholders.check_all_used()
}

/// Checks a query.
///
/// # Errors
/// The first refusal.
pub(super) fn check_query(read: &Json) -> Result<(), Refusal> {
    let kinds = [Kind::Filter, Kind::KeyCondition, Kind::Projection];
    let names = check_shared(read, &kinds)?;
    let mut placeholders = Placeholders::read(read, &kinds)?;
    let text = expression(read, Kind::KeyCondition)?;
    if text.is_none() && read["KeyConditions"].is_null() {
        return Err(Rule::KeyConditionMissing.refusal(&[]));
    }
    let mut key_clauses = None;
    if let Some(text) = text {
        let condition = syntax::condition(text).map_err(|fault| fault.of(Kind::KeyCondition))?;
        conditions::check(&condition, &mut placeholders).map_err(|fault| fault.of(Kind::KeyCondition))?;
        key_clauses = Some(key_condition::check(&condition, names, &mut placeholders)?);
    }
    for name in check_filter(read, &mut placeholders)? {
        if names.both().contains(&name.as_str()) {
            return Err(Rule::FilterOnKey.refusal(&[&name]));
        }
    }
    check_projection(read, &mut placeholders)?;
    placeholders.check_all_used()?;
    check_start(read, names, key_clauses.as_ref())
}

/// Checks a scan, whose filter may name keys.
///
/// # Errors
/// The first refusal.
pub(super) fn check_scan(read: &Json) -> Result<(), Refusal> {
    let kinds = [Kind::Filter, Kind::Projection];
    let names = check_shared(read, &kinds)?;
    match (read["Segment"].as_i64(), read["TotalSegments"].as_i64()) {
        (Some(_), None) => return Err(Rule::SegmentWithoutTotal.refusal(&["TotalSegments", "Segment"])),
        (None, Some(_)) => return Err(Rule::SegmentWithoutTotal.refusal(&["Segment", "TotalSegments"])),
        (Some(segment), Some(total)) if segment >= total => {
            return Err(Rule::SegmentBeyondTotal.refusal(&[&segment.to_string(), &total.to_string()]));
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
    let mut placeholders = Placeholders::read(read, &kinds)?;
    check_filter(read, &mut placeholders)?;
    check_projection(read, &mut placeholders)?;
    placeholders.check_all_used()?;
    check_start(read, names, None)
}

/// Checks the members that queries and scans share; returns the keys of the table or index.
fn check_shared(read: &Json, kinds: &[Kind]) -> Result<KeyNames, Refusal> {
    check_members(read, kinds)?;
    if read["Limit"].as_i64().is_some_and(|limit| limit < 1) {
        return Err(Rule::LimitBelowOne.refusal(&[]));
    }
    let index = read["IndexName"].as_str();
    check_selection(read, index)?;
    let Some(index) = index else { return Ok(TABLE) };
    let Some((_, names)) = schema::INDEXES.into_iter().find(|(name, _)| *name == index) else {
        return Err(Rule::IndexUnknown.refusal(&[index]));
    };
    if read["ConsistentRead"].as_bool() == Some(true) {
        return Err(Rule::IndexConsistent.refusal(&[]));
    }
    Ok(names)
}

fn check_selection(read: &Json, index: Option<&str>) -> Result<(), Refusal> {
    let Some(selection) = read["Select"].as_str() else { return Ok(()) };
    let projects = !read["ProjectionExpression"].is_null();
    match selection {
        other if !SELECTIONS.contains(&other) => Err(Rule::SelectUnknown.refusal(&[other])),
        "SPECIFIC_ATTRIBUTES" if projects => Ok(()),
        "SPECIFIC_ATTRIBUTES" => Err(Rule::SelectWithoutProjection.refusal(&[])),
        "COUNT" if projects => Err(Rule::SelectWithProjection.refusal(&["only the Count"])),
        other if projects => Err(Rule::SelectWithProjection.refusal(&[other])),
        "ALL_PROJECTED_ATTRIBUTES" if index.is_none() => Err(Rule::SelectProjectedWithoutIndex.refusal(&[])),
        _ => Ok(()),
    }
}

/// Checks a filter; returns the attributes that it names.
fn check_filter(read: &Json, placeholders: &mut Placeholders<'_>) -> Result<Vec<String>, Refusal> {
    let Some(text) = expression(read, Kind::Filter)? else { return Ok(Vec::new()) };
    let condition = syntax::condition(text).map_err(|fault| fault.of(Kind::Filter))?;
    conditions::check(&condition, placeholders).map_err(|fault| fault.of(Kind::Filter))?;
    let mut names = Vec::new();
    let found = condition.visit(&mut |part| {
        for operand in part.operands() {
            let mut operand = operand;
            while let Operand::Size(inner) = operand {
                operand = inner;
            }
            if let Operand::Path(path) = operand
                && let Some(Element::Name(name)) = placeholders.resolve(path)?.first()
            {
                names.push(name.clone());
            }
        }
        Ok(())
    });
    found.map_err(|fault: syntax::Fault| fault.of(Kind::Filter))?;
    Ok(names)
}

fn check_projection(read: &Json, placeholders: &mut Placeholders<'_>) -> Result<(), Refusal> {
    let Some(text) = expression(read, Kind::Projection)? else { return Ok(()) };
    let fault = |fault: syntax::Fault| fault.of(Kind::Projection);
    let paths = syntax::projection(text).map_err(fault)?;
    let paths: Vec<Vec<Element>> =
        paths.iter().map(|path| placeholders.resolve(path)).collect::<Result<_, _>>().map_err(fault)?;
    match updates::clash(&paths) {
        Some((Rule::PathsOverlap, one, two)) => Err(Rule::ProjectionOverlap.refusal(&[&one, &two])),
        Some(_) | None => Ok(()),
    }
}

/// Checks that a page starts after a key of the table or index, within the query's condition.
fn check_start(read: &Json, names: KeyNames, condition: Option<&KeyCondition<'_>>) -> Result<(), Refusal> {
    let start = &read["ExclusiveStartKey"];
    if start.is_null() {
        return Ok(());
    }
    let invalid = || Rule::StartKeyInvalid.refusal(&[]);
    let start = start.as_object().ok_or_else(invalid)?;
    values::check_item(start)?;
    let mut wanted: Vec<&str> = TABLE.both().into_iter().chain(names.both()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let is_key = |value: &Json| values::kind(value) == "S" && !keys::is_empty(value);
    if start.len() != wanted.len() || !wanted.iter().all(|name| start.get(*name).is_some_and(is_key)) {
        return Err(invalid());
    }
    let Some(condition) = condition else { return Ok(()) };
    if start.get(names.partition) != Some(condition.partition) {
        return Err(Rule::StartKeyOutside.refusal(&[]));
    }
    match (&condition.sort, start.get(names.sort)) {
        (Some(clause), Some(sort)) if !clause.holds(sort) => Err(Rule::StartKeyUnmatched.refusal(&[])),
        _ => Ok(()),
    }
}
