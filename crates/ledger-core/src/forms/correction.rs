//! Corrections of a balance: counted on its item, so that what one run saw is corrected once.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{Clause, TransactItem};

/// How many corrections a balance has had.
pub(crate) const CORRECTIONS: &str = "corrections";
/// When it was corrected last, by the clock of the function that did.
pub(crate) const CORRECTED_AT: &str = "corrected_at";

/// The version of a balance's corrections, as a run read it with the balance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenCorrections {
    /// How many there had been.
    pub count: i64,
    /// What the item said of the last one. Compared for equality only.
    pub last_at: Option<Timestamp>,
}

impl SeenCorrections {
    /// Reads the version from a balance item.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn of_balance(item: &Item) -> Result<Self, ItemError> {
        Self::read(item, CORRECTIONS, CORRECTED_AT)
    }

    /// Reads a version that a break or an adjustment keeps; `None` of one that was written without.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn kept(item: &Item) -> Result<Option<Self>, ItemError> {
        if !item.contains_key("seen_corrections") {
            return Ok(None);
        }
        Self::read(item, "seen_corrections", "seen_corrected_at").map(Some)
    }

    /// The attributes under which a break or an adjustment keeps it.
    #[must_use]
    pub fn attributes(self) -> Vec<(String, Value)> {
        let mut attributes = vec![("seen_corrections".to_owned(), Value::int(self.count))];
        attributes.extend(self.last_at.map(|at| ("seen_corrected_at".to_owned(), Value::s(at))));
        attributes
    }

    fn read(item: &Item, count: &str, last_at: &str) -> Result<Self, ItemError> {
        Ok(Self { count: item.opt_int(count)?.unwrap_or_default(), last_at: item.opt_timestamp(last_at)? })
    }

    /// The balance has had no other correction: the count is as it was seen, and so is the instant, which is all that
    /// a release before this one changes.
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

/// Makes a change of a balance a correction of what a run saw, under its guard. A request from a release that kept no
/// version names only when its run began: it is refused if the balance has had a correction since, or one so shortly
/// before that clocks may differ by it, or any that was counted.
pub(crate) fn correction(
    item: TransactItem,
    seen: Option<SeenCorrections>,
    compared_at: Timestamp,
    now: Timestamp,
) -> TransactItem {
    let [first, second] = match seen {
        Some(seen) => seen.clauses(),
        None => {
            let before = Value::s(compared_at.minus(CLOCK_SKEW));
            let before = Condition::compare(CORRECTED_AT, Cmp::Lt, "compared_before", before);
            let clauses = [Condition::absent(CORRECTIONS), Condition::absent(CORRECTED_AT).or(before)];
            clauses.map(wrong_state)
        }
    };
    let counted = item.also(first, |update| update.add(CORRECTIONS, "one", Value::int(1)));
    counted.also(second, |update| update.set(CORRECTED_AT, "corrected_at", Value::s(now)))
}

fn wrong_state(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::WrongState }
}
