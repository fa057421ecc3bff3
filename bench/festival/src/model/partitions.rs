//! The partitions of a table or an index: ranges of hashes, each with its own limits, split for heat.

use super::bucket::Bucket;
use super::limits::{BURST_SECONDS, HOT_PERCENT, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};
use crate::chance::{Micros, SECOND};

/// How many of the last accesses of a partition decide where it is split.
const SAMPLES: usize = 64;

/// Where a partition key lies: its hash. Another `placement` puts all keys elsewhere, as another table would.
#[must_use]
pub fn position(placement: u64, partition_key: u64) -> u64 {
    // The finalizer of MurmurHash3.
    let mut hash = partition_key ^ placement.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

/// A range of hashes that one set of servers holds.
#[derive(Clone, Debug)]
struct Partition {
    /// The first hash of the range.
    start: u64,
    /// The limit of the partition itself, for a second.
    write: Bucket,
    /// What is allocated to it, with what it kept for a burst.
    allocated: Bucket,
    read: Bucket,
    /// The current second, the units written in it, and whether any write was throttled in it.
    second: u64,
    written: u64,
    throttled: bool,
    /// Since when each second was near the limit.
    hot_since: Option<Micros>,
    /// The hashes that were written last.
    samples: Vec<u64>,
    next_sample: usize,
}

impl Partition {
    fn new(start: u64, allocated_units: u64) -> Self {
        Self {
            start,
            write: Bucket::full(PARTITION_WRITE_UNITS, 1),
            allocated: Bucket::full(allocated_units, BURST_SECONDS),
            read: Bucket::full(PARTITION_READ_UNITS, 1),
            second: 0,
            written: 0,
            throttled: false,
            hot_since: None,
            samples: Vec::new(),
            next_sample: 0,
        }
    }

    /// Ends the seconds before `now`.
    fn tick(&mut self, now: Micros) {
        let second = now / SECOND;
        if second == self.second {
            return;
        }
        let is_hot =
            self.throttled || self.written.saturating_mul(100) >= PARTITION_WRITE_UNITS.saturating_mul(HOT_PERCENT);
        let is_next = second == self.second.saturating_add(1);
        if is_hot && is_next {
            self.hot_since = self.hot_since.or(Some(self.second.saturating_mul(SECOND)));
        } else {
            self.hot_since = None;
        }
        (self.second, self.written, self.throttled) = (second, 0, false);
    }

    fn sample(&mut self, position: u64) {
        if self.samples.len() < SAMPLES {
            self.samples.push(position);
        } else if let Some(oldest) = self.samples.get_mut(self.next_sample) {
            *oldest = position;
        }
        self.next_sample = self.next_sample.saturating_add(1) % SAMPLES;
    }

    /// The first hash of the upper half, so that each half gets half of the accesses. `None` if all accesses are of one
    /// partition key: it has a partition of its own, and no split helps it.
    fn split_at(&self) -> Option<u64> {
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        let median = *sorted.get(sorted.len() / 2)?;
        let is_inside = |at: &u64| *at > self.start && sorted.first().is_some_and(|first| first < at);
        Some(median).filter(is_inside).or_else(|| sorted.iter().copied().find(|at| is_inside(at) && *at > median))
    }
}

/// The partitions of a table or an index.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// In the order of their ranges; the first begins at 0.
    parts: Vec<Partition>,
    allocated_units: u64,
    split_after: Micros,
}

impl Partitions {
    /// Equal ranges for so many warm write units a second.
    ///
    /// On demand, each partition may use its whole limit at once: Guide, "DynamoDB burst and adaptive capacity".
    #[must_use]
    pub fn on_demand(warm_units: u64, split_after: Micros) -> Self {
        let count = warm_units.div_ceil(PARTITION_WRITE_UNITS).max(1);
        Self::equal(count, PARTITION_WRITE_UNITS, split_after)
    }

    /// Equal ranges, each with so many allocated write units a second.
    #[must_use]
    pub fn equal(count: u64, allocated_units: u64, split_after: Micros) -> Self {
        let count = count.max(1);
        let width = u64::MAX.checked_div(count).unwrap_or(u64::MAX);
        let parts = (0..count).map(|at| Partition::new(at.saturating_mul(width), allocated_units)).collect();
        Self { parts, allocated_units, split_after }
    }

    /// The number of partitions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// The number of the partition that holds a hash.
    #[must_use]
    pub fn of(&self, position: u64) -> usize {
        self.parts.partition_point(|part| part.start <= position).saturating_sub(1)
    }

    /// Whether a partition takes so many write units now. If not, that second counts as hot.
    pub fn admits(&mut self, now: Micros, number: usize, units: u64) -> bool {
        let Some(part) = self.parts.get_mut(number) else { return false };
        part.tick(now);
        let admits = part.write.holds(now, units) && part.allocated.holds(now, units);
        part.throttled |= !admits;
        admits
    }

    /// Takes admitted write units for an item with this hash.
    pub fn write(&mut self, number: usize, position: u64, units: u64) {
        let Some(part) = self.parts.get_mut(number) else { return };
        part.write.take(units);
        part.allocated.take(units);
        part.written = part.written.saturating_add(units);
        part.sample(position);
    }

    /// Reads so many units; false if the partition throttles.
    pub fn read(&mut self, now: Micros, position: u64, units: u64) -> bool {
        let number = self.of(position);
        let Some(part) = self.parts.get_mut(number) else { return false };
        let admits = part.read.holds(now, units);
        if admits {
            part.read.take(units);
        }
        admits
    }

    /// Splits the partitions that were near their limit for long enough. Returns how many.
    pub fn split_hot(&mut self, now: Micros) -> usize {
        let mut split = Vec::new();
        for part in &mut self.parts {
            part.tick(now);
            let is_due = part.hot_since.is_some_and(|since| now.saturating_sub(since) >= self.split_after);
            if is_due && let Some(at) = part.split_at() {
                part.hot_since = None;
                part.samples.clear();
                part.next_sample = 0;
                split.push(Partition { second: part.second, ..Partition::new(at, self.allocated_units) });
            }
        }
        let count = split.len();
        self.parts.extend(split);
        self.parts.sort_by_key(|part| part.start);
        count
    }
}

#[cfg(test)]
mod tests;
