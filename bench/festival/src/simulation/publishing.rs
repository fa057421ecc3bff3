//! The publisher, as `ledger_runtime::publishing` has it.
//!
//! A run of stream records reads the first page of every shard of the index, and then sends batches of ten accounts'
//! events, four at once; after each it moves the entries' marks from publishing to sealing. A tick each minute does the
//! same with all that is due, page by page.

use super::stream::Stream;
use super::{Answer, Simulation, Worker, of_worker};
use crate::chance::{Micros, SECOND};
use crate::designs::{Kind, Payment, entry, journal_entry, partition_key, replace};
use crate::model::limits::send_latency;
use crate::model::table::{Index, Transaction};
use crate::policy::{CONFLICT_RETRIES, Verdict, backoff, read_backoff};
use std::collections::{BTreeMap, BTreeSet};

/// `publishing::BATCH_ITEMS`.
const BATCH_ITEMS: usize = 10;
/// `publishing::CONCURRENCY`.
const CONCURRENCY: usize = 4;
/// `publishing::sweep::PAGE_ITEMS`.
const PAGE_ITEMS: usize = 100;
/// `publishing::RUN_TIME_MAX`.
const RUN_TIME_MAX: Micros = 60 * SECOND;
/// The ticks: `rate(1 minute)`; the first comes early in the first minute.
const TICK: Micros = 60 * SECOND;
/// Index entries that one read unit of an eventually consistent query covers: a journal entry's has about 860 bytes.
const ENTRIES_PER_READ_UNIT: usize = 9;

pub(super) enum Event {
    /// A stream shard has records.
    Wake(usize),
    Tick,
    /// A run's queries of the index are answered.
    Listed(u32),
    /// A batch's events are sent, or its transaction is to be sent again.
    Sent(u32, Vec<u32>, u32),
    /// A batch's transaction is answered. It has the entries whose marks it moves, which may be fewer than were sent.
    Moved(u32, Vec<u32>, u32, Answer),
}

struct Run {
    /// The stream shard whose records started it; a tick did otherwise.
    shard: Option<usize>,
    /// Entries that are in no batch yet, from the end.
    left: Vec<u32>,
    batches_open: usize,
    failed: Vec<u32>,
    /// Shards of the index whose page is not read yet.
    unread: Vec<u32>,
    /// Attempts to read them.
    reads: u32,
    /// The last entry read of each shard, by a tick's run.
    after: BTreeMap<u32, u32>,
    ends_at: Micros,
}

pub(super) struct Publishing {
    stream: Stream,
    runs: BTreeMap<u32, Run>,
    next_run: u32,
    /// The index `due`: unpublished entries by shard.
    due: Vec<BTreeSet<u32>>,
}

impl Publishing {
    pub(super) fn new(tenant_shards: u32, stream_shards: usize, placement: u64) -> Self {
        let due = (0..tenant_shards.max(1)).map(|_| BTreeSet::new()).collect();
        Self { stream: Stream::new(stream_shards, placement, 0), runs: BTreeMap::new(), next_run: 0, due }
    }

    fn due(&mut self, shard: u32) -> Option<&mut BTreeSet<u32>> {
        self.due.get_mut(usize::try_from(shard).unwrap_or(usize::MAX))
    }

    fn shards(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.due).map(|(shard, _)| shard)
    }
}

impl Simulation {
    pub(super) fn begin_publishing(&mut self) {
        self.after(TICK / 4, super::Event::Publishing(Event::Tick));
    }

    /// A committed payment's journal entry is in the index and in the stream.
    pub(super) fn add_unpublished(&mut self, payment: &Payment) {
        if let Some(due) = self.publishing.due(payment.tenant_shard) {
            due.insert(payment.id);
        }
        let pk = journal_entry(payment.customer, payment.id).pk;
        let woken = self.publishing.stream.add(pk, payment.id, self.now, &mut self.chance);
        if let Some((shard, at)) = woken {
            self.after(at.saturating_sub(self.now), super::Event::Publishing(Event::Wake(shard)));
        }
    }

    pub(super) fn handle_publishing(&mut self, event: Event) {
        match event {
            Event::Wake(shard) => {
                if let Some(mut records) = self.publishing.stream.take(shard, self.now) {
                    records.reverse();
                    self.start_publishing(Some(shard), records);
                }
            }
            Event::Tick => {
                self.start_publishing(None, Vec::new());
                self.after(TICK, super::Event::Publishing(Event::Tick));
            }
            Event::Listed(id) => self.marks_listed(id),
            Event::Sent(id, batch, retries) => self.move_marks(id, batch, retries),
            Event::Moved(id, batch, retries, answer) => self.moved(id, batch, retries, answer),
        }
    }

    fn start_publishing(&mut self, shard: Option<usize>, left: Vec<u32>) {
        let id = self.publishing.next_run;
        self.publishing.next_run = id.saturating_add(1);
        let run = Run {
            shard,
            left,
            batches_open: 0,
            failed: Vec::new(),
            unread: self.publishing.shards().collect(),
            reads: 0,
            after: BTreeMap::new(),
            ends_at: self.now.saturating_add(RUN_TIME_MAX),
        };
        self.list_marks(id, &run, 0);
        self.publishing.runs.insert(id, run);
    }

    fn list_marks(&mut self, id: u32, run: &Run, pause: Micros) {
        let time = self.read.longest_of(run.unread.len(), &mut self.chance);
        self.after(pause.saturating_add(time), super::Event::Publishing(Event::Listed(id)));
    }

    /// Reads a page of each shard. Throttled queries are repeated as the SDK does, and then fail the run.
    fn marks_listed(&mut self, id: u32) {
        let Some(mut run) = self.publishing.runs.remove(&id) else { return };
        let unread = std::mem::take(&mut run.unread);
        for shard in unread {
            let from = run.after.get(&shard).map_or(0, |after| after.saturating_add(1));
            let due = self.publishing.due(shard);
            let page = due.map(|due| due.range(from..).take(PAGE_ITEMS).copied().collect::<Vec<u32>>());
            let page = page.unwrap_or_default();
            let units = u64::try_from(page.len().div_ceil(ENTRIES_PER_READ_UNIT).max(1)).unwrap_or(1);
            if !self.table.read_index(self.now, Index::Due, partition_key(Kind::DuePublish, shard), units) {
                self.counts.reads_throttled = self.counts.reads_throttled.saturating_add(1);
                run.unread.push(shard);
            } else if run.shard.is_none() {
                if let Some(last) = page.last() {
                    run.after.insert(shard, *last);
                }
                run.left.extend(page);
            }
        }
        run.reads = run.reads.saturating_add(1);
        if !run.unread.is_empty() {
            if let Some(pause) = read_backoff(run.reads, &mut self.chance) {
                self.list_marks(id, &run, pause);
                self.publishing.runs.insert(id, run);
                return;
            }
            run.failed = std::mem::take(&mut run.left);
            run.ends_at = self.now;
        }
        self.publishing.runs.insert(id, run);
        self.next_batches(id);
    }

    /// Begins batches until four are open; ends the run when none is left.
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
            self.after(time, super::Event::Publishing(Event::Sent(id, batch, 0)));
        }
        if self.publishing.runs.get(&id).is_some_and(|run| run.batches_open == 0) {
            self.end_batches(id);
        }
    }

    /// A tick's run reads the next pages; a run of records ends.
    fn end_batches(&mut self, id: u32) {
        let Some(mut run) = self.publishing.runs.remove(&id) else { return };
        if let Some(shard) = run.shard {
            let next = self.publishing.stream.end(shard, &run.failed, self.now, &mut self.chance);
            if let Some(at) = next {
                self.after(at.saturating_sub(self.now), super::Event::Publishing(Event::Wake(shard)));
            }
            return;
        }
        let has_more = |(shard, due): (u32, &BTreeSet<u32>)| {
            let from = run.after.get(&shard).map_or(0, |after| after.saturating_add(1));
            due.range(from..).next().map(|_| shard)
        };
        run.unread = (0_u32..).zip(&self.publishing.due).filter_map(has_more).collect();
        if !run.unread.is_empty() && self.now < run.ends_at {
            run.reads = 0;
            self.list_marks(id, &run, 0);
            self.publishing.runs.insert(id, run);
        }
    }

    /// The time to read so many accounts at once, and to send their events in one call.
    fn time_to_send(&mut self, accounts: usize) -> Micros {
        let read = self.read.longest_of(accounts, &mut self.chance);
        read.saturating_add(send_latency().draw(&mut self.chance))
    }

    /// Moves the marks of the entries that no other run has moved.
    fn move_marks(&mut self, id: u32, mut batch: Vec<u32>, retries: u32) {
        let is_due = |payment: Payment| self.table.get(journal_entry(payment.customer, payment.id)) == Some(0);
        batch.retain(|id| self.payment(*id).is_some_and(|request| is_due(request.payment)));
        let (time, answer) =
            if batch.is_empty() { (0, Ok(())) } else { self.send_of_worker(Worker::Publishing, &self.moves(&batch)) };
        self.after(time, super::Event::Publishing(Event::Moved(id, batch, retries, answer)));
    }

    fn moves(&self, batch: &[u32]) -> Transaction {
        let payments = batch.iter().filter_map(|id| self.payment(*id)).map(|request| request.payment);
        let moved = payments.map(|payment| {
            let entries = vec![
                entry(Index::Due, Kind::DuePublish, payment.tenant_shard),
                entry(Index::Due, Kind::DueSeal, payment.tenant_shard),
            ];
            replace(journal_entry(payment.customer, payment.id), Some(0), 1, entries)
        });
        of_worker(moved.collect())
    }

    fn moved(&mut self, id: u32, batch: Vec<u32>, retries: u32, answer: Answer) {
        match answer {
            Err(Verdict::Conflict) if retries < CONFLICT_RETRIES => {
                let pause = backoff(retries, &mut self.chance);
                self.after(pause, super::Event::Publishing(Event::Sent(id, batch, retries.saturating_add(1))));
                return;
            }
            Err(_) => {
                if let Some(run) = self.publishing.runs.get_mut(&id) {
                    run.failed.extend(batch);
                }
            }
            Ok(()) => {
                self.table.commit(&self.moves(&batch));
                let moved = batch.iter().filter_map(|id| self.payment(*id));
                let moved: Vec<(Payment, Micros)> =
                    moved.map(|request| (request.payment, request.committed.unwrap_or(self.now))).collect();
                for (payment, committed) in moved {
                    if let Some(due) = self.publishing.due(payment.tenant_shard) {
                        due.remove(&payment.id);
                    }
                    self.counts.publishing_lags.push(self.now.saturating_sub(committed));
                    self.add_unsealed(&payment);
                }
            }
        }
        if let Some(run) = self.publishing.runs.get_mut(&id) {
            run.batches_open = run.batches_open.saturating_sub(1);
        }
        self.next_batches(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_source_has;

    #[test]
    fn worker_has_the_ledgers_limits() {
        let run = "crates/ledger-runtime/src/publishing.rs";
        assert_source_has(run, &format!("RUN_TIME_MAX: Duration = Duration::from_secs({});", RUN_TIME_MAX / SECOND));
        assert_source_has(run, &format!("CONCURRENCY: usize = {CONCURRENCY};"));
        let sink = "crates/ledger-runtime/src/publishing/sink.rs";
        assert_source_has(sink, &format!("BATCH_ITEMS: usize = {BATCH_ITEMS};"));
        let sweep = "crates/ledger-runtime/src/publishing/sweep.rs";
        assert_source_has(sweep, &format!("PAGE_ITEMS: usize = {PAGE_ITEMS};"));
    }
}
