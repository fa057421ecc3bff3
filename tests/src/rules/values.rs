//! Attribute values: form, size and order.

use super::number::Number;
use super::{Refusal, Rule};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

/// An item as DynamoDB's JSON.
pub(super) type ItemJson = Map<String, Json>;

/// The most levels of nesting, including the attribute's own value.
const LEVELS_MAX: usize = 32;

/// Checks every value of an item.
///
/// # Errors
/// The first refusal.
pub(super) fn check_item(item: &ItemJson) -> Result<(), Refusal> {
    item.values().try_for_each(check)
}

/// Checks a value.
///
/// # Errors
/// The first refusal.
pub(super) fn check(value: &Json) -> Result<(), Refusal> {
    check_level(value, 1)
}

fn check_level(value: &Json, level: usize) -> Result<(), Refusal> {
    if level > LEVELS_MAX {
        return Err(Rule::ValueTooDeep.refusal(&[]));
    }
    let (kind, inner) = parts(value)?;
    match kind {
        "N" => Number::parse(text(inner)).map(drop),
        "NULL" if inner != &Json::Bool(true) => Err(Rule::NullFalse.refusal(&[])),
        "SS" => check_set("string", inner, |text| Ok(text.to_owned())),
        // A number can be written in several ways.
        "NS" => check_set("number", inner, |text| Number::parse(text).map(|number| format!("{number:?}"))),
        "BS" => check_set("binary", inner, |text| Ok(text.to_owned())),
        "L" => inner.as_array().into_iter().flatten().try_for_each(|value| check_level(value, level + 1)),
        "M" => inner.as_object().into_iter().flatten().try_for_each(|(_, value)| check_level(value, level + 1)),
        _ => Ok(()),
    }
}

fn check_set(kind: &str, set: &Json, member: impl Fn(&str) -> Result<String, Refusal>) -> Result<(), Refusal> {
    let texts: Vec<&str> = set.as_array().into_iter().flatten().map(text).collect();
    if texts.is_empty() {
        return Err(Rule::SetEmpty.refusal(&[kind]));
    }
    let members: BTreeSet<String> = texts.iter().map(|text| member(text)).collect::<Result<_, _>>()?;
    if members.len() < texts.len() { Err(Rule::SetTwice.refusal(&[&texts.join(", ")])) } else { Ok(()) }
}

/// The type of a value, and its content.
///
/// # Errors
/// A refusal if it has no type or several.
pub(super) fn parts(value: &Json) -> Result<(&str, &Json), Refusal> {
    let mut types = value.as_object().into_iter().flatten();
    match (types.next(), types.next()) {
        (Some((kind, inner)), None) => Ok((kind.as_str(), inner)),
        (Some(_), Some(_)) => Err(Rule::ValueTypeCount.refusal(&["has more than one datatypes set"])),
        (None, _) => Err(Rule::ValueTypeCount.refusal(&["is empty"])),
    }
}

/// The type of a value that has been checked.
#[must_use]
pub(super) fn kind(value: &Json) -> &str {
    parts(value).map_or("", |(kind, _)| kind)
}

/// The text of a string, number or binary.
#[must_use]
pub(super) fn text(inner: &Json) -> &str {
    inner.as_str().unwrap_or_default()
}

/// A value in a message's form, such as `S:a`.
#[must_use]
pub(super) fn shown(value: &Json) -> String {
    parts(value).map_or_else(|_| String::new(), |(kind, inner)| format!("{kind}:{}", text(inner)))
}

/// Whether a value is greater than another of the same type; false for types without an order.
#[must_use]
pub(super) fn is_greater(one: &Json, other: &Json) -> bool {
    let (Ok((kind, one)), Ok((_, other))) = (parts(one), parts(other)) else { return false };
    match kind {
        "S" => text(one) > text(other),
        "N" => matches!((Number::parse(text(one)), Number::parse(text(other))), (Ok(one), Ok(other)) if one > other),
        "B" => bytes(one) > bytes(other),
        _ => false,
    }
}

/// The bytes of an item: the names and values of its attributes.
#[must_use]
pub(super) fn item_size(item: &ItemJson) -> usize {
    item.iter().map(|(name, value)| name.len() + size(value)).sum()
}

/// The bytes of a value.
#[must_use]
pub(super) fn size(value: &Json) -> usize {
    let Ok((kind, inner)) = parts(value) else { return 0 };
    let members = || inner.as_array().into_iter().flatten();
    let number = |text: &str| Number::parse(text).map_or(0, |number| number.bytes());
    match kind {
        "S" => text(inner).len(),
        "N" => number(text(inner)),
        "B" => bytes(inner).len(),
        "SS" => members().map(|member| text(member).len()).sum(),
        "NS" => members().map(|member| number(text(member))).sum(),
        "BS" => members().map(|member| bytes(member).len()).sum(),
        // A list or map takes three bytes, and one more for each member.
        "L" => 3 + members().map(|member| 1 + size(member)).sum::<usize>(),
        "M" => {
            3 + inner.as_object().into_iter().flatten().map(|(name, value)| 1 + name.len() + size(value)).sum::<usize>()
        }
        _ => 1,
    }
}

/// The decoded bytes of a binary.
#[must_use]
pub(super) fn bytes(inner: &Json) -> Vec<u8> {
    STANDARD.decode(text(inner)).unwrap_or_default()
}
