//! The table's stream: Lambda runs a function with the records of one shard at a time.

use crate::chance::{Chance, Micros};
use crate::model::limits::STREAM_POLL;
use crate::model::partitions::position;
use std::collections::VecDeque;

/// The records of a batch: `BatchSize` in `template.yaml`.
const BATCH_RECORDS: usize = 100;

/// A function's place in the stream: one reader for each shard, one batch of a shard at a time.
///
/// A shard holds the records of one partition, which is how DynamoDB makes them; splits during a run are left out.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    shards: Vec<Shard>,
    placement: u64,
}

#[derive(Clone, Debug, Default)]
struct Shard {
    waiting: VecDeque<u32>,
    is_busy: bool,
    wake_at: Option<Micros>,
}

impl Stream {
    pub(super) fn new(shards: usize, placement: u64) -> Self {
        Self { shards: vec![Shard::default(); shards.max(1)], placement }
    }

    /// Adds a payment's record. Returns the shard and the time at which it is to be woken, if that changes.
    pub(super) fn add(&mut self, pk: u64, payment: u32, now: Micros, chance: &mut Chance) -> Option<(usize, Micros)> {
        let count = u128::try_from(self.shards.len()).unwrap_or(1);
        let number = usize::try_from(u128::from(position(self.placement, pk)).saturating_mul(count) >> 64).unwrap_or(0);
        let shard = self.shards.get_mut(number)?;
        shard.waiting.push_back(payment);
        let at = now.saturating_add(chance.below(STREAM_POLL));
        if shard.is_busy || shard.wake_at.is_some_and(|earlier| earlier <= at) {
            return None;
        }
        shard.wake_at = Some(at);
        Some((number, at))
    }

    /// Takes a batch, if this is the time at which the shard is to be woken.
    pub(super) fn take(&mut self, number: usize, now: Micros) -> Option<Vec<u32>> {
        let shard = self.shards.get_mut(number)?;
        if shard.is_busy || shard.wake_at != Some(now) {
            return None;
        }
        shard.wake_at = None;
        let count = shard.waiting.len().min(BATCH_RECORDS);
        let batch: Vec<u32> = shard.waiting.drain(..count).collect();
        shard.is_busy = !batch.is_empty();
        shard.is_busy.then_some(batch)
    }

    /// Ends a batch. Returns when the shard is to be woken next.
    pub(super) fn end(&mut self, number: usize, now: Micros, chance: &mut Chance) -> Option<Micros> {
        let shard = self.shards.get_mut(number)?;
        shard.is_busy = false;
        if shard.waiting.is_empty() {
            return None;
        }
        let at = now.saturating_add(chance.below(STREAM_POLL));
        shard.wake_at = Some(at);
        Some(at)
    }
}
