//! Puts a copy of the table together from a stream of its changed items, in whole transactions: `docs/architecture/copy.md`.
//!
//! No product code copies a table: this shows that what is stored suffices for it.

#[cfg(feature = "stack")]
pub mod stream;

use crate::engine::{Contents, PrimaryKey, primary_key};
use crate::wire::{OF, TX};
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::attr;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The name of a transaction: its token.
pub type Transaction = Vec<u8>;

/// What a stream says of one item that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The item before; `None` if there was none.
    pub old: Option<Item>,
    /// The item afterwards; `None` if it was removed.
    pub new: Option<Item>,
    /// When it changed, in seconds since 1970.
    pub at: i64,
    /// Whether the table's TTL removed it.
    pub is_by_ttl: bool,
}

/// Why a copy cannot go on: a change that no transaction of the ledger made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// An item was removed otherwise than by TTL.
    Removed(PrimaryKey),
    /// An item names no transaction, or not how many writes it has.
    Unnamed(PrimaryKey),
    /// An item names the transaction that wrote it before.
    Kept(PrimaryKey),
    /// A transaction's writes do not say one number of writes, or are more, or write an item twice.
    Contradicting(PrimaryKey),
}

/// One write of a transaction.
#[derive(Clone, Debug, PartialEq)]
struct Write {
    /// The transaction that wrote the item before; `None` if there was no item.
    after: Option<Transaction>,
    new: Item,
    at: i64,
}

/// A transaction of which writes have been read.
#[derive(Clone, Debug, Default)]
struct Waiting {
    of: usize,
    writes: BTreeMap<PrimaryKey, Write>,
}

/// A copy of a table, and the transactions that are not applied to it yet.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    items: Contents,
    waiting: BTreeMap<Transaction, Waiting>,
    /// Whole transactions, by an item whose earlier write they wait for.
    blocked: BTreeMap<PrimaryKey, BTreeSet<Transaction>>,
}

impl Copy {
    /// A copy that begins with what a table had before the stream.
    #[must_use]
    pub fn of(items: Contents) -> Self {
        Self { items, ..Self::default() }
    }

    /// The items of the copy.
    #[must_use]
    pub fn items(&self) -> &Contents {
        &self.items
    }

    /// The number of transactions that wait for other changes.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a change in any order, and any number of times. Returns the transactions that are applied with it, in their
    /// order, each with its items.
    ///
    /// # Errors
    /// [`Foreign`] if no transaction of the ledger made the change. The copy must not go on.
    pub fn take(&mut self, change: &Change) -> Result<Vec<(Transaction, Vec<PrimaryKey>)>, Foreign> {
        let Some(new) = &change.new else {
            let removed = change.old.as_ref().map(primary_key).unwrap_or_default();
            return if change.is_by_ttl { Ok(Vec::new()) } else { Err(Foreign::Removed(removed)) };
        };
        let key = primary_key(new);
        let (Some(transaction), Some(of)) = (transaction_of(new), writes_of(new)) else {
            return Err(Foreign::Unnamed(key));
        };
        let after = match &change.old {
            Some(old) => Some(transaction_of(old).ok_or_else(|| Foreign::Unnamed(key.clone()))?),
            None => None,
        };
        if after.as_ref() == Some(&transaction) {
            return Err(Foreign::Kept(key));
        }
        if self.transaction_at(&key).as_ref() == Some(&transaction) {
            return Ok(Vec::new());
        }
        let waiting = self.waiting.entry(transaction.clone()).or_insert_with(|| Waiting { of, ..Waiting::default() });
        let write = Write { after, new: new.clone(), at: change.at };
        let is_one_number = waiting.of == of;
        match waiting.writes.entry(key.clone()) {
            Entry::Vacant(place) => drop(place.insert(write)),
            // A repeated record may have another time.
            Entry::Occupied(place) if place.get().after == write.after && place.get().new == write.new => {}
            Entry::Occupied(_) => return Err(Foreign::Contradicting(key)),
        }
        if !is_one_number || waiting.writes.len() > waiting.of {
            return Err(Foreign::Contradicting(key));
        }
        Ok(self.apply(transaction))
    }

    /// Applies a transaction if it can be, and then those that waited for it.
    fn apply(&mut self, first: Transaction) -> Vec<(Transaction, Vec<PrimaryKey>)> {
        let (mut next, mut applied) = (vec![first], Vec::new());
        while let Some(transaction) = next.pop() {
            let Some(waiting) = self.waiting.get(&transaction) else { continue };
            if waiting.writes.len() < waiting.of {
                continue;
            }
            if let Some((key, _)) = waiting.writes.iter().find(|(key, write)| !self.can_follow(key, write)) {
                self.blocked.entry(key.clone()).or_default().insert(transaction);
                continue;
            }
            let Some(waiting) = self.waiting.remove(&transaction) else { continue };
            let keys: Vec<PrimaryKey> = waiting.writes.keys().cloned().collect();
            self.items.extend(waiting.writes.into_iter().map(|(key, write)| (key, write.new)));
            next.extend(keys.iter().filter_map(|key| self.blocked.remove(key)).flatten());
            applied.push((transaction, keys));
        }
        applied
    }

    /// Whether the item is as the write found it. An item that the table's TTL had removed is there still.
    fn can_follow(&self, key: &PrimaryKey, write: &Write) -> bool {
        let Some(stored) = self.items.get(key) else { return write.after.is_none() };
        match &write.after {
            Some(after) => transaction_of(stored).as_ref() == Some(after),
            None => number_of(stored, attr::TTL).is_some_and(|ttl| ttl <= write.at),
        }
    }

    fn transaction_at(&self, key: &PrimaryKey) -> Option<Transaction> {
        self.items.get(key).and_then(transaction_of)
    }
}

/// The transaction that an item names.
#[must_use]
pub fn transaction_of(item: &Item) -> Option<Transaction> {
    match item.get(TX) {
        Some(Value::B(token)) if token.len() == 16 => Some(token.clone()),
        Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => None,
    }
}

fn writes_of(item: &Item) -> Option<usize> {
    number_of(item, OF).and_then(|of| usize::try_from(of).ok()).filter(|of| *of > 0)
}

fn number_of(item: &Item, name: &str) -> Option<i64> {
    match item.get(name) {
        Some(Value::N(number)) => number.parse().ok(),
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => None,
    }
}
