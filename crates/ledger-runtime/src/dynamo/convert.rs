//! Conversion between the SDK's values and the ledger's. A type that the ledger never writes is an error, not a guess.

use super::reads::Readable;
use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason};
use aws_smithy_types::Blob;
use ledger_core::dynamo::{Item, ItemError, Value};
use ledger_core::form::check_form;
use ledger_core::keys::{self, Key, attr};
use ledger_core::migration::{LegacyItem, UnsupportedType};
use ledger_core::transaction::{Reason, ReasonCode};
use std::collections::HashMap;

/// An item in the SDK's types.
pub(super) type Stored = HashMap<String, AttributeValue>;

pub(super) fn to_sdk(value: Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text),
        Value::N(number) => AttributeValue::N(number),
        Value::Bool(flag) => AttributeValue::Bool(flag),
        Value::B(bytes) => AttributeValue::B(Blob::new(bytes)),
        Value::L(list) => AttributeValue::L(list.into_iter().map(to_sdk).collect()),
        Value::M(map) => AttributeValue::M(item_to_sdk(map)),
    }
}

pub(super) fn item_to_sdk(item: Item) -> Stored {
    item.into_iter().map(|(name, value)| (name, to_sdk(value))).collect()
}

pub(super) fn key_to_sdk(key: &Key) -> Stored {
    Stored::from([
        (attr::PK.to_owned(), AttributeValue::S(key.pk().to_owned())),
        (attr::SK.to_owned(), AttributeValue::S(key.sk().to_owned())),
    ])
}

/// Returns the key of an item; `None` if the partition belongs to no tenant.
pub(super) fn key_from_sdk(item: &Stored) -> Option<Key> {
    let text = |name: &str| item.get(name)?.as_s().ok();
    let pk = text(attr::PK)?;
    Key::stored(&keys::tenant_of(pk)?, pk, text(attr::SK)?)
}

/// Converts an item that is read whole. One of a later form is refused, since it may mean something else.
pub(super) fn item_from_sdk(item: Stored) -> Result<Item, ItemError> {
    let item = item.into_iter().map(|(name, value)| match from_sdk(value) {
        Some(value) => Ok((name, value)),
        None => Err(ItemError::unknown_type(name)),
    });
    let item = item.collect::<Result<Item, ItemError>>()?;
    check_form(&item)?;
    Ok(item)
}

pub(super) fn readable(item: Stored) -> Readable {
    let mut readable = Readable { item: Item::new(), unsupported: Vec::new() };
    for (name, value) in item {
        match from_sdk(value) {
            Some(value) => {
                readable.item.insert(name, value);
            }
            None => readable.unsupported.push(name),
        }
    }
    readable
}

/// Converts a legacy item into its readable attributes and the names of the others, with whether those are null.
pub(super) fn legacy_item(item: Stored) -> LegacyItem {
    let mut legacy = LegacyItem::default();
    for (name, value) in item {
        let unsupported = if value.is_null() { UnsupportedType::Null } else { UnsupportedType::Other };
        match from_sdk(value) {
            Some(value) => drop(legacy.item.insert(name, value)),
            None => legacy.unsupported.push((name, unsupported)),
        }
    }
    legacy
}

/// Converts a legacy item for storage in a ledger record: sets become lists, and nulls are dropped.
pub(super) fn kept(item: Stored) -> Item {
    item.into_iter().filter_map(|(name, value)| Some((name, kept_value(value)?))).collect()
}

fn kept_value(value: AttributeValue) -> Option<Value> {
    let list = |values: Vec<AttributeValue>| Value::L(values.into_iter().filter_map(kept_value).collect());
    Some(match value {
        AttributeValue::Ss(texts) => Value::L(texts.into_iter().map(Value::S).collect()),
        AttributeValue::Ns(numbers) => Value::L(numbers.into_iter().map(Value::N).collect()),
        AttributeValue::Bs(blobs) => Value::L(blobs.into_iter().map(|blob| Value::B(blob.into_inner())).collect()),
        AttributeValue::L(values) => list(values),
        AttributeValue::M(map) => Value::M(kept(map)),
        AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::Bool(_) | AttributeValue::B(_) => {
            from_sdk(value)?
        }
        AttributeValue::Null(_) | AttributeValue::Unknown { .. } | _ => return None,
    })
}

pub(super) fn reason(reason: CancellationReason) -> Reason {
    // An attribute of an unknown type is kept as present, for guards on its presence.
    let readable = |item: Stored| {
        let read = |value| from_sdk(value).unwrap_or_else(Value::of_unknown_type);
        item.into_iter().map(|(name, value)| (name, read(value))).collect()
    };
    let code = reason.code.as_deref().map_or_else(|| ReasonCode::Unknown("absent".to_owned()), ReasonCode::parse);
    Reason { code, item: reason.item.filter(|item| !item.is_empty()).map(readable) }
}

fn from_sdk(value: AttributeValue) -> Option<Value> {
    Some(match value {
        AttributeValue::S(text) => Value::S(text),
        AttributeValue::N(number) => Value::N(number),
        AttributeValue::Bool(flag) => Value::Bool(flag),
        AttributeValue::B(bytes) => Value::B(bytes.into_inner()),
        AttributeValue::L(list) => Value::L(list.into_iter().map(from_sdk).collect::<Option<_>>()?),
        AttributeValue::M(map) => Value::M(item_from_sdk(map).ok()?),
        AttributeValue::Bs(_) | AttributeValue::Ns(_) | AttributeValue::Ss(_) | AttributeValue::Null(_) => return None,
        // Types that a later SDK may add.
        AttributeValue::Unknown { .. } | _ => return None,
    })
}
