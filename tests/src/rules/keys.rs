//! Checks keys of items in requests and in written items.

use super::schema::{self, KeyNames, TABLE};
use super::values::{self, ItemJson};
use super::{Refusal, Rule};
use serde_json::Value as Json;

/// The most bytes of an item.
pub(super) const ITEM_BYTES_MAX: usize = 400 * 1024;

/// Checks a key that names an item.
///
/// # Errors
/// The first refusal.
pub(super) fn check_key(key: &Json) -> Result<(), Refusal> {
    let mismatch = || Rule::KeyMismatch.refusal(&[]);
    let key = key.as_object().ok_or_else(mismatch)?;
    values::check_item(key)?;
    if key.len() != 2 {
        return Err(mismatch());
    }
    for name in TABLE.both() {
        let value = key.get(name).ok_or_else(mismatch)?;
        check_not_empty(name, value)?;
        if values::kind(value) != "S" {
            return Err(mismatch());
        }
        check_length(TABLE, name, value)?;
    }
    Ok(())
}

/// Checks an item of a put.
///
/// # Errors
/// The first refusal.
pub(super) fn check_item(item: &Json) -> Result<(), Refusal> {
    let empty = ItemJson::new();
    let item = item.as_object().unwrap_or(&empty);
    values::check_item(item)?;
    for name in TABLE.both() {
        let value = item.get(name).ok_or_else(|| Rule::KeyMissing.refusal(&[name]))?;
        check_not_empty(name, value)?;
        if values::kind(value) != "S" {
            return Err(Rule::KeyType.refusal(&[name, values::kind(value)]));
        }
        check_length(TABLE, name, value)?;
    }
    for (index, names) in schema::INDEXES {
        for name in names.both() {
            if let Some(value) = item.get(name) {
                check_index_key(index, names, name, value)?;
            }
        }
    }
    if values::item_size(item) > ITEM_BYTES_MAX { Err(Rule::ItemTooLarge.refusal(&[])) } else { Ok(()) }
}

fn check_index_key(index: &str, names: KeyNames, name: &str, value: &Json) -> Result<(), Refusal> {
    if values::kind(value) != "S" {
        return Err(Rule::IndexKeyType.refusal(&[name, values::kind(value), index]));
    }
    if is_empty(value) {
        return Err(Rule::IndexKeyEmpty.refusal(&[index, name]));
    }
    match too_long(names, name, value) {
        Some(refusal) => Err(Rule::IndexKeyTooLong.refusal(&[tail(&refusal)])),
        None => Ok(()),
    }
}

/// Checks an update's new value of an index's key attribute.
///
/// # Errors
/// The first refusal.
pub(super) fn check_index_key_update(names: KeyNames, name: &str, value: &Json) -> Result<(), Refusal> {
    if values::kind(value) != "S" {
        return Err(Rule::UpdateOfIndexKeyType.refusal(&[]));
    }
    if is_empty(value) {
        return Err(Rule::UpdateOfIndexKeyEmpty.refusal(&[]));
    }
    match too_long(names, name, value) {
        Some(refusal) => Err(Rule::IndexKeyTooLong.refusal(&[tail(&refusal)])),
        None => Ok(()),
    }
}

/// Whether a value is an empty string or binary.
#[must_use]
pub(super) fn is_empty(value: &Json) -> bool {
    values::parts(value).is_ok_and(|(kind, inner)| matches!(kind, "S" | "B") && values::text(inner).is_empty())
}

fn check_not_empty(name: &str, value: &Json) -> Result<(), Refusal> {
    if !is_empty(value) {
        return Ok(());
    }
    let kind = if values::kind(value) == "B" { "binary" } else { "string" };
    Err(Rule::KeyEmpty.refusal(&[kind, name]))
}

fn check_length(names: KeyNames, name: &str, value: &Json) -> Result<(), Refusal> {
    too_long(names, name, value).map_or(Ok(()), Err)
}

/// The refusal if a value is too long for a key.
#[must_use]
pub(super) fn too_long(names: KeyNames, name: &str, value: &Json) -> Option<Refusal> {
    let rule = if name == names.partition { Rule::PartitionKeyTooLong } else { Rule::SortKeyTooLong };
    (values::size(value) > names.bytes_max(name)).then(|| rule.refusal(&[]))
}

/// The part of a message after its first colon.
#[must_use]
pub(super) fn tail(refusal: &Refusal) -> &str {
    refusal.message.split_once(": ").map_or("", |(_, tail)| tail)
}
