//! The right of one worker to work on something, as an item holds it: a lease for a time, with a fencing token
//! that grows with each holder. Whoever has lost the token writes nothing, however long it slept.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::time::Timestamp;
use crate::transaction::Clause;
use std::time::Duration;

const FENCE: &str = "fence";
const UNTIL: &str = "lease_until";

/// Who has an item, as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The token of whoever took it last.
    pub fence: i64,
    /// Until when that one is taken to be alive.
    pub lease_until: Timestamp,
}

impl Holder {
    /// Reads an item's attributes `fence` and `lease_until`.
    ///
    /// # Errors
    /// [`ItemError`] if they do not look as we write them.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let lease_until = item.timestamp(UNTIL)?;
        Ok(Self { fence: item.int(FENCE)?, lease_until })
    }

    /// The item's attributes, as the first one to hold it writes them.
    pub(crate) fn attributes(self) -> [(String, Value); 2] {
        [(FENCE.to_owned(), Value::int(self.fence)), (UNTIL.to_owned(), Value::s(self.lease_until))]
    }

    /// Whoever comes after this one; `None` while this one is alive.
    pub(crate) fn next(self, length: Duration, now: Timestamp) -> Option<Self> {
        let next = Self { fence: self.fence.saturating_add(1), lease_until: now.plus(length) };
        (self.lease_until <= now).then_some(next)
    }

    /// Takes the item in this one's name.
    pub(crate) fn taken(self, update: Update) -> Update {
        alive(update.set(FENCE, "to_fence", Value::int(self.fence)), self.lease_until)
    }

    /// The item is as it was seen: of two that take it at once, one fails.
    pub(crate) fn as_seen(self) -> [Clause; 2] {
        let lease = Condition::compare(UNTIL, Cmp::Eq, "seen_lease", Value::s(self.lease_until));
        [held(self.fence), Clause { condition: lease, failure: Failure::StalePlan }]
    }
}

/// Nobody has a later token.
pub(crate) fn held(fence: i64) -> Clause {
    Clause { condition: Condition::compare(FENCE, Cmp::Eq, "fence", Value::int(fence)), failure: Failure::StalePlan }
}

/// Says until when the holder is alive.
pub(crate) fn alive(update: Update, until: Timestamp) -> Update {
    update.set(UNTIL, "lease_until", Value::s(until))
}
