//! Attribute values, items, and reading typed attributes out of an item.

use std::collections::BTreeMap;

/// An attribute value.
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

/// Divides the steps of a path into a map: `regional.aoba`. No attribute of ours has it in its name.
pub const STEP: char = '.';

/// The value at a path. Nothing is below what is not a map.
#[must_use]
pub fn at<'a>(item: &'a Item, path: &str) -> Option<&'a Value> {
    let Some((map, rest)) = path.split_once(STEP) else { return item.get(path) };
    match item.get(map) {
        Some(Value::M(map)) => at(map, rest),
        Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_)) | None => None,
    }
}

/// Puts a value at a path; maps on the way are made.
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

/// An item that does not look as we write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored item's `{attribute}` {fault}")]
pub struct ItemError {
    /// Which attribute.
    pub attribute: String,
    /// What is wrong with it.
    pub fault: ItemFault,
}

/// What is wrong with an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemFault {
    /// The item does not have it.
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
}

/// The type that an attribute is expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeKind {
    /// A string.
    Text,
    /// A number.
    Number,
    /// A number without decimals, within 64 bits.
    WholeNumber,
    /// A boolean.
    Flag,
    /// A list.
    List,
    /// A map.
    Map,
}

impl AttributeKind {
    /// Its name, with the article.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a number",
            Self::WholeNumber => "a whole number",
            Self::Flag => "a boolean",
            Self::List => "a list",
            Self::Map => "a map",
        }
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
}

impl Value {
    /// A string.
    pub fn s(text: impl ToString) -> Self {
        Self::S(text.to_string())
    }

    /// Stands for a value of a type that the ledger does not store: a set, or null. It is there, and every typed read
    /// refuses it, for no attribute of ours is bytes.
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

/// Typed reads with three results: the attribute is absent (`Ok(None)`), of another type (an error that names it and
/// the type expected), or present. A wrong type is never read as absent.
pub mod read {
    use super::{AttributeKind, Item, ItemError, Value};

    /// The attribute through `read`, which gives `None` for a value of another type.
    fn typed<'a, T>(
        item: &'a Item,
        attribute: &str,
        expected: AttributeKind,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ItemError> {
        match item.get(attribute) {
            None => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| ItemError::wrong_type(attribute, expected)),
        }
    }

    fn required<T>(attribute: &str, found: Option<T>) -> Result<T, ItemError> {
        found.ok_or_else(|| ItemError::missing(attribute))
    }

    fn as_text(value: &Value) -> Option<&str> {
        match value {
            Value::S(text) => Some(text),
            Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        }
    }

    fn as_number(value: &Value) -> Option<&str> {
        match value {
            Value::N(text) => Some(text),
            Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        }
    }

    fn as_map(value: &Value) -> Option<&Item> {
        match value {
            Value::M(map) => Some(map),
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) => None,
        }
    }

    fn as_list(value: &Value) -> Option<&[Value]> {
        match value {
            Value::L(list) => Some(list),
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::M(_) => None,
        }
    }

    fn as_flag(value: &Value) -> Option<bool> {
        match value {
            Value::Bool(flag) => Some(*flag),
            Value::S(_) | Value::N(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        }
    }

    /// A string, if the attribute is there.
    ///
    /// # Errors
    /// [`ItemError`] if it is no string.
    pub fn opt_text<'a>(item: &'a Item, attribute: &str) -> Result<Option<&'a str>, ItemError> {
        typed(item, attribute, AttributeKind::Text, as_text)
    }

    /// A string.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or no string.
    pub fn text<'a>(item: &'a Item, attribute: &str) -> Result<&'a str, ItemError> {
        required(attribute, opt_text(item, attribute)?)
    }

    /// A key of the table or of an index, if the item has it. DynamoDB lets keys be strings only: there is no other type
    /// to tell from absence.
    #[must_use]
    pub fn key_text<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
        item.get(attribute).and_then(as_text)
    }

    /// A string of its own, if the attribute is there.
    ///
    /// # Errors
    /// [`ItemError`] if it is no string.
    pub fn opt_string(item: &Item, attribute: &str) -> Result<Option<String>, ItemError> {
        Ok(opt_text(item, attribute)?.map(str::to_owned))
    }

    /// A number's text, if the attribute is there.
    ///
    /// # Errors
    /// [`ItemError`] if it is no number.
    pub fn opt_number<'a>(item: &'a Item, attribute: &str) -> Result<Option<&'a str>, ItemError> {
        typed(item, attribute, AttributeKind::Number, as_number)
    }

    /// A number's text.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or no number.
    pub fn number<'a>(item: &'a Item, attribute: &str) -> Result<&'a str, ItemError> {
        required(attribute, opt_number(item, attribute)?)
    }

    /// A whole number, if the attribute is there.
    ///
    /// # Errors
    /// [`ItemError`] if it is no whole number.
    pub fn opt_int(item: &Item, attribute: &str) -> Result<Option<i64>, ItemError> {
        typed(item, attribute, AttributeKind::WholeNumber, |value| as_number(value)?.parse().ok())
    }

    /// A whole number.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or no whole number.
    pub fn int(item: &Item, attribute: &str) -> Result<i64, ItemError> {
        required(attribute, opt_int(item, attribute)?)
    }

    /// A boolean, if the attribute is there.
    ///
    /// # Errors
    /// [`ItemError`] if it is no boolean.
    pub fn opt_flag(item: &Item, attribute: &str) -> Result<Option<bool>, ItemError> {
        typed(item, attribute, AttributeKind::Flag, as_flag)
    }

    /// A map, if the attribute is there.
    ///
    /// # Errors
    /// [`ItemError`] if it is no map.
    pub fn opt_map<'a>(item: &'a Item, attribute: &str) -> Result<Option<&'a Item>, ItemError> {
        typed(item, attribute, AttributeKind::Map, as_map)
    }

    /// A map.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or no map.
    pub fn map<'a>(item: &'a Item, attribute: &str) -> Result<&'a Item, ItemError> {
        required(attribute, opt_map(item, attribute)?)
    }

    /// A list, empty if the attribute is not there.
    ///
    /// # Errors
    /// [`ItemError`] if it is no list.
    pub fn list<'a>(item: &'a Item, attribute: &str) -> Result<&'a [Value], ItemError> {
        Ok(typed(item, attribute, AttributeKind::List, as_list)?.unwrap_or_default())
    }

    /// Whatever `parse` makes of a string.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or `parse` refuses it.
    pub fn parsed<T, E>(
        item: &Item,
        attribute: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, ItemError> {
        required(attribute, opt_parsed(item, attribute, parse)?)
    }

    /// Whatever `parse` makes of a string, if the attribute is there.
    ///
    /// # Errors
    /// [`ItemError`] if `parse` refuses it.
    pub fn opt_parsed<T, E>(
        item: &Item,
        attribute: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ItemError> {
        let Some(text) = opt_text(item, attribute)? else { return Ok(None) };
        parse(text).map(Some).map_err(|_| ItemError::invalid(attribute))
    }
}
