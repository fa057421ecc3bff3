//! The rows of one tenant, and readers of their attributes.

use super::markers::is_in_flight;
use super::{Audit, Sums, full};
use crate::engine::PrimaryKey;
use ledger_core::dynamo::{Item, Value};
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::fmt;

/// The prefixes of the sort keys of markers: of the keys that callers chose, and of those that the ledger derived.
pub const MARKERS: [&str; 2] = ["card_op_idem#", "ledger_idem#"];

/// Every row of a tenant, by partition and sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct Books {
    /// The tenant.
    pub tenant: String,
    /// The rows. Entries and references are expanded.
    pub rows: BTreeMap<PrimaryKey, Item>,
    /// Those in the compact form, as they are stored.
    compact: BTreeMap<PrimaryKey, Item>,
}

/// The rows with entries and references expanded. A row that cannot be expanded is as it is, and cannot be read.
#[must_use]
pub fn full_rows(stored: BTreeMap<PrimaryKey, Item>) -> BTreeMap<PrimaryKey, Item> {
    let expanded = |((pk, sk), row): (PrimaryKey, Item)| {
        let row = full(&pk, &sk, &row).unwrap_or(row);
        ((pk, sk), row)
    };
    stored.into_iter().map(expanded).collect()
}

impl Books {
    /// The books of rows as they are stored.
    #[must_use]
    pub fn of(tenant: &str, stored: BTreeMap<PrimaryKey, Item>) -> Self {
        let compact =
            stored.iter().filter(|((_, sk), row)| sk.starts_with("TXN") && !row.contains_key("transaction_id"));
        let compact = compact.map(|(key, row)| (key.clone(), row.clone())).collect();
        Self { tenant: tenant.to_owned(), rows: full_rows(stored), compact }
    }

    /// The rows as the audit reads them.
    #[must_use]
    pub fn audit(&self) -> Audit<'_> {
        Audit::of(&self.tenant, &self.rows).stored_as(&self.compact)
    }

    /// A row as it is stored, unless a test has changed it since.
    #[must_use]
    pub fn stored(&self, pk: &str, sk: &str) -> Option<&Item> {
        let row = self.row(pk, sk)?;
        let compact = self.compact.get(&(pk.to_owned(), sk.to_owned()));
        Some(compact.filter(|compact| full(pk, sk, compact).as_ref() == Ok(row)).unwrap_or(row))
    }

    /// The rows whose sort key begins with a prefix, with their partition and sort keys.
    pub fn under(&self, prefix: &'static str) -> impl Iterator<Item = (&str, &str, &Item)> {
        let rows = self.rows.iter().filter(move |((_, sk), _)| sk.starts_with(prefix));
        rows.map(|((pk, sk), row)| (pk.as_str(), sk.as_str(), row))
    }

    /// The markers, with their partition and sort keys.
    pub fn markers(&self) -> impl Iterator<Item = (&str, &str, &Item)> {
        MARKERS.iter().flat_map(|prefix| self.under(prefix))
    }

    /// One row.
    #[must_use]
    pub fn row(&self, pk: &str, sk: &str) -> Option<&Item> {
        self.rows.get(&(pk.to_owned(), sk.to_owned()))
    }

    /// The number of journal entries of an operation.
    #[must_use]
    pub fn entries_of(&self, operation: &str) -> usize {
        self.under("TXN#").filter(|(_, _, row)| text(row, "operation") == operation).count()
    }

    /// The number of operations in flight: markers that are claimed and have no stored response.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.markers().filter(|(_, _, marker)| is_in_flight(marker)).count()
    }

    /// The sum posted to an account, available and held.
    #[must_use]
    pub fn posted(&self, account: &str, asset: &str) -> Decimal {
        let sums: Sums = self.audit().sums_by_account();
        sums.get(&(account.to_owned(), asset.to_owned())).copied().unwrap_or_default()
    }

    /// The sum posted to all accounts whose names begin so, available and held.
    #[must_use]
    pub fn posted_under(&self, prefix: &str, asset: &str) -> Decimal {
        let sums: Sums = self.audit().sums_by_account();
        let is_of = |(account, of): &(String, String)| account.starts_with(prefix) && of == asset;
        sums.iter().filter(|(key, _)| is_of(key)).map(|(_, sum)| *sum).sum()
    }
}

/// The kind and the id of a partition key `<tenant>#<kind>#<id>`.
pub(super) fn kind_and_id(pk: &str) -> (&str, &str) {
    let mut parts = pk.splitn(3, '#').skip(1);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// A row with its key. Written as its partition and sort key, as each finding names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) pk: &'a str,
    pub(super) sk: &'a str,
    pub(super) item: &'a Item,
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pk, self.sk)
    }
}

impl<'a> Row<'a> {
    /// The kind of the partition: `customer`, `payment`.
    pub(super) fn kind(&self) -> &'a str {
        kind_and_id(self.pk).0
    }

    /// The id in the partition key.
    pub(super) fn id(&self) -> &'a str {
        kind_and_id(self.pk).1
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.item.contains_key(name)
    }

    /// A string attribute that must be present.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        self.opt_text(name).ok_or_else(|| format!("{self} has no text `{name}`"))
    }

    pub(super) fn opt_text(&self, name: &str) -> Option<&'a str> {
        opt_text(self.item, name)
    }

    /// A number attribute that must be present.
    pub(super) fn number(&self, name: &str) -> Result<Decimal, String> {
        let number = self.item.get(name).and_then(decimal);
        number.ok_or_else(|| format!("{self} has no number `{name}`"))
    }

    /// A number attribute; zero if it is absent.
    pub(super) fn opt_number(&self, name: &str) -> Result<Decimal, String> {
        if self.has(name) { self.number(name) } else { Ok(Decimal::ZERO) }
    }

    /// A map of numbers; empty if it is absent.
    pub(super) fn numbers(&self, name: &str) -> Result<BTreeMap<&'a str, Decimal>, String> {
        match self.item.get(name) {
            None => Ok(BTreeMap::new()),
            Some(Value::M(map)) => {
                let numbers = map.iter().map(|(name, value)| Some((name.as_str(), decimal(value)?)));
                numbers.collect::<Option<_>>().ok_or_else(|| format!("{self} has no numbers in `{name}`"))
            }
            Some(other) => Err(format!("{self} has no map `{name}`: {other:?}")),
        }
    }
}

/// The decimal of a number; `None` for a value of another type.
pub(super) fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::N(text) => text.parse().ok(),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
    }
}

/// A string value.
#[must_use]
pub fn s(text: impl ToString) -> Value {
    Value::S(text.to_string())
}

/// A number value.
#[must_use]
pub fn n(number: impl ToString) -> Value {
    Value::N(number.to_string())
}

/// A string attribute that must be present.
///
/// # Panics
/// When it is absent or of another type.
#[must_use]
pub fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    opt_text(item, name).unwrap_or_else(|| panic!("no text `{name}` in {item:?}"))
}

/// A string attribute; `None` if it is absent or of another type.
#[must_use]
pub fn opt_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name)? {
        Value::S(text) => Some(text),
        Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
    }
}

/// A number attribute that must be present.
///
/// # Panics
/// When it is absent or of another type.
#[must_use]
pub fn number(item: &Item, name: &str) -> Decimal {
    item.get(name).and_then(decimal).unwrap_or_else(|| panic!("no number `{name}` in {item:?}"))
}

/// A number attribute; zero if it is absent.
///
/// # Panics
/// When it is of another type.
#[must_use]
pub fn opt_number(item: &Item, name: &str) -> Decimal {
    if item.contains_key(name) { number(item, name) } else { Decimal::ZERO }
}
