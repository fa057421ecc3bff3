//! Attribute values and items, and the errors of items that cannot be read.

use crate::words::words;
use std::collections::BTreeMap;

/// A DynamoDB attribute value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
    S(String),
    /// A number, as its decimal text.
    N(String),
    /// A boolean.
    Bool(bool),
    /// Bytes.
    B(Vec<u8>),
    /// A list.
    L(Vec<Value>),
    /// A map.
    M(BTreeMap<String, Value>),
}

/// An item's attributes by name.
pub type Item = BTreeMap<String, Value>;

/// The separator between the steps of a path into a map: `regional.aoba`. No attribute name of the ledger contains it.
pub const STEP: char = '.';

/// The value at a path; `None` if a step before the last is not a map.
#[must_use]
pub fn at<'a>(item: &'a Item, path: &str) -> Option<&'a Value> {
    let Some((map, rest)) = path.split_once(STEP) else { return item.get(path) };
    match item.get(map) {
        Some(Value::M(map)) => at(map, rest),
        Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_)) | None => None,
    }
}

/// Puts a value at a path. Missing maps on the way are created.
pub(crate) fn put_at(item: &mut Item, path: &str, value: Value) {
    let Some((map, rest)) = path.split_once(STEP) else {
        item.insert(path.to_owned(), value);
        return;
    };
    let mut inner = match item.remove(map) {
        Some(Value::M(inner)) => inner,
        Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_)) | None => Item::new(),
    };
    put_at(&mut inner, rest, value);
    item.insert(map.to_owned(), Value::M(inner));
}

/// An item that does not have the expected format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored item's `{attribute}` {fault}")]
pub struct ItemError {
    /// The name of the attribute.
    pub attribute: String,
    /// What is wrong with it.
    pub fault: ItemFault,
}

/// What is wrong with an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemFault {
    /// The attribute is absent.
    #[error("is missing")]
    Missing,
    /// It has another type than the one expected.
    #[error("is not {0}")]
    WrongType(AttributeKind),
    /// It has a type that the ledger never stores: a set, or null.
    #[error("has a type that the ledger does not store")]
    UnknownType,
    /// It has the expected type and a value that has no meaning there.
    #[error("has a value that is not valid there")]
    Invalid,
    /// It names a form that a later release writes.
    #[error("names a form of a later release")]
    LaterForm,
}

words! {
    /// The type that an attribute is expected to have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AttributeKind {
        /// A string.
        Text = "a string",
        /// A number.
        Number = "a number",
        /// A number without decimals, within 64 bits.
        WholeNumber = "a whole number",
        /// A boolean.
        Flag = "a boolean",
        /// Bytes.
        Bytes = "bytes",
        /// A list.
        List = "a list",
        /// A map.
        Map = "a map",
    }
}

impl std::fmt::Display for AttributeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl ItemError {
    /// The attribute is missing.
    #[must_use]
    pub fn missing(attribute: impl Into<String>) -> Self {
        Self { attribute: attribute.into(), fault: ItemFault::Missing }
    }

    /// The attribute is not of the expected type.
    #[must_use]
    pub fn wrong_type(attribute: impl Into<String>, expected: AttributeKind) -> Self {
        Self { attribute: attribute.into(), fault: ItemFault::WrongType(expected) }
    }

    /// The attribute has a type that the ledger never stores.
    #[must_use]
    pub fn unknown_type(attribute: impl Into<String>) -> Self {
        Self { attribute: attribute.into(), fault: ItemFault::UnknownType }
    }

    /// The attribute has a value that is not valid there.
    #[must_use]
    pub fn invalid(attribute: impl Into<String>) -> Self {
        Self { attribute: attribute.into(), fault: ItemFault::Invalid }
    }

    /// The attribute names a form that a later release writes.
    #[must_use]
    pub fn later_form(attribute: impl Into<String>) -> Self {
        Self { attribute: attribute.into(), fault: ItemFault::LaterForm }
    }

    /// Whether a later release wrote the item.
    #[must_use]
    pub fn is_later_form(&self) -> bool {
        self.fault == ItemFault::LaterForm
    }
}

impl Value {
    /// A string.
    pub fn s(text: impl ToString) -> Self {
        Self::S(text.to_string())
    }

    /// A placeholder for a value of a type that the ledger does not store: a set, or null.
    ///
    /// It exists, and every typed read rejects it, because no attribute of the ledger holds empty bytes.
    #[must_use]
    pub fn of_unknown_type() -> Self {
        Self::B(Vec::new())
    }

    /// A whole number.
    #[must_use]
    pub fn int(number: i64) -> Self {
        Self::N(number.to_string())
    }
}
