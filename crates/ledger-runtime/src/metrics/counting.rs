//! Counters in memory, by minute, which the local stack and tests read.
//!
//! Old minutes are dropped, which bounds the memory of a stack that runs for weeks.

use super::{Metric, Recorded, Sink, Unit};
use crate::clock::Clock;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::time::Timestamp;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MINUTE_MS: i64 = 60_000;
/// Two weeks, in minutes.
const MINUTES_KEPT: i64 = 14 * 24 * 60;

/// The minute comes first, so that the oldest entries are at the front.
type Slot = (i64, Metric, Option<Tenant>, Option<Operation>);

type Measured = BTreeMap<(Metric, Option<Tenant>), u64>;

/// A sink that counts in memory. Clones share their counts.
#[derive(Clone)]
pub struct Counting {
    clock: Clock,
    counts: Arc<Mutex<BTreeMap<Slot, u64>>>,
    measured: Arc<Mutex<Measured>>,
}

impl fmt::Debug for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counting")
    }
}

impl Counting {
    /// Creates a sink without counts.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, counts: Arc::default(), measured: Arc::default() }
    }

    /// The sum since the start, two weeks at most, over all tenants and operations.
    #[must_use]
    pub fn total(&self, metric: Metric) -> u64 {
        self.sum_where(|(_, counted, _, _)| *counted == metric)
    }

    /// The sum of a tenant between two times, in one operation or in all.
    #[must_use]
    pub fn sum_between(
        &self,
        metric: Metric,
        tenant: &Tenant,
        operation: Option<Operation>,
        since: Timestamp,
        until: Timestamp,
    ) -> u64 {
        let minutes = minute(since)..=minute(until);
        self.sum_where(|(at, counted, of, doing)| {
            minutes.contains(at)
                && *counted == metric
                && of.as_ref() == Some(tenant)
                && operation.is_none_or(|operation| *doing == Some(operation))
        })
    }

    /// The value measured last, in the metric's unit.
    #[must_use]
    pub fn measured(&self, metric: Metric, tenant: Option<&Tenant>) -> Option<u64> {
        lock(&self.measured).get(&(metric, tenant.cloned())).copied()
    }

    fn sum_where(&self, counts: impl Fn(&Slot) -> bool) -> u64 {
        let kept = lock(&self.counts);
        kept.iter().filter(|(slot, _)| counts(slot)).fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

impl Sink for Counting {
    fn take(&self, Recorded { metric, tenant, operation, value }: Recorded) {
        let count = match metric.unit() {
            Unit::Count => value,
            Unit::Milliseconds | Unit::Seconds => {
                lock(&self.measured).insert((metric, tenant.clone()), value);
                1
            }
        };
        let now = minute(self.clock.now());
        let mut counts = lock(&self.counts);
        let slot = counts.entry((now, metric, tenant, operation)).or_default();
        *slot = slot.saturating_add(count);
        let oldest = now.saturating_sub(MINUTES_KEPT);
        while let Some(first) = counts.first_entry().filter(|first| first.key().0 < oldest) {
            first.remove();
        }
    }
}

fn minute(at: Timestamp) -> i64 {
    at.millis().div_euclid(MINUTE_MS)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    #[test]
    fn counts_are_by_minute_and_old_ones_are_dropped() {
        let time = Arc::new(AtomicI64::new(1_700_000_000_000));
        let read = Arc::clone(&time);
        let counting = Counting::new(Clock::from_fn(move || Timestamp::from_millis(read.load(Ordering::SeqCst))));
        let tenant = Tenant::parse("demo").unwrap();
        let start = Timestamp::from_millis(time.load(Ordering::SeqCst));
        let take = |metric, tenant: Option<&Tenant>, operation, value| {
            counting.take(Recorded { metric, tenant: tenant.cloned(), operation, value });
        };
        take(Metric::KeyedRequest, Some(&tenant), Some(Operation::Pay), 2);
        take(Metric::KeyedRequest, Some(&tenant), Some(Operation::Refund), 1);
        take(Metric::KeyedRequest, None, None, 5);
        let sum = |operation, until| counting.sum_between(Metric::KeyedRequest, &tenant, operation, start, until);
        assert_eq!(sum(None, start), 3);
        assert_eq!(sum(Some(Operation::Pay), start), 2);
        assert_eq!(sum(None, start.minus(Duration::from_secs(120))), 0);
        assert_eq!(counting.total(Metric::KeyedRequest), 8);
        time.fetch_add((MINUTES_KEPT + 1) * MINUTE_MS, Ordering::SeqCst);
        take(Metric::Broken, None, None, 1);
        assert_eq!(counting.total(Metric::KeyedRequest), 0);
    }
}
