//! What changed between two readings of a tenant's rows.

use super::rows::{Books, MARKERS, kind_and_id, number};
use crate::engine::PrimaryKey;
use ledger_core::dynamo::Item;
use ledger_core::keys::attr;
use ledger_local::clock;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

impl Books {
    /// The number of rows added, changed or removed since `before`, by kind of row.
    ///
    /// # Panics
    /// When a row of `before` is missing: the ledger deletes none.
    #[must_use]
    pub fn changes_since(&self, before: &Self) -> BTreeMap<(&'static str, String), usize> {
        let mut changes = BTreeMap::new();
        // The store removes what has expired at a time of its own.
        let now = Decimal::from(clock::epoch_s());
        let is_expired = |row: &Item| row.contains_key(attr::TTL) && number(row, attr::TTL) <= now;
        let mut lasting = before.rows.iter().filter(|(_, row)| !is_expired(row)).map(|(key, _)| key);
        assert_eq!(lasting.find(|key| !self.rows.contains_key(*key)), None, "a row is missing");
        for (key, row) in &self.rows {
            let what = match before.rows.get(key) {
                None => "added",
                // `_tx` too: a row that is written again with the same content has changed.
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
fn kind((pk, sk): &PrimaryKey) -> String {
    let partition = kind_and_id(pk).0;
    let marker = MARKERS.iter().find_map(|prefix| sk.strip_prefix(prefix)).and_then(|rest| rest.split('#').next());
    match (marker, sk.split_once('#')) {
        (Some(operation), _) => format!("{partition} marker of {operation}"),
        (None, Some(("BALANCE", _)) | None) => format!("{partition} {sk}"),
        (None, Some((prefix, _))) => format!("{partition} {prefix}#"),
    }
}
