//! The sealing worker, as `ledger_runtime::sealing` has it: a tick each minute, one run at a time.

use super::{Answer, Simulation, Worker, of_worker};
use crate::chance::{Micros, SECOND};
use crate::designs::{Kind, Payment, entry, journal_entry, replace, sealing};
use crate::model::table::{Action, Index, Transaction};
use crate::policy::{CONFLICT_RETRIES, Verdict, backoff};
use std::collections::VecDeque;

/// `sealing::RUN_TIME_MAX`.
const RUN_TIME_MAX: Micros = 15 * SECOND;
/// `RECORDS_MAX` of `ledger_core::sealing`.
const RECORDS_MAX: usize = 97;
/// `sealing::read::PAGE_ITEMS`.
const PAGE_ITEMS: usize = 100;
/// Started KB of a full segment: 97 hashes and keys.
const SEGMENT_KILOBYTES: u64 = 17;
/// The ticks: `rate(1 minute)`; the first comes late in the first minute.
const TICK: Micros = 60 * SECOND;

pub(super) enum Event {
    Tick,
    /// The records of a segment are read.
    Read,
    /// A segment's transaction is to be sent again.
    Again,
    /// A segment's transaction is answered.
    Written(Answer),
}

pub(super) struct Sealing {
    /// Published entries by shard, oldest first.
    due: Vec<VecDeque<u32>>,
    ends_at: Micros,
    batch: Vec<u32>,
    sent: Option<Transaction>,
    retries: u32,
    segments: u32,
}

impl Sealing {
    pub(super) fn new(tenant_shards: u32) -> Self {
        let due = (0..tenant_shards.max(1)).map(|_| VecDeque::new()).collect();
        Self { due, ends_at: 0, batch: Vec::new(), sent: None, retries: 0, segments: 0 }
    }
}

impl Simulation {
    pub(super) fn begin_sealing(&mut self) {
        self.after(TICK.saturating_sub(RUN_TIME_MAX), super::Event::Sealing(Event::Tick));
    }

    pub(super) fn add_unsealed(&mut self, payment: &Payment) {
        let shard = usize::try_from(payment.tenant_shard).unwrap_or(usize::MAX);
        if let Some(due) = self.sealing.due.get_mut(shard) {
            due.push_back(payment.id);
        }
    }

    pub(super) fn handle_sealing(&mut self, event: Event) {
        match event {
            Event::Tick => {
                self.after(TICK, super::Event::Sealing(Event::Tick));
                self.sealing.ends_at = self.now.saturating_add(RUN_TIME_MAX);
                self.next_segment();
            }
            Event::Read => self.send_segment(),
            Event::Again => self.resend_segment(),
            Event::Written(answer) => self.segment_written(answer),
        }
    }

    /// Reads the records of the next segment: pages of the index until it is full, each page's records, and the day.
    fn next_segment(&mut self) {
        if self.now >= self.sealing.ends_at {
            return;
        }
        let mut pages = 0_usize;
        for due in &mut self.sealing.due {
            let count = due.len().min(PAGE_ITEMS).min(RECORDS_MAX.saturating_sub(self.sealing.batch.len()));
            self.sealing.batch.extend(due.drain(..count));
            pages = pages.saturating_add(1);
            if self.sealing.batch.len() >= RECORDS_MAX {
                break;
            }
        }
        if self.sealing.batch.is_empty() {
            return;
        }
        let reads = pages.saturating_mul(2).saturating_add(1);
        let time = (0..reads).map(|_| self.read.draw(&mut self.chance)).fold(0, Micros::saturating_add);
        self.after(time, super::Event::Sealing(Event::Read));
    }

    fn send_segment(&mut self) {
        let number = self.sealing.segments;
        let [lease, day, segment] = sealing(number);
        let seen = |key| (key, self.table.get(key), i64::from(number).saturating_add(1));
        let mut actions: Vec<Action> =
            [lease, day].map(seen).into_iter().map(|(key, seen, to)| replace(key, seen, to, Vec::new())).collect();
        actions.push(Action { kilobytes: SEGMENT_KILOBYTES, ..replace(segment, None, 0, Vec::new()) });
        let payments = self.sealing.batch.iter().filter_map(|id| self.payment(*id)).map(|it| it.payment);
        actions.extend(payments.map(|payment| {
            let entries = vec![entry(Index::Due, Kind::DueSeal, payment.tenant_shard)];
            replace(journal_entry(payment.customer, payment.id), Some(1), 2, entries)
        }));
        self.sealing.sent = Some(of_worker(actions));
        self.sealing.retries = 0;
        self.resend_segment();
    }

    fn resend_segment(&mut self) {
        let Some(transaction) = self.sealing.sent.take() else { return };
        let (time, answer) = self.send_of_worker(Worker::Sealing, &transaction);
        self.sealing.sent = Some(transaction);
        self.after(time, super::Event::Sealing(Event::Written(answer)));
    }

    fn segment_written(&mut self, answer: Answer) {
        match answer {
            Ok(()) => {
                let Some(transaction) = self.sealing.sent.take() else { return };
                self.table.commit(&transaction);
                let sealed = u64::try_from(self.sealing.batch.len()).unwrap_or(0);
                self.sealing.batch.clear();
                self.sealing.segments = self.sealing.segments.saturating_add(1);
                self.counts.sealed = self.counts.sealed.saturating_add(sealed);
                self.next_segment();
            }
            Err(Verdict::Conflict) if self.sealing.retries < CONFLICT_RETRIES => {
                let pause = backoff(self.sealing.retries, &mut self.chance);
                self.sealing.retries = self.sealing.retries.saturating_add(1);
                self.after(pause, super::Event::Sealing(Event::Again));
            }
            // The run ends; the next tick takes the same records.
            Err(_) => self.sealing.sent = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_source_has;

    #[test]
    fn worker_has_the_ledgers_limits() {
        let run = "crates/ledger-runtime/src/sealing.rs";
        assert_source_has(run, &format!("RUN_TIME_MAX: Duration = Duration::from_secs({});", RUN_TIME_MAX / SECOND));
        let read = "crates/ledger-runtime/src/sealing/read.rs";
        assert_source_has(read, &format!("PAGE_ITEMS: usize = {PAGE_ITEMS};"));
    }
}
