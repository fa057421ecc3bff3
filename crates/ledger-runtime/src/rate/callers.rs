//! The requests of single callers and sources, counted by this process alone.

use ledger_core::rate::{Bucket, RequestRate};
use ledger_core::time::Timestamp;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The most buckets of one kind that are kept: about 2 MB.
const BUCKETS_MAX: usize = 10_000;
/// The shortest time between two sweeps of full buckets, which look at every one.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// Buckets by key, all with one rate.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    rate: RequestRate,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K> {
    buckets: HashMap<K, Bucket>,
    swept_at: Option<Timestamp>,
}

impl<K: Eq + Hash + Clone> Buckets<K> {
    pub(super) fn new(rate: RequestRate) -> Self {
        Self { rate, state: Mutex::new(State { buckets: HashMap::new(), swept_at: None }) }
    }

    /// Takes one request of a caller.
    ///
    /// # Errors
    /// The time until the caller's next request passes.
    pub(super) fn take(&self, key: K, now: Timestamp) -> Result<(), Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.buckets.len() >= BUCKETS_MAX && !state.buckets.contains_key(&key) {
            state.make_room(self.rate, now);
        }
        state.buckets.entry(key).or_insert_with(|| Bucket::full(self.rate, now)).take(self.rate, now)
    }
}

impl<K: Eq + Hash + Clone> State<K> {
    /// Removes the buckets that are full again, and if there are none an arbitrary one: its caller gets a full bucket.
    fn make_room(&mut self, rate: RequestRate, now: Timestamp) {
        let may_sweep = self.swept_at.is_none_or(|at| now < at || now >= at.plus(SWEEP_PAUSE));
        if may_sweep {
            self.buckets.retain(|_, bucket| !bucket.is_full(rate, now));
            self.swept_at = Some(now);
        }
        if self.buckets.len() >= BUCKETS_MAX
            && let Some(any) = self.buckets.keys().next().cloned()
        {
            self.buckets.remove(&any);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::now;

    #[test]
    fn one_caller_that_floods_does_not_slow_another() {
        let buckets = Buckets::new(RequestRate::new(1).unwrap());
        let passed = (0..100).filter(|_| buckets.take("loud", now()).is_ok()).count();
        assert_eq!((passed, buckets.take("quiet", now())), (10, Ok(())));
        assert_eq!(buckets.take("loud", now()), Err(Duration::from_secs(1)));
    }

    #[test]
    fn memory_is_bounded_and_used_buckets_are_kept_before_full_ones() {
        let buckets = Buckets::new(RequestRate::new(1).unwrap());
        while buckets.take(0, now()).is_ok() {}
        for key in 1..BUCKETS_MAX {
            assert_eq!(buckets.take(key, now()), Ok(()));
        }
        let later = now().plus(Duration::from_secs(1));
        assert_eq!(buckets.take(BUCKETS_MAX, later), Ok(()), "the others are full again and are removed");
        assert_eq!(buckets.state.lock().unwrap().buckets.len(), 2);
        assert_eq!((buckets.take(0, later), buckets.take(0, later)), (Ok(()), Err(Duration::from_secs(1))));
        for key in 0..2 * BUCKETS_MAX {
            let _ = buckets.take(key, later);
        }
        assert_eq!(buckets.state.lock().unwrap().buckets.len(), BUCKETS_MAX);
    }
}
