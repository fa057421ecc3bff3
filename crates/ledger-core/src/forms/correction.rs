//! Corrections of a balance, counted on its item, so that a break found by a run is corrected once.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::time::Timestamp;
use crate::transaction::{Clause, TransactItem};

/// The number of corrections of a balance.
pub(crate) const CORRECTIONS: &str = "corrections";
/// When the balance was last corrected, by the clock of the function that did it.
pub(crate) const CORRECTED_AT: &str = "corrected_at";

/// The version of a balance's corrections, as a run read it with the balance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenCorrections {
    /// The number of corrections.
    pub count: i64,
    /// The instant of the last one as stored. Compared for equality only.
    pub last_at: Option<Timestamp>,
}

impl SeenCorrections {
    /// Reads the version from a balance item.
    ///
    /// # Errors
    /// [`ItemError`] if the attributes do not have the expected format.
    pub fn of_balance(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { count: item.opt_int(CORRECTIONS)?.unwrap_or_default(), last_at: item.opt_timestamp(CORRECTED_AT)? })
    }

    /// Reads the version that a break or an adjustment stores.
    ///
    /// # Errors
    /// [`ItemError`] if the count is missing or an attribute does not have the expected format.
    pub fn kept(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { count: item.int("seen_corrections")?, last_at: item.opt_timestamp("seen_corrected_at")? })
    }

    /// The attributes under which a break or an adjustment stores the version.
    #[must_use]
    pub fn attributes(self) -> Vec<(String, Value)> {
        let mut attributes = vec![("seen_corrections".to_owned(), Value::int(self.count))];
        attributes.extend(self.last_at.map(|at| ("seen_corrected_at".to_owned(), Value::s(at))));
        attributes
    }

    /// Requires that the balance has had no other correction: count and instant are unchanged.
    fn clauses(self) -> [Clause; 2] {
        let counted = Condition::compare(CORRECTIONS, Cmp::Eq, "seen_corrections", Value::int(self.count));
        let counted = if self.count == 0 { Condition::absent(CORRECTIONS).or(counted) } else { counted };
        let last = match self.last_at {
            Some(at) => Condition::compare(CORRECTED_AT, Cmp::Eq, "seen_corrected_at", Value::s(at)),
            None => Condition::absent(CORRECTED_AT),
        };
        [wrong_state(counted), wrong_state(last)]
    }
}

/// Makes a change of a balance a correction of what a run read. It is refused if the balance has had another correction
/// since.
pub(crate) fn correction(item: TransactItem, seen: SeenCorrections, now: Timestamp) -> TransactItem {
    let [first, second] = seen.clauses();
    let counted = item.also(first, |update| update.add(CORRECTIONS, "one", Value::int(1)));
    counted.also(second, |update| update.set(CORRECTED_AT, "corrected_at", Value::s(now)))
}

fn wrong_state(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::WrongState }
}
