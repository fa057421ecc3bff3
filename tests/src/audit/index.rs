//! The rows of an audit: each is found by its key, and each journal entry is read once.

use super::balances::Balance;
use super::compact::full;
use super::postings::{Entry, Posted};
use super::rows::{MARKERS, Row};
use crate::engine::PrimaryKey;
use ledger_core::dynamo::Item;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A tenant's rows, indexed for the rules.
#[derive(Debug)]
pub struct Audit<'a> {
    pub(super) tenant: &'a str,
    /// The rows by partition and sort key.
    rows: Vec<Row<'a>>,
    /// The same by sort key.
    rows_by_sk: Vec<Row<'a>>,
    pub(super) entries: Vec<Entry<'a>>,
    /// What is wrong with the entries that cannot be read.
    pub(super) unreadable: Vec<String>,
    /// The positions of the entries, in the order of step, name of the record's id, and id.
    steps: Vec<((&'a str, &'static str, &'a str), usize)>,
    pub(super) posted: Posted,
    pub(super) balances: OnceCell<Result<Vec<Balance<'a>>, String>>,
    /// Rows in the compact form, as they are stored.
    compact: Option<&'a BTreeMap<PrimaryKey, Item>>,
}

impl<'a> Audit<'a> {
    /// Indexes a tenant's rows, which are in the order of their keys, with entries and references expanded.
    ///
    /// # Panics
    /// When the rows are in another order.
    #[must_use]
    pub fn of(tenant: &'a str, rows: impl IntoIterator<Item = (&'a PrimaryKey, &'a Item)>) -> Self {
        let rows: Vec<_> = rows.into_iter().map(|((pk, sk), item)| Row { pk, sk, item }).collect();
        assert!(rows.is_sorted_by_key(|row| (row.pk, row.sk)), "the rows are not in the order of their keys");
        let mut rows_by_sk = rows.clone();
        rows_by_sk.sort_by_key(|row| row.sk);
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for row in under(&rows_by_sk, "TXN#") {
            match Entry::read(row) {
                Ok(entry) => entries.push(entry),
                Err(why) => unreadable.push(why),
            }
        }
        let mut steps = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            for name in ["topup_id", "refund_id", "payment_id"] {
                if let Some(id) = entry.row.opt_text(name) {
                    steps.push(((entry.step, name, id), position));
                }
            }
        }
        steps.sort_unstable();
        let posted = Posted::of(&entries);
        Self { tenant, rows, rows_by_sk, entries, unreadable, steps, posted, balances: OnceCell::new(), compact: None }
    }

    /// With the rows that are stored in the compact form.
    pub(super) fn stored_as(self, compact: &'a BTreeMap<PrimaryKey, Item>) -> Self {
        Self { compact: Some(compact), ..self }
    }

    /// The item of a row as it is stored. A row that was changed since it was read is as it is.
    pub(super) fn stored(&self, row: Row<'a>) -> &'a Item {
        let compact = self.compact.and_then(|compact| compact.get(&(row.pk.to_owned(), row.sk.to_owned())));
        compact.filter(|compact| full(row.pk, row.sk, compact).as_ref() == Ok(row.item)).unwrap_or(row.item)
    }

    /// The rows whose sort key begins with a prefix.
    pub(super) fn under(&self, prefix: &'static str) -> impl Iterator<Item = Row<'a>> {
        under(&self.rows_by_sk, prefix)
    }

    /// The markers.
    pub(super) fn markers(&self) -> impl Iterator<Item = Row<'a>> {
        MARKERS.iter().flat_map(|prefix| self.under(prefix))
    }

    /// The rows with a sort key.
    pub(super) fn named(&self, sk: &'static str) -> impl Iterator<Item = Row<'a>> {
        under(&self.rows_by_sk, sk).take_while(move |row| row.sk == sk)
    }

    /// The rows of a partition whose sort key begins with a prefix.
    pub(super) fn within(&self, pk: &str, prefix: &str) -> impl Iterator<Item = Row<'a>> {
        let start = self.rows.partition_point(|row| (row.pk, row.sk) < (pk, prefix));
        self.rows[start..].iter().copied().take_while(move |row| row.pk == pk && row.sk.starts_with(prefix))
    }

    /// One row.
    pub(super) fn row(&self, pk: &str, sk: &str) -> Option<Row<'a>> {
        let found = self.rows.binary_search_by(|row| (row.pk, row.sk).cmp(&(pk, sk)));
        found.ok().map(|position| self.rows[position])
    }

    /// The entries of a step that name a record: `name` is the attribute of its id.
    pub(super) fn entries_of(&self, step: &str, name: &'static str, id: &str) -> impl Iterator<Item = &Entry<'a>> {
        let of = (step, name, id);
        let start = self.steps.partition_point(|(key, _)| *key < of);
        let positions = self.steps[start..].iter().take_while(move |(key, _)| *key == of);
        positions.map(|(_, position)| &self.entries[*position])
    }

    /// The marker of a key.
    pub(super) fn marker(&self, principal: &str, operation: &str, key: &str) -> Option<Row<'a>> {
        let pk = format!("{}#{}", self.tenant, principal.replace(':', "#"));
        // A key that the ledger derived has a space, which no caller's has.
        let [callers, ledgers] = MARKERS;
        let prefix = if key.contains(' ') { ledgers } else { callers };
        self.row(&pk, &format!("{prefix}{operation}#{key}"))
    }

    /// The marker of the request that created a record.
    pub(super) fn marker_of(&self, record: Row<'a>, operation: &str) -> Result<Option<Row<'a>>, String> {
        Ok(self.marker(record.text("principal")?, operation, record.text("idempotency_key")?))
    }

    /// The markers of Stripe events.
    pub(super) fn events(&self) -> impl Iterator<Item = Row<'a>> {
        self.named("event").filter(|row| row.pk.contains("#stripe_event#"))
    }
}

/// The rows whose sort key begins with a prefix, of rows in the order of their sort keys.
fn under<'a>(rows: &[Row<'a>], prefix: &'static str) -> impl Iterator<Item = Row<'a>> {
    let start = rows.partition_point(|row| row.sk < prefix);
    rows[start..].iter().copied().take_while(move |row| row.sk.starts_with(prefix))
}
