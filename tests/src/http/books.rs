//! The raw rows of one tenant, read by a scan of the table without the ledger's own code. `ledgerbook` and `topupbook`
//! audit them.

use super::World;
use super::topupbook::is_in_flight;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::{BTreeMap, HashMap};

/// An item.
pub type Row = HashMap<String, AttributeValue>;

/// Every row of a tenant, by partition and sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct Books {
    /// The tenant.
    pub tenant: String,
    /// The rows.
    pub rows: BTreeMap<(String, String), Row>,
}

impl Books {
    /// Reads every row of a tenant.
    ///
    /// # Panics
    /// When the table cannot be read.
    pub async fn read(client: &Client, table: &str, tenant: &str) -> Self {
        let mut rows = BTreeMap::new();
        let mut start = None;
        loop {
            let page = client
                .scan()
                .table_name(table)
                .consistent_read(true)
                .filter_expression("begins_with(#pk, :tenant)")
                .expression_attribute_names("#pk", "uuid")
                .expression_attribute_values(":tenant", AttributeValue::S(format!("{tenant}#")))
                .set_exclusive_start_key(start)
                .send()
                .await
                .unwrap_or_else(|error| panic!("the table cannot be read: {error:?}"));
            for row in page.items.unwrap_or_default() {
                rows.insert((text(&row, "uuid").to_owned(), text(&row, "type").to_owned()), row);
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Self { tenant: tenant.to_owned(), rows };
            }
        }
    }

    /// The rows whose sort key begins with a prefix, with their partition and sort keys.
    pub fn under(&self, prefix: &'static str) -> impl Iterator<Item = (&str, &str, &Row)> {
        let rows = self.rows.iter().filter(move |((_, sk), _)| sk.starts_with(prefix));
        rows.map(|((pk, sk), row)| (pk.as_str(), sk.as_str(), row))
    }

    /// The same in one partition, by a range over the sorted keys.
    pub fn within(&self, pk: &str, prefix: &str) -> impl Iterator<Item = (&str, &str, &Row)> {
        let rows = self.rows.range((pk.to_owned(), prefix.to_owned())..);
        let own = rows.take_while(move |((of, sk), _)| of == pk && sk.starts_with(prefix));
        own.map(|((pk, sk), row)| (pk.as_str(), sk.as_str(), row))
    }

    /// One row.
    #[must_use]
    pub fn row(&self, pk: &str, sk: &str) -> Option<&Row> {
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
        self.under("card_op_idem#").filter(|(_, _, marker)| is_in_flight(marker)).count()
    }

    /// The markers of Stripe events.
    pub fn events(&self) -> impl Iterator<Item = (&str, &str, &Row)> {
        self.under("event").filter(|(pk, sk, _)| *sk == "event" && pk.contains("#stripe_event#"))
    }

    /// The number of rows added or changed since `before`, by kind of row.
    ///
    /// # Panics
    /// When a row of `before` is missing: the ledger deletes no row.
    #[must_use]
    pub fn changes_since(&self, before: &Self) -> BTreeMap<(&'static str, String), usize> {
        let gone: Vec<_> = before.rows.keys().filter(|key| !self.rows.contains_key(*key)).collect();
        assert!(gone.is_empty(), "rows have gone: {gone:?}");
        let mut changes = BTreeMap::new();
        for (key, row) in &self.rows {
            let what = match before.rows.get(key) {
                None => "added",
                Some(old) if old != row => "changed",
                Some(_) => continue,
            };
            *changes.entry((what, kind(key))).or_default() += 1;
        }
        changes
    }

    /// Asserts that no row has changed since `before`.
    ///
    /// # Panics
    /// With the changes and `why`, if a row has changed.
    pub fn unchanged_since(&self, before: &Self, why: &str) {
        let changes = self.changes_since(before);
        assert!(changes.is_empty(), "{why}: {changes:?}");
    }
}

/// The kind of a row: the kind of its partition, and its sort key up to the first id.
fn kind((pk, sk): &(String, String)) -> String {
    let partition = pk.split('#').nth(1).unwrap_or_default();
    let marker = sk.strip_prefix("card_op_idem#").and_then(|rest| rest.split('#').next());
    match (marker, sk.split_once('#')) {
        (Some(operation), _) => format!("{partition} marker of {operation}"),
        (None, Some(("BALANCE", _)) | None) => format!("{partition} {sk}"),
        (None, Some((prefix, _))) => format!("{partition} {prefix}#"),
    }
}

/// A string attribute value.
#[must_use]
pub fn s(text: impl ToString) -> AttributeValue {
    AttributeValue::S(text.to_string())
}

/// A number attribute value.
#[must_use]
pub fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A string attribute that must be present.
///
/// # Panics
/// When it is absent or of another type.
#[must_use]
pub fn text<'a>(row: &'a Row, name: &str) -> &'a str {
    opt_text(row, name).unwrap_or_else(|| panic!("no text `{name}` in {row:?}"))
}

/// A string attribute; `None` if it is absent or of another type.
#[must_use]
pub fn opt_text<'a>(row: &'a Row, name: &str) -> Option<&'a str> {
    row.get(name)?.as_s().ok().map(String::as_str)
}

impl World {
    /// Deletes a row directly in the table, without the ledger.
    ///
    /// # Panics
    /// When the table rejects the delete.
    #[expect(clippy::disallowed_methods, reason = "what the ledger never deletes must be deleted past it")]
    pub async fn remove(&self, pk: &str, sk: &str) {
        let delete = self.table().delete_item().table_name(self.table_name()).key("uuid", s(pk)).key("type", s(sk));
        let _ = delete.send().await.unwrap_or_else(|error| panic!("the row is not deleted: {error:?}"));
    }
}
