//! The publisher, as `ledger_runtime::publishing` has it for stream records.
//!
//! A run lists the due entries of all shards, and then sends batches of ten accounts' events, four at once; after each
//! it moves the entries' marks from publishing to sealing. The tick's sweep is left out: failed records are repeated.

use super::stream::Stream;
use super::{Answer, Simulation, of_worker};
use crate::chance::Micros;
use crate::designs::{Kind, Payment, entry, journal_entry, partition_key, replace};
use crate::model::limits::send_latency;
use crate::model::table::{Index, Transaction};
use crate::policy::{CONFLICT_RETRIES, Verdict, backoff};
use std::collections::BTreeMap;

/// `publishing::BATCH_ITEMS`.
const BATCH_ITEMS: usize = 10;
/// `publishing::CONCURRENCY`.
const CONCURRENCY: usize = 4;
/// `publishing::sweep::PAGE_ITEMS`.
const PAGE_ITEMS: u64 = 100;
/// Index entries of up to 1 KB that one read unit of an eventually consistent query covers.
const ENTRIES_PER_READ_UNIT: u64 = 8;

pub(super) enum Event {
    /// A stream shard has records.
    Wake(usize),
    /// A run's queries of the index are answered.
    Listed(u32),
    /// A batch's events are sent, or its transaction is to be sent again.
    Sent(u32, Vec<u32>, u32),
    /// A batch's transaction is answered.
    Moved(u32, Vec<u32>, u32, Answer),
}

struct Run {
    shard: usize,
    records: Vec<u32>,
    /// Records that are in no batch yet, from the end.
    left: Vec<u32>,
    batches_open: usize,
    failed: Vec<u32>,
}

pub(super) struct Publishing {
    stream: Stream,
    runs: BTreeMap<u32, Run>,
    next_run: u32,
    /// How many entries of each shard of the index are due.
    due: Vec<u64>,
}

impl Publishing {
    pub(super) fn new(tenant_shards: u32, stream_shards: usize) -> Self {
        let due = (0..tenant_shards.max(1)).map(|_| 0).collect();
        Self { stream: Stream::new(stream_shards, 0), runs: BTreeMap::new(), next_run: 0, due }
    }

    fn due(&mut self, shard: u32) -> Option<&mut u64> {
        self.due.get_mut(usize::try_from(shard).unwrap_or(usize::MAX))
    }
}

impl Simulation {
    /// A committed payment's journal entry is in the index and in the stream.
    pub(super) fn to_publish(&mut self, payment: &Payment) {
        if let Some(due) = self.publishing.due(payment.tenant_shard) {
            *due = due.saturating_add(1);
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
                if let Some(records) = self.publishing.stream.take(shard, self.now) {
                    self.start_publishing(shard, records);
                }
            }
            Event::Listed(id) => self.marks_listed(id),
            Event::Sent(id, batch, retries) => {
                let (time, answer) = self.send_of_worker(&self.moves(&batch));
                self.after(time, super::Event::Publishing(Event::Moved(id, batch, retries, answer)));
            }
            Event::Moved(id, batch, retries, answer) => self.moved(id, batch, retries, answer),
        }
    }

    fn start_publishing(&mut self, shard: usize, records: Vec<u32>) {
        let id = self.publishing.next_run;
        self.publishing.next_run = id.saturating_add(1);
        let left = records.iter().rev().copied().collect();
        self.publishing.runs.insert(id, Run { shard, records, left, batches_open: 0, failed: Vec::new() });
        let time = self.read.longest_of(self.publishing.due.len(), &mut self.chance);
        self.after(time, super::Event::Publishing(Event::Listed(id)));
    }

    /// The first page of every shard is read: a throttled one fails the run.
    fn marks_listed(&mut self, id: u32) {
        let mut is_read = true;
        let pages: Vec<u64> = self.publishing.due.iter().map(|due| (*due).min(PAGE_ITEMS)).collect();
        for (shard, entries) in (0_u32..).zip(pages) {
            let units = entries.div_ceil(ENTRIES_PER_READ_UNIT).max(1);
            is_read &= self.table.read_index(self.now, Index::Due, partition_key(Kind::DuePublish, shard), units);
        }
        let Some(run) = self.publishing.runs.get_mut(&id) else { return };
        if !is_read {
            run.failed = std::mem::take(&mut run.left);
            self.counts.reads_throttled = self.counts.reads_throttled.saturating_add(1);
        }
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
        let is_done = self.publishing.runs.get(&id).is_some_and(|run| run.batches_open == 0);
        if is_done && let Some(run) = self.publishing.runs.remove(&id) {
            debug_assert!(run.failed.len() <= run.records.len(), "more failed than there were");
            let next = self.publishing.stream.end(run.shard, &run.failed, self.now, &mut self.chance);
            if let Some(at) = next {
                self.after(at.saturating_sub(self.now), super::Event::Publishing(Event::Wake(run.shard)));
            }
        }
    }

    /// The time to read so many accounts at once, and to send their events in one call.
    fn time_to_send(&mut self, accounts: usize) -> Micros {
        let read = self.read.longest_of(accounts, &mut self.chance);
        read.saturating_add(send_latency().draw(&mut self.chance))
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
                for payment in batch.iter().filter_map(|id| self.payment(*id)).map(|it| it.payment).collect::<Vec<_>>()
                {
                    if let Some(due) = self.publishing.due(payment.tenant_shard) {
                        *due = due.saturating_sub(1);
                    }
                    self.counts.published = self.counts.published.saturating_add(1);
                    self.to_seal(&payment);
                }
            }
        }
        if let Some(run) = self.publishing.runs.get_mut(&id) {
            run.batches_open = run.batches_open.saturating_sub(1);
        }
        self.next_batches(id);
    }
}
