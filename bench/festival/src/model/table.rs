//! A table with two indexes, written by transactions only.

use super::bucket::Bucket;
use super::limits::TRANSACTION_UNITS_PER_KB;
use super::partitions::{Partitions, position};
use crate::chance::Micros;
use std::collections::HashMap;

/// The primary key of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The partition key.
    pub pk: u64,
    /// The sort key.
    pub sk: u64,
}

/// Who writes a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A payment of this customer.
    Customer(u32),
    /// A worker.
    Worker,
}

/// The condition of an action on its item's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// None.
    None,
    /// There is no such item.
    Absent,
    /// The item exists and its number is at least this.
    AtLeast(i64),
    /// The item exists and its number is this.
    Equals(i64),
}

/// What an action does to its item's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds to it; a missing item begins with 0.
    Add(i64),
    /// Replaces it.
    Set(i64),
}

/// An index of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// Lists a merchant's payments.
    ByOwner,
    /// Lists work to be done.
    Due,
}

/// One write of an index entry: setting, rewriting or removing it. Moving it is two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The index.
    pub index: Index,
    /// The partition key in the index.
    pub pk: u64,
    /// Started KB of the entry.
    pub kilobytes: u64,
}

/// An action on one item, with the index entries that follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The item.
    pub key: Key,
    /// Started KB of the item.
    pub kilobytes: u64,
    /// The condition.
    pub condition: Condition,
    /// The change.
    pub change: Change,
    /// The index entries written.
    pub entries: Vec<Entry>,
}

/// The most actions of a transaction. Guide, "Amazon DynamoDB Transactions: How it works": 100.
const ACTIONS_MAX: usize = 100;

/// A `TransactWriteItems` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Who sends it.
    pub writer: Writer,
    /// At most [`ACTIONS_MAX`], each of another item.
    pub actions: Vec<Action>,
}

/// Why an action was cancelled, or that it was not the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Not the reason.
    None,
    /// Its condition does not hold.
    ConditionalCheckFailed,
    /// Another transaction holds the item.
    TransactionConflict,
    /// A partition of the table, or of an index, is at its limit.
    ThrottlingError,
}

/// What throttled a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A partition of the table.
    Base,
    /// A partition of an index.
    Of(Index),
    /// The account's quota for the table.
    Quota,
}

/// A cancelled transaction: nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// One reason for each action.
    pub reasons: Vec<Reason>,
    /// Who held the first item in conflict.
    pub held_by: Option<Writer>,
    /// The first limit that throttled it.
    pub limit: Option<Limit>,
}

/// The state of a table.
#[derive(Clone, Debug)]
pub struct Table {
    base: Partitions,
    by_owner: Partitions,
    due: Partitions,
    quota: Option<Bucket>,
    placement: u64,
    numbers: HashMap<Key, i64>,
    /// The items that a transaction holds between prepare and commit.
    held: HashMap<Key, Writer>,
    written_units: u64,
}

/// How a table begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSetup {
    /// Warm write units a second of the table and of each index.
    pub warm_write_units: u64,
    /// Write units a second that the account allows the table with its indexes.
    pub quota_write_units: Option<u64>,
    /// How long a partition must be near its limit before it is split.
    pub split_after: Micros,
    /// Decides which keys share a partition.
    pub placement: u64,
}

impl Table {
    /// An empty table on demand.
    #[must_use]
    pub fn new(setup: &TableSetup) -> Self {
        let partitions = || Partitions::on_demand(setup.warm_write_units, setup.split_after);
        Self {
            base: partitions(),
            by_owner: partitions(),
            due: partitions(),
            quota: setup.quota_write_units.map(|units| Bucket::full(units, 1)),
            placement: setup.placement,
            numbers: HashMap::new(),
            held: HashMap::new(),
            written_units: 0,
        }
    }

    /// Stores an item without a transaction, before the simulation begins.
    pub fn seed(&mut self, key: Key, number: i64) {
        self.numbers.insert(key, number);
    }

    /// The number of an item, as a consistent `GetItem` returns it: without what is not committed.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<i64> {
        self.numbers.get(&key).copied()
    }

    /// The partitions of the table, of `by_owner` and of `due`.
    #[must_use]
    pub fn partition_counts(&self) -> [usize; 3] {
        [self.base.count(), self.by_owner.count(), self.due.count()]
    }

    /// Write units that were consumed.
    #[must_use]
    pub fn written_units(&self) -> u64 {
        self.written_units
    }

    /// Reads so many units from an index key; false if its partition throttles.
    pub fn read_index(&mut self, now: Micros, index: Index, pk: u64, units: u64) -> bool {
        let at = position(self.placement, pk);
        self.of_index(index).read(now, at, units)
    }

    /// Splits partitions that were hot for long enough; to be called once a second.
    pub fn split_hot(&mut self, now: Micros) {
        for partitions in [&mut self.base, &mut self.by_owner, &mut self.due] {
            partitions.split_hot(now);
        }
    }

    fn of_index(&mut self, index: Index) -> &mut Partitions {
        match index {
            Index::ByOwner => &mut self.by_owner,
            Index::Due => &mut self.due,
        }
    }

    /// Prepares a transaction: checks limits, conflicts and conditions, and holds its items until [`Table::commit`].
    ///
    /// # Errors
    /// [`Cancelled`] with one reason for each action. If a condition or a conflict cancelled it, it consumed the units of
    /// its items, but wrote no index entry: `docs/costs-aws.md`, replays. For a conflict that is an assumption. If a limit
    /// throttled it, it consumed nothing.
    pub fn prepare(&mut self, now: Micros, transaction: &Transaction) -> Result<(), Cancelled> {
        let mut cancelled =
            Cancelled { reasons: vec![Reason::None; transaction.actions.len()], held_by: None, limit: None };
        debug_assert!(transaction.actions.len() <= ACTIONS_MAX, "a transaction with too many actions");
        let units = self.admitted(now, transaction, &mut cancelled);
        let Some(units) = units else { return Err(cancelled) };
        for (action, reason) in transaction.actions.iter().zip(&mut cancelled.reasons) {
            if let Some(holder) = self.held.get(&action.key) {
                *reason = Reason::TransactionConflict;
                cancelled.held_by = cancelled.held_by.or(Some(*holder));
            } else if !holds(action.condition, self.numbers.get(&action.key).copied()) {
                *reason = Reason::ConditionalCheckFailed;
            }
        }
        let is_cancelled = cancelled.reasons.iter().any(|reason| *reason != Reason::None);
        self.consume(transaction, &units, !is_cancelled);
        if is_cancelled {
            return Err(cancelled);
        }
        for action in &transaction.actions {
            self.held.insert(action.key, transaction.writer);
        }
        Ok(())
    }

    /// Applies a prepared transaction and lets its items go.
    pub fn commit(&mut self, transaction: &Transaction) {
        for action in &transaction.actions {
            self.held.remove(&action.key);
            let number = self.numbers.entry(action.key).or_insert(0);
            *number = match action.change {
                Change::Add(delta) => number.saturating_add(delta),
                Change::Set(to) => to,
            };
        }
    }

    /// The units that each place would take, if all admit them; otherwise the reasons are set.
    fn admitted(&mut self, now: Micros, transaction: &Transaction, cancelled: &mut Cancelled) -> Option<Vec<Taken>> {
        let mut taken: Vec<Taken> = Vec::with_capacity(transaction.actions.len().saturating_mul(2));
        for (number, action) in transaction.actions.iter().enumerate() {
            let at = position(self.placement, action.key.pk);
            let units = action.kilobytes.saturating_mul(TRANSACTION_UNITS_PER_KB);
            add(&mut taken, Taken { index: None, part: self.base.of(at), position: at, units, action: number });
            for entry in &action.entries {
                let at = position(self.placement, entry.pk);
                let (index, units) = (Some(entry.index), entry.kilobytes);
                let part = self.of_index(entry.index).of(at);
                add(&mut taken, Taken { index, part, position: at, units, action: number });
            }
        }
        let mut is_admitted = true;
        for place in &taken {
            let (limit, admits) = match place.index {
                None => (Limit::Base, self.base.admits(now, place.part, place.units)),
                Some(index) => (Limit::Of(index), self.of_index(index).admits(now, place.part, place.units)),
            };
            if !admits {
                is_admitted = false;
                cancelled.limit = cancelled.limit.or(Some(limit));
                if let Some(reason) = cancelled.reasons.get_mut(place.action) {
                    *reason = Reason::ThrottlingError;
                }
            }
        }
        let units = taken.iter().map(|place| place.units).fold(0, u64::saturating_add);
        if is_admitted && self.quota.as_mut().is_some_and(|quota| !quota.holds(now, units)) {
            is_admitted = false;
            cancelled.limit = Some(Limit::Quota);
            cancelled.reasons.fill(Reason::ThrottlingError);
        }
        is_admitted.then_some(taken)
    }

    fn consume(&mut self, transaction: &Transaction, taken: &[Taken], with_indexes: bool) {
        debug_assert!(!transaction.actions.is_empty(), "a transaction without actions");
        for place in taken.iter().filter(|place| with_indexes || place.index.is_none()) {
            match place.index {
                None => self.base.write(place.part, place.position, place.units),
                Some(index) => self.of_index(index).write(place.part, place.position, place.units),
            }
            self.written_units = self.written_units.saturating_add(place.units);
            if let Some(quota) = &mut self.quota {
                quota.take(place.units);
            }
        }
    }
}

/// The units that a transaction takes from one partition.
struct Taken {
    index: Option<Index>,
    part: usize,
    position: u64,
    units: u64,
    /// The first action that writes there.
    action: usize,
}

fn add(taken: &mut Vec<Taken>, place: Taken) {
    match taken.iter_mut().find(|other| other.index == place.index && other.part == place.part) {
        Some(other) => other.units = other.units.saturating_add(place.units),
        None => taken.push(place),
    }
}

fn holds(condition: Condition, number: Option<i64>) -> bool {
    match condition {
        Condition::None => true,
        Condition::Absent => number.is_none(),
        Condition::AtLeast(least) => number.is_some_and(|number| number >= least),
        Condition::Equals(seen) => number == Some(seen),
    }
}

#[cfg(test)]
mod tests;
