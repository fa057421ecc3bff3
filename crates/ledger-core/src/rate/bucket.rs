//! A token bucket in memory: a caller's requests, by one process's clock.

use super::RequestRate;
use crate::time::Timestamp;
use std::time::Duration;

/// What a request takes, in thousandths of a token: milliseconds times a rate per second are whole thousandths.
const REQUEST: u64 = 1_000;

/// The requests that a caller has left: at most those of ten seconds at its rate, and as many again in ten seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Thousandths of tokens at `as_of`.
    left: u64,
    as_of: Timestamp,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn full(rate: RequestRate, now: Timestamp) -> Self {
        Self { left: size(rate), as_of: now }
    }

    /// Takes one request.
    ///
    /// # Errors
    /// The time until the next request passes. Nothing is taken then, so a caller that goes on does not wait longer.
    pub fn take(&mut self, rate: RequestRate, now: Timestamp) -> Result<(), Duration> {
        self.fill(rate, now);
        match self.left.checked_sub(REQUEST) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let lacks = REQUEST.saturating_sub(self.left);
                Err(Duration::from_millis(lacks.div_ceil(u64::from(rate.per_second()))))
            }
        }
    }

    /// Whether the bucket is as one that no request has taken from: it need not be kept.
    #[must_use]
    pub fn is_full(mut self, rate: RequestRate, now: Timestamp) -> bool {
        self.fill(rate, now);
        self.left == size(rate)
    }

    /// Adds what the time since the last call gives. A clock that is set back gives nothing, and counts from there.
    fn fill(&mut self, rate: RequestRate, now: Timestamp) {
        let passed = u64::try_from(now.millis().saturating_sub(self.as_of.millis())).unwrap_or(0);
        let given = passed.saturating_mul(rate.per_second().into());
        self.left = self.left.saturating_add(given).min(size(rate));
        self.as_of = now;
    }
}

fn size(rate: RequestRate) -> u64 {
    u64::from(rate.budget()).saturating_mul(REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }

    fn taken(bucket: &mut Bucket, rate: RequestRate, now: Timestamp) -> usize {
        (0..1_000).take_while(|_| bucket.take(rate, now).is_ok()).count()
    }

    #[test]
    fn requests_of_ten_seconds_pass_at_once_and_then_the_rate() {
        let rate = RequestRate::new(3).unwrap();
        let mut bucket = Bucket::full(rate, now());
        assert_eq!(taken(&mut bucket, rate, now()), 30);
        assert_eq!(bucket.take(rate, now()), Err(Duration::from_millis(334)));
        assert_eq!(bucket.take(rate, now().plus(Duration::from_millis(333))), Err(Duration::from_millis(1)));
        assert_eq!(taken(&mut bucket, rate, now().plus(Duration::from_millis(334))), 1);
        assert_eq!(taken(&mut bucket, rate, now().plus(Duration::from_millis(1_334))), 3);
        assert_eq!(taken(&mut bucket, rate, now().plus(Duration::from_secs(3_600))), 30);
    }

    #[test]
    fn bucket_is_full_again_after_the_time_of_what_was_taken() {
        let rate = RequestRate::new(2).unwrap();
        let mut bucket = Bucket::full(rate, now());
        assert!(bucket.is_full(rate, now()));
        assert_eq!(bucket.take(rate, now()), Ok(()));
        assert!(!bucket.is_full(rate, now().plus(Duration::from_millis(499))));
        assert!(bucket.is_full(rate, now().plus(Duration::from_millis(500))));
    }

    #[test]
    fn clock_that_is_set_back_neither_gives_nor_blocks() {
        let rate = RequestRate::new(1).unwrap();
        let mut bucket = Bucket::full(rate, now());
        assert_eq!(taken(&mut bucket, rate, now()), 10);
        let back = now().minus(Duration::from_secs(3_600));
        assert!(bucket.take(rate, back).is_err());
        assert_eq!(taken(&mut bucket, rate, back.plus(Duration::from_secs(2))), 2);
    }
}
