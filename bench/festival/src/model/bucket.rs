//! A token bucket: units a second, of which unused ones are kept for a limited time.

use crate::chance::{Micros, SECOND};

/// A token bucket. Tokens are millionths of a unit, so that a microsecond adds a whole number of them.
#[derive(Clone, Debug)]
pub struct Bucket {
    units_per_second: u64,
    capacity: u64,
    tokens: u64,
    at: Micros,
}

impl Bucket {
    /// A full bucket that keeps what is unused for `seconds`.
    #[must_use]
    pub fn full(units_per_second: u64, seconds: u64) -> Self {
        let capacity = units_per_second.saturating_mul(seconds).saturating_mul(SECOND);
        Self { units_per_second, capacity, tokens: capacity, at: 0 }
    }

    /// Whether it holds so many units.
    pub fn holds(&mut self, now: Micros, units: u64) -> bool {
        let added = now.saturating_sub(self.at).saturating_mul(self.units_per_second);
        self.tokens = self.tokens.saturating_add(added).min(self.capacity);
        self.at = self.at.max(now);
        self.tokens >= units.saturating_mul(SECOND)
    }

    /// Takes units that it holds.
    pub fn take(&mut self, units: u64) {
        self.tokens = self.tokens.saturating_sub(units.saturating_mul(SECOND));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_gives_its_rate_and_the_unused_units_of_its_time() {
        let mut bucket = Bucket::full(100, 300);
        assert!(bucket.holds(0, 30_000));
        bucket.take(30_000);
        assert!(!bucket.holds(0, 1));
        assert!(bucket.holds(SECOND, 100) && !bucket.holds(SECOND, 101));
        assert!(bucket.holds(1_000 * SECOND, 30_000) && !bucket.holds(1_000 * SECOND, 30_001));
    }
}
