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

/// What stands at a path.
#[must_use]
pub fn at<'a>(item: &'a Item, path: &str) -> Option<&'a Value> {
    match path.split_once(STEP) {
        None => item.get(path),
        Some((map, rest)) => at(read::opt_map(item, map)?, rest),
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
#[error("a stored item has no readable attribute `{attribute}`")]
pub struct ItemError {
    /// Which attribute.
    pub attribute: String,
}

impl Value {
    /// A string.
    pub fn s(text: impl ToString) -> Self {
        Self::S(text.to_string())
    }

    /// A whole number.
    #[must_use]
    pub fn int(number: i64) -> Self {
        Self::N(number.to_string())
    }
}

/// Typed reads: each says which attribute is missing or of another type.
pub mod read {
    use super::{Item, ItemError, Value};

    fn missing(attribute: &str) -> ItemError {
        ItemError { attribute: attribute.to_owned() }
    }

    /// A string, if the attribute is there.
    #[must_use]
    pub fn opt_text<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
        match item.get(attribute) {
            Some(Value::S(text)) => Some(text),
            Some(Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => None,
        }
    }

    /// A string.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or no string.
    pub fn text<'a>(item: &'a Item, attribute: &str) -> Result<&'a str, ItemError> {
        opt_text(item, attribute).ok_or_else(|| missing(attribute))
    }

    /// A number's text, if the attribute is there.
    #[must_use]
    pub fn opt_number<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
        match item.get(attribute) {
            Some(Value::N(text)) => Some(text),
            Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => None,
        }
    }

    /// A number's text.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or no number.
    pub fn number<'a>(item: &'a Item, attribute: &str) -> Result<&'a str, ItemError> {
        opt_number(item, attribute).ok_or_else(|| missing(attribute))
    }

    /// A whole number, if the attribute is there.
    #[must_use]
    pub fn opt_int(item: &Item, attribute: &str) -> Option<i64> {
        opt_number(item, attribute)?.parse().ok()
    }

    /// A whole number.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or no whole number.
    pub fn int(item: &Item, attribute: &str) -> Result<i64, ItemError> {
        opt_int(item, attribute).ok_or_else(|| missing(attribute))
    }

    /// A map, if the attribute is there.
    #[must_use]
    pub fn opt_map<'a>(item: &'a Item, attribute: &str) -> Option<&'a Item> {
        match item.get(attribute) {
            Some(Value::M(map)) => Some(map),
            Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_)) | None => None,
        }
    }

    /// A list, empty if the attribute is not there.
    #[must_use]
    pub fn list<'a>(item: &'a Item, attribute: &str) -> &'a [Value] {
        match item.get(attribute) {
            Some(Value::L(list)) => list,
            Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::M(_)) | None => &[],
        }
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
        parse(text(item, attribute)?).map_err(|_| missing(attribute))
    }
}
