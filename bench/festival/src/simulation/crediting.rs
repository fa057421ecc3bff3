//! The crediting worker, as `ledger_runtime::crediting` has it.
//!
//! Stream records and a tick each minute start runs. Each takes the merchant's lease, credits up to 98 records a
//! transaction, at most 50 transactions, and releases the lease. A run that finds it taken tries again for about a
//! second, if records started it, and leaves them to the holder or the next tick.

use super::stream::Stream;
use super::{Answer, Simulation, Worker, of_worker};
use crate::chance::{Micros, SECOND};
use crate::designs::{self, Design, Kind, Payment, entry, partition_key};
use crate::model::table::{Index, Transaction};
use crate::policy::{CONFLICT_RETRIES, Verdict, backoff, read_backoff};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// `CREDITING_LEASE`.
const LEASE: Micros = 30 * SECOND;
/// `MAX_ITEMS`: the actions of a transaction. Two of a batch are the lease's and the balance's.
const MAX_ITEMS: usize = 100;
/// `crediting::held::PAGE_ITEMS`.
const PAGE_ITEMS: usize = 200;
/// `crediting::held::BATCHES_MAX`.
const BATCHES_MAX: u32 = 50;
/// `crediting::RUN_TIME_MAX`.
const RUN_TIME_MAX: Micros = 40 * SECOND;
/// `crediting::TAKE_TRIES`, of a run that records started; a tick tries once.
const TAKE_TRIES: u32 = 5;
/// `MaximumBatchingWindowInSeconds` of `CreditingStream`.
const WINDOW: Micros = SECOND;
/// The ticks: `rate(1 minute)`; the first comes in the middle of the first minute.
const TICK: Micros = 60 * SECOND;
/// Index entries that one read unit of an eventually consistent query covers: a payment's has about 680 bytes.
const ENTRIES_PER_READ_UNIT: usize = 12;

pub(super) enum Event {
    /// A stream shard has records.
    Wake(usize),
    Tick,
    /// A run's query of the index is answered.
    Listed(u32),
    /// A run's read of the lease is answered.
    LeaseRead(u32),
    /// A run's transaction is to be sent again.
    Again(u32),
    /// A run's transaction is answered.
    Written(u32, Answer),
}

/// What a run's transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Take,
    Batch,
    Release,
}

struct Run {
    /// The stream shard whose records started it, and these.
    from: Option<(usize, Vec<u32>)>,
    waiting: VecDeque<u32>,
    seen: BTreeSet<u32>,
    /// Shards that are not listed to their end, the current one last.
    shards: Vec<u32>,
    after: Option<u32>,
    tries: u32,
    /// The lease as this run wrote it last; `None` before it holds it.
    lease: Option<i64>,
    sent: Option<(Write, Transaction)>,
    retries: u32,
    /// Attempts of the current query that were throttled.
    reads: u32,
    batches: u32,
    ends_at: Micros,
    has_failed: bool,
}

pub(super) struct Crediting {
    stream: Stream,
    runs: BTreeMap<u32, Run>,
    next_run: u32,
    /// The index `due`: uncredited payments by shard. It is listed without delay.
    due: Vec<BTreeSet<u32>>,
    uncredited: u64,
}

impl Crediting {
    pub(super) fn new(merchant_shards: u32, stream_shards: usize, placement: u64) -> Self {
        Self {
            stream: Stream::new(stream_shards, placement, WINDOW),
            runs: BTreeMap::new(),
            next_run: 0,
            due: (0..merchant_shards.max(1)).map(|_| BTreeSet::new()).collect(),
            uncredited: 0,
        }
    }

    /// Payments whose merchant is not credited with them.
    pub(super) fn uncredited(&self) -> u64 {
        self.uncredited
    }

    fn shard(&mut self, shard: u32) -> Option<&mut BTreeSet<u32>> {
        self.due.get_mut(usize::try_from(shard).unwrap_or(usize::MAX))
    }
}

/// The number of the item `CREDITING`: fencing token and end of the lease.
fn lease(fence: i64, until: Micros) -> i64 {
    (fence << 42) | i64::try_from(until).unwrap_or(i64::MAX)
}

fn lease_until(lease: i64) -> Micros {
    Micros::try_from(lease & ((1 << 42) - 1)).unwrap_or(Micros::MAX)
}

impl Simulation {
    pub(super) fn begin_crediting(&mut self) {
        if self.setup.design == Design::Credited {
            self.after(TICK / 2, super::Event::Crediting(Event::Tick));
        }
    }

    /// A committed payment is in the index and in the stream.
    pub(super) fn add_uncredited(&mut self, payment: &Payment) {
        if self.setup.design != Design::Credited {
            return;
        }
        self.crediting.uncredited = self.crediting.uncredited.saturating_add(1);
        self.counts.uncredited_max = self.counts.uncredited_max.max(self.crediting.uncredited);
        if let Some(shard) = self.crediting.shard(payment.merchant_shard) {
            shard.insert(payment.id);
        }
        let pk = partition_key(Kind::Payment, payment.id);
        let woken = self.crediting.stream.add(pk, payment.id, self.now, &mut self.chance);
        if let Some((shard, at)) = woken {
            self.after(at.saturating_sub(self.now), super::Event::Crediting(Event::Wake(shard)));
        }
    }

    pub(super) fn handle_crediting(&mut self, event: Event) {
        match event {
            Event::Wake(shard) => {
                if let Some(records) = self.crediting.stream.take(shard, self.now) {
                    self.start_crediting(Some((shard, records)));
                }
            }
            Event::Tick => {
                self.start_crediting(None);
                self.after(TICK, super::Event::Crediting(Event::Tick));
            }
            Event::Listed(id) => self.with_run(id, Self::listed),
            Event::LeaseRead(id) => self.with_run(id, Self::lease_read),
            Event::Again(id) => self.with_run(id, Self::resend),
            Event::Written(id, answer) => self.with_run(id, |this, id, run| this.written(id, run, answer)),
        }
    }

    /// Lets a run go on. A step returns whether the run goes on after it.
    fn with_run(&mut self, id: u32, step: impl FnOnce(&mut Self, u32, &mut Run) -> bool) {
        let Some(mut run) = self.crediting.runs.remove(&id) else { return };
        if step(self, id, &mut run) {
            self.crediting.runs.insert(id, run);
        } else {
            self.end_run(&run);
        }
    }

    fn start_crediting(&mut self, from: Option<(usize, Vec<u32>)>) {
        let id = self.crediting.next_run;
        self.crediting.next_run = id.saturating_add(1);
        let records = from.iter().flat_map(|(_, records)| records.iter().copied());
        let run = Run {
            waiting: records.clone().collect(),
            seen: records.collect(),
            from,
            shards: (0..self.setup.merchant_shards).rev().collect(),
            after: None,
            tries: 0,
            lease: None,
            sent: None,
            retries: 0,
            reads: 0,
            batches: 0,
            ends_at: self.now.saturating_add(RUN_TIME_MAX),
            has_failed: false,
        };
        self.counts.crediting_runs = self.counts.crediting_runs.saturating_add(1);
        self.crediting.runs.insert(id, run);
        self.with_run(id, |this, id, run| this.fill(id, run, 1));
    }

    fn end_run(&mut self, run: &Run) {
        let Some((shard, records)) = &run.from else { return };
        let failed: &[u32] = if run.has_failed { records } else { &[] };
        let next = self.crediting.stream.end(*shard, failed, self.now, &mut self.chance);
        if let Some(at) = next {
            self.after(at.saturating_sub(self.now), super::Event::Crediting(Event::Wake(*shard)));
        }
    }

    /// Lists until so many records wait or all shards are listed, and goes on.
    fn fill(&mut self, id: u32, run: &mut Run, wanted: usize) -> bool {
        if run.waiting.len() < wanted && !run.shards.is_empty() {
            let time = self.read.draw(&mut self.chance);
            self.after(time, super::Event::Crediting(Event::Listed(id)));
            return true;
        }
        if run.lease.is_some() { self.send_batch(id, run) } else { self.read_lease(id, run, 0) }
    }

    fn listed(&mut self, id: u32, run: &mut Run) -> bool {
        let Some(shard) = run.shards.last().copied() else { return false };
        let from = run.after.map_or(0, |after| after.saturating_add(1));
        let listed = self.crediting.shard(shard).map(|due| due.range(from..).take(PAGE_ITEMS).copied().collect());
        let page: Vec<u32> = listed.unwrap_or_default();
        let units = u64::try_from(page.len().div_ceil(ENTRIES_PER_READ_UNIT).max(1)).unwrap_or(1);
        if !self.table.read_index(self.now, Index::Due, partition_key(Kind::DueCredit, shard), units) {
            self.counts.reads_throttled = self.counts.reads_throttled.saturating_add(1);
            run.reads = run.reads.saturating_add(1);
            let Some(pause) = read_backoff(run.reads, &mut self.chance) else {
                run.has_failed = true;
                return self.release(id, run);
            };
            let time = pause.saturating_add(self.read.draw(&mut self.chance));
            self.after(time, super::Event::Crediting(Event::Listed(id)));
            return true;
        }
        run.reads = 0;
        match page.last() {
            Some(last) if page.len() >= PAGE_ITEMS => run.after = Some(*last),
            Some(_) | None => {
                run.after = None;
                let _ = run.shards.pop();
            }
        }
        run.waiting.extend(page.into_iter().filter(|record| run.seen.insert(*record)));
        let wanted = if run.lease.is_some() { MAX_ITEMS } else { 1 };
        self.fill(id, run, wanted)
    }

    /// Reads the lease after a pause, if there is anything to credit.
    fn read_lease(&mut self, id: u32, run: &Run, pause: Micros) -> bool {
        if run.waiting.is_empty() {
            return false;
        }
        let time = self.read.draw(&mut self.chance);
        self.after(pause.saturating_add(time), super::Event::Crediting(Event::LeaseRead(id)));
        true
    }

    fn lease_read(&mut self, id: u32, run: &mut Run) -> bool {
        let seen = self.table.get(designs::crediting());
        if seen.is_some_and(|seen| self.now < lease_until(seen)) {
            return self.try_later(id, run);
        }
        let fence = seen.map_or(0, |seen| seen >> 42).saturating_add(1);
        let to = lease(fence, self.now.saturating_add(LEASE));
        let take = designs::replace(designs::crediting(), seen, to, Vec::new());
        self.send_new(id, run, Write::Take, of_worker(vec![take]))
    }

    /// Tries to take the lease again, unless this was the last try.
    fn try_later(&mut self, id: u32, run: &mut Run) -> bool {
        run.tries = run.tries.saturating_add(1);
        let tries_max = if run.from.is_some() { TAKE_TRIES } else { 1 };
        if run.tries >= tries_max {
            self.counts.crediting_left = self.counts.crediting_left.saturating_add(1);
            return false;
        }
        let pause = backoff(run.tries.saturating_sub(1), &mut self.chance);
        self.read_lease(id, run, pause)
    }

    fn send_new(&mut self, id: u32, run: &mut Run, write: Write, transaction: Transaction) -> bool {
        run.retries = 0;
        run.sent = Some((write, transaction));
        self.resend(id, run)
    }

    fn resend(&mut self, id: u32, run: &mut Run) -> bool {
        let Some((_, transaction)) = &run.sent else { return false };
        let (time, answer) = self.send_of_worker(Worker::Crediting, transaction);
        self.after(time, super::Event::Crediting(Event::Written(id, answer)));
        true
    }

    fn written(&mut self, id: u32, run: &mut Run, answer: Answer) -> bool {
        if answer == Err(Verdict::Conflict) && run.retries < CONFLICT_RETRIES {
            let pause = backoff(run.retries, &mut self.chance);
            run.retries = run.retries.saturating_add(1);
            self.after(pause, super::Event::Crediting(Event::Again(id)));
            return true;
        }
        let Some((write, transaction)) = run.sent.take() else { return false };
        if answer.is_ok() {
            self.table.commit(&transaction);
        }
        match (write, answer) {
            (Write::Take, Ok(())) => {
                run.lease = self.table.get(designs::crediting());
                self.next_batch(id, run)
            }
            (Write::Take, Err(Verdict::Rejected(_))) => self.try_later(id, run),
            (Write::Take, Err(Verdict::Throttled | Verdict::Conflict)) => {
                run.has_failed = true;
                false
            }
            (Write::Batch, Ok(())) => {
                run.lease = self.table.get(designs::crediting());
                run.batches = run.batches.saturating_add(1);
                self.credited(run);
                self.next_batch(id, run)
            }
            (Write::Batch, Err(Verdict::Rejected(positions))) => self.batch_rejected(id, run, &positions),
            (Write::Batch, Err(Verdict::Throttled | Verdict::Conflict)) => {
                run.has_failed = true;
                self.release(id, run)
            }
            (Write::Release, _) => false,
        }
    }

    fn next_batch(&mut self, id: u32, run: &mut Run) -> bool {
        let is_over = run.batches > 0 && self.now >= run.ends_at;
        if is_over || run.batches >= BATCHES_MAX {
            return self.release(id, run);
        }
        self.fill(id, run, MAX_ITEMS)
    }

    /// Sends a batch of the first records that wait: one action for each, and two beside them.
    fn send_batch(&mut self, id: u32, run: &mut Run) -> bool {
        let Some(held) = run.lease.filter(|_| !run.waiting.is_empty()) else { return self.release(id, run) };
        let renewed = lease(held >> 42, self.now.saturating_add(LEASE));
        let mut actions = vec![designs::replace(designs::crediting(), Some(held), renewed, Vec::new())];
        let (mut sum, mut records) = (0_i64, Vec::new());
        for payment in run.waiting.iter().take(MAX_ITEMS.saturating_sub(2)).filter_map(|id| self.payment(*id)) {
            let payment = payment.payment;
            sum = sum.saturating_add(payment.amount);
            let entries = vec![entry(Index::Due, Kind::DueCredit, payment.merchant_shard)];
            records.push(designs::replace(designs::payment_record(payment.id), Some(0), 1, entries));
        }
        actions.push(designs::add(designs::merchant_balance(Design::Credited, 0), sum));
        actions.extend(records);
        self.send_new(id, run, Write::Batch, of_worker(actions))
    }

    fn credited(&mut self, run: &mut Run) {
        let count = run.waiting.len().min(MAX_ITEMS.saturating_sub(2));
        for id in run.waiting.drain(..count) {
            let Some(request) = self.payment(id) else { continue };
            let (shard, since) = (request.payment.merchant_shard, request.committed.unwrap_or(self.now));
            self.counts.lags.push(self.now.saturating_sub(since));
            if let Some(due) = self.crediting.shard(shard) {
                due.remove(&id);
            }
            self.crediting.uncredited = self.crediting.uncredited.saturating_sub(1);
        }
        self.counts.credited_until = self.now;
        self.counts.crediting_batches = self.counts.crediting_batches.saturating_add(1);
    }

    /// Drops the records that are credited already, and goes on with the rest.
    fn batch_rejected(&mut self, id: u32, run: &mut Run, positions: &[usize]) -> bool {
        if positions.contains(&0) {
            return self.release(id, run);
        }
        let mut at = 1_usize;
        run.waiting.retain(|_| {
            at = at.saturating_add(1);
            !positions.contains(&at)
        });
        self.counts.crediting_rebuilt = self.counts.crediting_rebuilt.saturating_add(1);
        self.send_batch(id, run)
    }

    fn release(&mut self, id: u32, run: &mut Run) -> bool {
        let Some(held) = run.lease else { return false };
        let to = lease(held >> 42, self.now);
        let release = designs::replace(designs::crediting(), Some(held), to, Vec::new());
        self.send_new(id, run, Write::Release, of_worker(vec![release]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_source_has;

    #[test]
    fn worker_has_the_ledgers_limits() {
        let core = "crates/ledger-core/src/crediting.rs";
        assert_source_has(core, &format!("CREDITING_LEASE: Duration = Duration::from_secs({});", LEASE / SECOND));
        let run = "crates/ledger-runtime/src/crediting.rs";
        assert_source_has(run, &format!("RUN_TIME_MAX: Duration = Duration::from_secs({});", RUN_TIME_MAX / SECOND));
        assert_source_has(run, &format!("TAKE_TRIES: u32 = {TAKE_TRIES};"));
        let held = "crates/ledger-runtime/src/crediting/held.rs";
        assert_source_has(held, &format!("PAGE_ITEMS: usize = {PAGE_ITEMS};"));
        assert_source_has(held, &format!("BATCHES_MAX: usize = {BATCHES_MAX};"));
        let window = WINDOW / SECOND;
        assert_source_has("template.yaml", &format!("MaximumBatchingWindowInSeconds: {window}\n"));
        assert_source_has("template.yaml", "ScheduleExpression: rate(1 minute)");
    }
}
