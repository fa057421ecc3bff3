//! The publisher of the stream's records, as `ledger_runtime::publishing` has it: it sends batches of ten accounts'
//! events, several at once, and writes nothing. The two queries of a shard's oldest entry every 30 seconds are left out.

use super::Simulation;
use super::stream::Stream;
use crate::chance::Micros;
use crate::designs::{Payment, journal_entry};
use crate::model::limits::send_latency;
use std::collections::{BTreeMap, BTreeSet};

/// `publishing::BATCH_ITEMS`.
const BATCH_ITEMS: usize = 10;
/// `publishing::CONCURRENCY`.
const CONCURRENCY: usize = 16;

pub(super) enum Event {
    /// A stream shard has records.
    Wake(usize),
    /// A batch's events are sent.
    Sent(u32, Vec<u32>),
}

struct Run {
    /// The stream shard whose records started it.
    shard: usize,
    /// Entries that are in no batch yet, from the end.
    left: Vec<u32>,
    batches_open: usize,
}

pub(super) struct Publishing {
    stream: Stream,
    runs: BTreeMap<u32, Run>,
    next_run: u32,
    /// Entries whose event was taken.
    published: BTreeSet<u32>,
}

impl Publishing {
    pub(super) fn new(stream_shards: usize, placement: u64) -> Self {
        let stream = Stream::new(stream_shards, placement);
        Self { stream, runs: BTreeMap::new(), next_run: 0, published: BTreeSet::new() }
    }
}

impl Simulation {
    /// A committed payment's journal entry is in the stream.
    pub(super) fn add_unpublished(&mut self, payment: &Payment) {
        let pk = journal_entry(payment.customer, payment.id).pk;
        let woken = self.publishing.stream.add(pk, payment.id, self.now, &mut self.chance);
        if let Some((shard, at)) = woken {
            self.after(at.saturating_sub(self.now), super::Event::Publishing(Event::Wake(shard)));
        }
    }

    pub(super) fn handle_publishing(&mut self, event: Event) {
        match event {
            Event::Wake(shard) => {
                if let Some(mut left) = self.publishing.stream.take(shard, self.now) {
                    left.reverse();
                    let id = self.publishing.next_run;
                    self.publishing.next_run = id.saturating_add(1);
                    self.publishing.runs.insert(id, Run { shard, left, batches_open: 0 });
                    self.next_batches(id);
                }
            }
            Event::Sent(id, batch) => {
                self.count_published(&batch, self.now);
                if let Some(run) = self.publishing.runs.get_mut(&id) {
                    run.batches_open = run.batches_open.saturating_sub(1);
                }
                self.next_batches(id);
            }
        }
    }

    /// Begins batches until as many are open as may be; ends the run when none is left.
    fn next_batches(&mut self, id: u32) {
        loop {
            let Some(run) = self.publishing.runs.get_mut(&id) else { return };
            if run.batches_open >= CONCURRENCY || run.left.is_empty() {
                break;
            }
            let keep = run.left.len().saturating_sub(BATCH_ITEMS);
            let batch = run.left.split_off(keep);
            run.batches_open = run.batches_open.saturating_add(1);
            let time = self.time_to_send(batch.len());
            self.after(time, super::Event::Publishing(Event::Sent(id, batch)));
        }
        let is_over = |run: &Run| run.batches_open == 0;
        if self.publishing.runs.get(&id).is_some_and(is_over)
            && let Some(run) = self.publishing.runs.remove(&id)
            && let Some(at) = self.publishing.stream.end(run.shard, self.now, &mut self.chance)
        {
            self.after(at.saturating_sub(self.now), super::Event::Publishing(Event::Wake(run.shard)));
        }
    }

    /// The time to read these accounts at once and to send their events, in batches that are sent at once.
    pub(super) fn time_to_send(&mut self, accounts: usize) -> Micros {
        let read = self.read.longest_of(accounts, &mut self.chance);
        let batches = accounts.div_ceil(BATCH_ITEMS);
        let sent = (0..batches).map(|_| send_latency().draw(&mut self.chance)).max().unwrap_or(0);
        read.saturating_add(sent)
    }

    /// Counts how long each of these entries has waited for its first publication, which ends at an instant.
    pub(super) fn count_published(&mut self, entries: &[u32], at: Micros) {
        for id in entries {
            if self.publishing.published.insert(*id) {
                let committed = self.payment(*id).and_then(|request| request.committed).unwrap_or(at);
                self.counts.publishing_lags.push(at.saturating_sub(committed));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_source_has;

    #[test]
    fn worker_has_the_ledgers_limits() {
        let run = "crates/ledger-runtime/src/publishing.rs";
        assert_source_has(run, &format!("CONCURRENCY: usize = {CONCURRENCY};"));
        let sink = "crates/ledger-runtime/src/publishing/sink.rs";
        assert_source_has(sink, &format!("BATCH_ITEMS: usize = {BATCH_ITEMS};"));
    }
}
