//! Crediting a merchant: the seal of a journal entry adds what the entry owes its merchant to the sums of the merchant's
//! open period, exactly once.

mod lane;
mod period;
mod volume;

pub use lane::{EntryCredit, LaneCredit, LaneCredits};
pub(crate) use period::{CREDITED_AT, PERIOD, PERIOD_OF_ENTRY};
pub use period::{CreditKind, FIRST_PERIOD, PeriodId, PeriodSide, PeriodSums};
pub use volume::{VolumeExceeded, VolumeLimits};

use crate::dynamo::Item;

/// Whether an entry's amounts are in its merchant's sums.
#[must_use]
pub fn is_credited(entry: &Item) -> bool {
    entry.contains_key(CREDITED_AT)
}
