//! The right of one worker to change a record: a lease with a fencing token that grows with each holder. A worker
//! that lost the token writes nothing, however long it was suspended.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::keys::Key;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

const FENCE: &str = "fence";
const UNTIL: &str = "lease_until";
/// The token of an item's first holder.
const FIRST: i64 = 1;

/// The last lease holder of a record, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The fencing token.
    pub fence: i64,
    /// The end of the lease. Before it no other worker may take the record.
    pub lease_until: Timestamp,
}

impl Holder {
    /// Reads an item's attributes `fence` and `lease_until`.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let lease_until = item.timestamp(UNTIL)?;
        Ok(Self { fence: item.int(FENCE)?, lease_until })
    }

    /// The attributes that this holder adds to a new item.
    pub(crate) fn attributes(self) -> [(String, Value); 2] {
        [(FENCE.to_owned(), Value::int(self.fence)), (UNTIL.to_owned(), Value::s(self.lease_until))]
    }

    /// Adds the lease of this holder to an update.
    pub(crate) fn taken(self, update: Update) -> Update {
        update.set(FENCE, "to_fence", Value::int(self.fence)).set(UNTIL, "lease_until", Value::s(self.lease_until))
    }

    /// Requires that no other worker has taken the item since.
    pub(crate) fn is_last(self) -> Clause {
        has_fence(self.fence, Failure::StalePlan)
    }

    /// Requires that the lease is as it was read: of two workers that take it at once, one fails.
    pub(crate) fn as_seen(self) -> [Clause; 2] {
        let lease = Condition::compare(UNTIL, Cmp::Eq, "seen_lease", Value::s(self.lease_until));
        [self.is_last(), Clause { condition: lease, failure: Failure::StalePlan }]
    }
}

/// A kind of record that only one worker at a time may change.
pub trait Leasable {
    /// The length of the lease. Each write of the holder renews it; after it another worker may take the record.
    const LEASE_DURATION: Duration;
    /// The role of the record's item in a transaction.
    const ROLE: Role;
}

/// A record and the right to change it, which lasts until another worker takes a later token. Only taking or creating
/// the record gives it, and only it can make the changes that need the right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased<T> {
    record: T,
    key: Key,
    fence: i64,
}

impl<T> Deref for Leased<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.record
    }
}

impl<T> DerefMut for Leased<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.record
    }
}

impl<T: Leasable> Leased<T> {
    /// A record that the caller's own transaction creates, with the first token. The right exists only if that
    /// transaction succeeds.
    pub(crate) fn begun(record: T, key: Key) -> Self {
        Self { record, key, fence: FIRST }
    }

    /// Takes a record as it was read; `None` while its holder's lease lasts. `change` makes the next record and its
    /// update from the next holder. `guard` has further conditions on what was read. Of two workers that take it at
    /// once, one fails with `StalePlan`.
    ///
    /// # Errors
    /// [`BuildError::Unfenced`] if the update does not store the next holder.
    pub(crate) fn take(
        key: Key,
        seen: Holder,
        guard: Vec<Clause>,
        now: Timestamp,
        change: impl FnOnce(Holder) -> (T, Update),
    ) -> Result<Option<(Self, Transaction)>, BuildError> {
        if now < seen.lease_until {
            return Ok(None);
        }
        let holder = Holder { fence: seen.fence.saturating_add(1), lease_until: now.plus(T::LEASE_DURATION) };
        let (record, update) = change(holder);
        for (attribute, value) in holder.attributes() {
            if update.set_to(&attribute) != Some(&value) {
                return Err(BuildError::Unfenced(T::ROLE));
            }
        }
        let [fence, lease] = seen.as_seen();
        let clauses = [vec![fence], guard, vec![lease]].concat();
        let item = TransactItem::update(T::ROLE, key.clone(), update, clauses);
        Ok(Some((Self { record, key, fence: holder.fence }, Transaction::unkeyed(vec![item])?)))
    }

    /// The fencing token.
    #[must_use]
    pub fn fence(&self) -> i64 {
        self.fence
    }

    /// The record, without the right to change it.
    #[must_use]
    pub fn into_record(self) -> T {
        self.record
    }

    /// Replaces the record by its changed version, under the same token.
    #[must_use]
    pub(crate) fn with(&self, record: T) -> Self {
        Self { record, key: self.key.clone(), fence: self.fence }
    }

    /// An update that renews the lease.
    pub(crate) fn renewed(now: Timestamp) -> Update {
        Update::new().set(UNTIL, "lease_until", Value::s(now.plus(T::LEASE_DURATION)))
    }

    /// An update that ends the lease: another worker may take the record at once.
    pub(crate) fn released(now: Timestamp) -> Update {
        Update::new().set(UNTIL, "lease_until", Value::s(now))
    }

    /// A change that is written only if no other worker has taken the record since.
    pub(crate) fn change(&self, update: Update) -> TransactItem {
        self.change_if(update, Vec::new())
    }

    /// The same as [`Leased::change`], with further conditions.
    pub(crate) fn change_if(&self, update: Update, guard: Vec<Clause>) -> TransactItem {
        let clauses = [vec![self.held(Failure::StalePlan)], guard].concat();
        TransactItem::update(T::ROLE, self.key.clone(), update, clauses)
    }

    /// Requires that no other worker has taken the record since.
    pub(crate) fn held(&self, failure: Failure) -> Clause {
        has_fence(self.fence, failure)
    }
}

fn has_fence(fence: i64, failure: Failure) -> Clause {
    Clause { condition: Condition::compare(FENCE, Cmp::Eq, "fence", Value::int(fence)), failure }
}
