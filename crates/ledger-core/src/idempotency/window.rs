//! How long a key is replayed, then refused.

use crate::operation::Operation;
use crate::time::{CLOCK_SKEW, Timestamp};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a response is replayed, and how long its key is refused after that. Counted from the write that completed
/// the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// For this long the stored response is replayed.
    pub replay: Duration,
    /// For this long after that the key is refused with 410.
    pub refused: Duration,
}

impl Window {
    /// Operations whose every effect is in our table: 90 days, then 24 hours.
    pub const WALLET: Self = Self { replay: Duration::from_secs(90 * 24 * 60 * 60), refused: DAY };

    /// Operations that call the payment provider: 24 hours, then 24 hours.
    pub const PSP: Self = Self { replay: DAY, refused: DAY };

    /// The window of an operation.
    #[must_use]
    pub fn of(operation: Operation) -> Self {
        if Operation::CALLING_PSP.contains(&operation) { Self::PSP } else { Self::WALLET }
    }

    /// The marker's `ttl`, in epoch seconds. For a key whose time is ahead of our clock, counted from the key's time.
    #[must_use]
    pub fn ttl(&self, processed_at: Timestamp, born: Option<Timestamp>) -> i64 {
        let from = born.map_or(processed_at, |born| born.max(processed_at));
        from.plus(self.replay).plus(self.refused).plus(CLOCK_SKEW).seconds()
    }
}
