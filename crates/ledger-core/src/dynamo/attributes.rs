//! Reads an item's attributes by name and type: the one way from a stored item to a record.

use super::value::{AttributeKind, Item, ItemError, Value};
use crate::money::{Amount, Asset, Balance, Delta, Rate, Share, ShareKind};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// Typed reads of an item's attributes. Each distinguishes an absent attribute from a wrong one:
///
/// | the attribute | a read gives | its optional form `opt_` gives |
/// |---|---|---|
/// | is absent | [`ItemError::missing`] | `None` |
/// | has another type | [`ItemError::wrong_type`] | [`ItemError::wrong_type`] |
/// | has the type and a value that is not valid there | [`ItemError::invalid`] | [`ItemError::invalid`] |
/// | is valid | the value | the value |
///
/// A wrong attribute is never read as absent. A nested map is an item and is read by the same methods.
pub trait Attributes {
    /// The attributes.
    fn item(&self) -> &Item;

    /// A string.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn text(&self, name: &str) -> Result<&str, ItemError> {
        required(name, self.opt_text(name)?)
    }

    /// A string; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_text(&self, name: &str) -> Result<Option<&str>, ItemError> {
        typed(self.item().get(name), name, AttributeKind::Text, as_text)
    }

    /// An owned string.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn string(&self, name: &str) -> Result<String, ItemError> {
        self.text(name).map(str::to_owned)
    }

    /// An owned string; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_string(&self, name: &str) -> Result<Option<String>, ItemError> {
        Ok(self.opt_text(name)?.map(str::to_owned))
    }

    /// A key attribute of the table or of an index; `None` if it is absent.
    ///
    /// DynamoDB keys are strings here, so no other type has to be distinguished from absence.
    fn key_text(&self, name: &str) -> Option<&str> {
        self.item().get(name).and_then(as_text)
    }

    /// A string that `parse` reads; a string that it rejects is not valid.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn parsed<T, E>(&self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, ItemError> {
        required(name, self.opt_parsed(name, parse)?)
    }

    /// A string that `parse` reads; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_parsed<T, E>(&self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<Option<T>, ItemError> {
        valid(name, self.opt_text(name)?, |text| parse(text).ok())
    }

    /// A string that is the name of one of several values; any other name is not valid.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn named<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, ItemError> {
        required(name, self.opt_named(name, parse)?)
    }

    /// A string that is the name of one of several values; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_named<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, ItemError> {
        valid(name, self.opt_text(name)?, parse)
    }

    /// An instant, stored as text.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn timestamp(&self, name: &str) -> Result<Timestamp, ItemError> {
        self.parsed(name, Timestamp::parse)
    }

    /// An instant; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_timestamp(&self, name: &str) -> Result<Option<Timestamp>, ItemError> {
        self.opt_parsed(name, Timestamp::parse)
    }

    /// A number's decimal text.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn number(&self, name: &str) -> Result<&str, ItemError> {
        required(name, self.opt_number(name)?)
    }

    /// A number's decimal text; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_number(&self, name: &str) -> Result<Option<&str>, ItemError> {
        typed(self.item().get(name), name, AttributeKind::Number, as_number)
    }

    /// A number whose decimal text `parse` reads; one that it rejects is not valid.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn parsed_number<T, E>(&self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, ItemError> {
        required(name, self.opt_parsed_number(name, parse)?)
    }

    /// A number whose decimal text `parse` reads; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_parsed_number<T, E>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ItemError> {
        valid(name, self.opt_number(name)?, |number| parse(number).ok())
    }

    /// A whole number. It has another type if it has decimals or needs more than 64 bits, and is not valid if `T`
    /// cannot hold it.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn int<T: TryFrom<i64>>(&self, name: &str) -> Result<T, ItemError> {
        required(name, self.opt_int(name)?)
    }

    /// A whole number; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_int<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>, ItemError> {
        self.opt_checked_int(name, Some)
    }

    /// A whole number that `check` accepts; one that it rejects is not valid.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn checked_int<N: TryFrom<i64>, T>(&self, name: &str, check: impl FnOnce(N) -> Option<T>) -> Result<T, ItemError> {
        required(name, self.opt_checked_int(name, check)?)
    }

    /// A whole number that `check` accepts; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_checked_int<N: TryFrom<i64>, T>(
        &self,
        name: &str,
        check: impl FnOnce(N) -> Option<T>,
    ) -> Result<Option<T>, ItemError> {
        let whole = |value| as_number(value)?.parse::<i64>().ok();
        let number = typed(self.item().get(name), name, AttributeKind::WholeNumber, whole)?;
        valid(name, number, |number| check(N::try_from(number).ok()?))
    }

    /// A quantity of an asset, greater than zero.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn amount(&self, name: &str, asset: Asset) -> Result<Amount, ItemError> {
        required(name, self.opt_amount(name, asset)?)
    }

    /// A quantity of an asset, greater than zero; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_amount(&self, name: &str, asset: Asset) -> Result<Option<Amount>, ItemError> {
        let balance = self.opt_balance(name, asset)?;
        valid(name, balance, |balance| balance.as_amount())
    }

    /// A quantity of an asset, of any sign.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn balance(&self, name: &str, asset: Asset) -> Result<Balance, ItemError> {
        required(name, self.opt_balance(name, asset)?)
    }

    /// A quantity of an asset, of any sign; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_balance(&self, name: &str, asset: Asset) -> Result<Option<Balance>, ItemError> {
        self.opt_parsed_number(name, |number| Balance::from_stored(asset, number))
    }

    /// A quantity of an asset, of any sign; zero if the attribute is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn balance_or_zero(&self, name: &str, asset: Asset) -> Result<Balance, ItemError> {
        let stored = self.opt_number(name)?;
        Balance::from_stored(asset, stored.unwrap_or("0")).map_err(|_| ItemError::invalid(name))
    }

    /// A change of an asset, never zero.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn delta(&self, name: &str, asset: Asset) -> Result<Delta, ItemError> {
        required(name, self.opt_delta(name, asset)?)
    }

    /// A change of an asset, never zero; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_delta(&self, name: &str, asset: Asset) -> Result<Option<Delta>, ItemError> {
        self.opt_parsed_number(name, |number| Delta::from_stored(asset, number))
    }

    /// A rate.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn rate(&self, name: &str) -> Result<Rate, ItemError> {
        self.parsed_number(name, Rate::from_stored)
    }

    /// A share of money.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn share<K: ShareKind>(&self, name: &str) -> Result<Share<K>, ItemError> {
        self.parsed_number(name, Share::from_stored)
    }

    /// Bytes that `parse` reads; bytes that it rejects are not valid.
    ///
    /// # Errors
    /// [`ItemError`] if they are absent or wrong.
    fn parsed_bytes<T>(&self, name: &str, parse: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, ItemError> {
        required(name, self.opt_parsed_bytes(name, parse)?)
    }

    /// Bytes that `parse` reads; `None` if they are absent.
    ///
    /// # Errors
    /// [`ItemError`] if they are wrong.
    fn opt_parsed_bytes<T>(&self, name: &str, parse: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>, ItemError> {
        let bytes = typed(self.item().get(name), name, AttributeKind::Bytes, as_bytes)?;
        valid(name, bytes, parse)
    }

    /// A boolean; false if the attribute is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn flag(&self, name: &str) -> Result<bool, ItemError> {
        Ok(typed(self.item().get(name), name, AttributeKind::Flag, as_flag)?.unwrap_or_default())
    }

    /// A map.
    ///
    /// # Errors
    /// [`ItemError`] if it is absent or wrong.
    fn map(&self, name: &str) -> Result<&Item, ItemError> {
        required(name, self.opt_map(name)?)
    }

    /// A map; `None` if it is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn opt_map(&self, name: &str) -> Result<Option<&Item>, ItemError> {
        typed(self.item().get(name), name, AttributeKind::Map, as_map)
    }

    /// A map of numbers. `read` gets the name and the decimal text of each.
    ///
    /// Empty if the attribute is absent. An entry of another type makes the whole attribute not valid.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong, and errors of `read`.
    fn numbers<T, C: FromIterator<T>>(
        &self,
        name: &str,
        read: impl Fn(&str, &str) -> Result<T, ItemError>,
    ) -> Result<C, ItemError> {
        let entries = self.opt_map(name)?.into_iter().flatten();
        entries.map(|(entry, value)| read(entry, as_number(value).ok_or_else(|| ItemError::invalid(name))?)).collect()
    }

    /// A list, empty if the attribute is absent.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn list(&self, name: &str) -> Result<&[Value], ItemError> {
        Ok(typed(self.item().get(name), name, AttributeKind::List, as_list)?.unwrap_or_default())
    }

    /// A list of strings that `parse` reads; empty if the attribute is absent.
    ///
    /// An element of another type, or one that `parse` rejects, makes the whole attribute not valid.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong.
    fn texts<T, E>(&self, name: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<Vec<T>, ItemError> {
        let parsed = self.list(name)?.iter().map(|value| as_text(value).and_then(|text| parse(text).ok()));
        parsed.collect::<Option<_>>().ok_or_else(|| ItemError::invalid(name))
    }

    /// A list of maps that `read` reads; empty if the attribute is absent.
    ///
    /// An element of another type makes the whole attribute not valid.
    ///
    /// # Errors
    /// [`ItemError`] if it is wrong, and errors of `read`.
    fn maps<T>(&self, name: &str, read: impl Fn(&Item) -> Result<T, ItemError>) -> Result<Vec<T>, ItemError> {
        let elements = self.list(name)?.iter();
        elements.map(|value| read(as_map(value).ok_or_else(|| ItemError::invalid(name))?)).collect()
    }

    /// The attributes whose names are `prefix` and an asset's suffix, each read by `read`.
    ///
    /// # Errors
    /// [`ItemError`] if a name does not end in an asset, and errors of `read`.
    fn by_asset<T>(
        &self,
        prefix: &str,
        read: impl Fn(&Item, &str, Asset) -> Result<T, ItemError>,
    ) -> Result<BTreeMap<Asset, T>, ItemError> {
        let named = self.item().keys().filter_map(|name| Some((name, name.strip_prefix(prefix)?)));
        named
            .map(|(name, suffix)| {
                let asset = Asset::from_attribute_suffix(suffix).map_err(|_| ItemError::invalid(name))?;
                Ok((asset.clone(), read(self.item(), name, asset)?))
            })
            .collect()
    }
}

impl Attributes for Item {
    fn item(&self) -> &Item {
        self
    }
}

/// Converts a value with `read`, which returns `None` for a value of another type.
fn typed<'a, T>(
    value: Option<&'a Value>,
    name: &str,
    expected: AttributeKind,
    read: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<Option<T>, ItemError> {
    value.map(|value| read(value).ok_or_else(|| ItemError::wrong_type(name, expected))).transpose()
}

/// Converts a value with `check`, which returns `None` for one that is not valid.
fn valid<V, T>(name: &str, found: Option<V>, check: impl FnOnce(V) -> Option<T>) -> Result<Option<T>, ItemError> {
    found.map(|value| check(value).ok_or_else(|| ItemError::invalid(name))).transpose()
}

fn required<T>(name: &str, found: Option<T>) -> Result<T, ItemError> {
    found.ok_or_else(|| ItemError::missing(name))
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

/// Empty bytes stand for a type that the ledger does not store.
fn as_bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::B(bytes) if !bytes.is_empty() => Some(bytes),
        Value::B(_) | Value::S(_) | Value::N(_) | Value::Bool(_) | Value::L(_) | Value::M(_) => None,
    }
}

#[cfg(test)]
mod tests;
