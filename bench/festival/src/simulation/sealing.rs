//! The worker that publishes and seals, as `ledger_runtime::sealing` has it: a tick each minute, one run at a time, all
//! lanes at once. It sends the events of all that it seals, also of what the stream's worker has sent.
//!
//! In our design a segment's transaction also adds its entries' sum to the merchant's item of the lane. Settlements,
//! which close a merchant's period and make the worker build a segment again, are left out.

use super::{Answer, Simulation, of_worker};
use crate::chance::{Micros, SECOND};
use crate::designs::{
    Design, Kind, LANES_MAX, Payment, add, entry, journal_entry, lane_head, lane_segment, merchant_balance,
    partition_key, replace,
};
use crate::model::table::{Action, Index, Transaction};
use crate::policy::{CONFLICT_RETRIES, Verdict, backoff};
use std::collections::VecDeque;

/// `sealing::RUN_TIME_MAX`.
const RUN_TIME_MAX: Micros = 58 * SECOND;
/// When the first tick comes: entries wait for it.
const FIRST_TICK: Micros = 20 * SECOND;
/// `LANE_RECORDS_MAX` of `ledger_core::sealing::lanes`.
const RECORDS_MAX: usize = 96;
/// `publishing::sweep::PAGE_ITEMS`.
const PAGE_ITEMS: usize = 100;
/// `publishing::sweep::ACCOUNTS_AT_ONCE`.
const ACCOUNTS_AT_ONCE: usize = 160;
/// Index entries that one read unit of an eventually consistent query covers: a journal entry's has about 860 bytes.
const ENTRIES_PER_READ_UNIT: usize = 9;
/// Started KB of a full segment: 95 records of 65 bytes, or 96.
const SEGMENT_KILOBYTES: u64 = 7;
/// The ticks: `rate(1 minute)`; the first comes late in the first minute.
const TICK: Micros = 60 * SECOND;

pub(super) enum Event {
    Tick,
    /// The records of the next segments are read.
    Read,
    /// A lane's transaction is to be sent again.
    Again(usize),
    /// A lane's transaction is answered.
    Written(usize, Answer),
}

pub(super) struct Sealing {
    /// The index `due`: unsealed entries by shard, oldest first.
    due: Vec<VecDeque<u32>>,
    /// Entries that are listed and not read.
    listed: VecDeque<u32>,
    ends_at: Micros,
    /// Whether this run has read the merchant's open period in each lane.
    has_periods: bool,
    lanes: Vec<Lane>,
    /// The number of lanes whose segment is not answered.
    writing: usize,
}

/// A lane, and its entries that are read and not sealed.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<u32>,
    sent: Option<(Transaction, usize)>,
    retries: u32,
    segments: u32,
    /// Whether this run seals nothing more in it.
    is_stopped: bool,
}

impl Sealing {
    pub(super) fn new(tenant_shards: u32, lanes: u32) -> Self {
        let due = (0..tenant_shards.max(1)).map(|_| VecDeque::new()).collect();
        let lanes = (0..lanes.clamp(1, LANES_MAX)).map(|_| Lane::default()).collect();
        Self { due, listed: VecDeque::new(), ends_at: 0, has_periods: false, lanes, writing: 0 }
    }

    /// How many lanes there are.
    pub(super) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    fn is_listed(&self) -> bool {
        self.listed.is_empty() && self.due.iter().all(VecDeque::is_empty)
    }

    /// Doubles the lanes.
    fn raise(&mut self) {
        let most = usize::try_from(LANES_MAX).unwrap_or(usize::MAX);
        let count = self.lanes.len().saturating_mul(2).min(most);
        self.lanes.resize_with(count, Lane::default);
    }
}

impl Simulation {
    pub(super) fn begin_sealing(&mut self) {
        self.after(FIRST_TICK, super::Event::Sealing(Event::Tick));
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
                self.sealing.has_periods = self.setup.design != Design::Credited;
                // What the run before has read and not sealed is listed again.
                let read = self.sealing.lanes.iter_mut().flat_map(|lane| lane.waiting.drain(..));
                let left: Vec<u32> = read.chain(self.sealing.listed.drain(..)).collect();
                for lane in &mut self.sealing.lanes {
                    lane.is_stopped = false;
                }
                for id in left.into_iter().rev() {
                    let shard = self.payment(id).map_or(0, |it| it.payment.tenant_shard);
                    let shard = usize::try_from(shard).unwrap_or(usize::MAX);
                    if let Some(due) = self.sealing.due.get_mut(shard) {
                        due.push_front(id);
                    }
                }
                self.next_segments();
            }
            Event::Read => self.send_segments(),
            Event::Again(lane) => self.resend_segment(lane),
            Event::Written(lane, answer) => self.segment_written(lane, answer),
        }
    }

    /// Publishes what is due, step by step, until each lane may have a full segment.
    fn next_segments(&mut self) {
        if self.now >= self.sealing.ends_at {
            if !self.sealing.is_listed() {
                self.sealing.raise();
            }
            return;
        }
        let lanes = self.sealing.lanes.len();
        let waiting: usize = self.sealing.lanes.iter().map(|lane| lane.waiting.len()).sum();
        let wanted = lanes.saturating_mul(RECORDS_MAX).saturating_sub(waiting);
        let (mut found, mut time) = (Vec::new(), 0);
        // A step is made in any case, so that a run comes to its end beside a lane that is stopped.
        while found.is_empty() || found.len() < wanted {
            if self.sealing.listed.is_empty() {
                time = self.list_marks().saturating_add(time);
            }
            let few = self.sealing.listed.len().min(ACCOUNTS_AT_ONCE);
            if few == 0 {
                break;
            }
            found.extend(self.sealing.listed.drain(..few));
            time = self.time_to_send(few).saturating_add(time);
        }
        self.count_published(&found, self.now.saturating_add(time));
        for id in found {
            let customer = self.payment(id).map_or(0, |it| it.payment.customer);
            let lane = usize::try_from(customer).unwrap_or(0).checked_rem(lanes).unwrap_or(0);
            if let Some(lane) = self.sealing.lanes.get_mut(lane) {
                lane.waiting.push_back(id);
            }
        }
        if self.sealing.lanes.iter().all(|lane| lane.waiting.is_empty()) {
            return;
        }
        if !std::mem::replace(&mut self.sealing.has_periods, true) {
            time = self.read.longest_of(lanes, &mut self.chance).saturating_add(time);
        }
        self.after(time, super::Event::Sealing(Event::Read));
    }

    /// Reads a page of each shard that has entries; returns the time. A shard whose query is throttled is read again by
    /// the next call.
    fn list_marks(&mut self) -> Micros {
        let mut queries = 0_usize;
        for (shard, due) in (0_u32..).zip(&mut self.sealing.due) {
            let page = due.len().min(PAGE_ITEMS);
            let units = u64::try_from(page.div_ceil(ENTRIES_PER_READ_UNIT).max(1)).unwrap_or(1);
            queries = queries.saturating_add(1);
            if self.table.read_index(self.now, Index::Due, partition_key(Kind::DuePublish, shard), units) {
                self.sealing.listed.extend(due.drain(..page));
            } else {
                self.counts.reads_throttled = self.counts.reads_throttled.saturating_add(1);
            }
        }
        self.read.longest_of(queries, &mut self.chance)
    }

    /// Sends the full segments of all lanes, or all that is left once everything is listed.
    fn send_segments(&mut self) {
        let is_last = self.sealing.is_listed();
        for lane in 0..self.sealing.lanes.len() {
            let Some(of) = self.sealing.lanes.get(lane) else { continue };
            let is_ready = of.waiting.len() >= RECORDS_MAX || (is_last && !of.waiting.is_empty());
            if is_ready && !of.is_stopped {
                self.send_segment(lane);
            }
        }
        if self.sealing.writing == 0 && !is_last {
            self.next_segments();
        }
    }

    fn send_segment(&mut self, lane: usize) {
        let Some(of) = self.sealing.lanes.get(lane) else { return };
        // One action is the merchant's, of which all payments are.
        let credits = self.setup.design == Design::Credited;
        let most = RECORDS_MAX.saturating_sub(usize::from(credits));
        let (number, ids) = (of.segments, of.waiting.iter().take(most).copied().collect::<Vec<_>>());
        let head = lane_head(lane);
        let seen = self.table.get(head);
        let segment = replace(lane_segment(lane, number), None, 0, Vec::new());
        let mut actions = vec![
            replace(head, seen, i64::from(number).saturating_add(1), Vec::new()),
            Action { kilobytes: SEGMENT_KILOBYTES, ..segment },
        ];
        let payments = || ids.iter().filter_map(|id| self.payment(*id)).map(|it| it.payment);
        if credits {
            let sum = payments().map(|payment| payment.amount).fold(0, i64::saturating_add);
            let number = u32::try_from(lane).unwrap_or(u32::MAX);
            actions.push(add(merchant_balance(Design::Credited, number), sum));
        }
        actions.extend(payments().map(|payment| {
            let entries = vec![entry(Index::Due, Kind::DuePublish, payment.tenant_shard)];
            replace(journal_entry(payment.customer, payment.id), Some(0), 1, entries)
        }));
        if let Some(of) = self.sealing.lanes.get_mut(lane) {
            of.sent = Some((of_worker(actions), ids.len()));
            of.retries = 0;
            self.sealing.writing = self.sealing.writing.saturating_add(1);
            self.resend_segment(lane);
        }
    }

    fn resend_segment(&mut self, lane: usize) {
        let Some((transaction, count)) = self.sealing.lanes.get_mut(lane).and_then(|of| of.sent.take()) else { return };
        let (time, answer) = self.send_of_worker(&transaction);
        if let Some(of) = self.sealing.lanes.get_mut(lane) {
            of.sent = Some((transaction, count));
        }
        self.after(time, super::Event::Sealing(Event::Written(lane, answer)));
    }

    fn segment_written(&mut self, lane: usize, answer: Answer) {
        let Some(of) = self.sealing.lanes.get_mut(lane) else { return };
        match answer {
            Ok(()) => {
                let Some((transaction, count)) = of.sent.take() else { return };
                let sealed: Vec<u32> = of.waiting.drain(..count).collect();
                of.segments = of.segments.saturating_add(1);
                self.table.commit(&transaction);
                self.counts.sealed = self.counts.sealed.saturating_add(u64::try_from(count).unwrap_or(0));
                let committed = sealed.iter().filter_map(|id| self.payment(*id)?.committed);
                let lag = committed.map(|at| self.now.saturating_sub(at)).max().unwrap_or(0);
                self.counts.sealing_lag_max = self.counts.sealing_lag_max.max(lag);
                if self.setup.design == Design::Credited {
                    self.credited(&sealed);
                }
            }
            Err(Verdict::Conflict) if of.retries < CONFLICT_RETRIES => {
                let pause = backoff(of.retries, &mut self.chance);
                of.retries = of.retries.saturating_add(1);
                return self.after(pause, super::Event::Sealing(Event::Again(lane)));
            }
            // The lane stops; the next tick lists the same records.
            Err(_) => {
                of.sent = None;
                of.is_stopped = true;
            }
        }
        self.sealing.writing = self.sealing.writing.saturating_sub(1);
        if self.sealing.writing == 0 {
            self.next_segments();
        }
    }

    /// Counts the payments that a committed segment has credited.
    fn credited(&mut self, sealed: &[u32]) {
        let committed: Vec<Micros> = sealed.iter().filter_map(|id| self.payment(*id)?.committed).collect();
        self.counts.lags.extend(committed.into_iter().map(|at| self.now.saturating_sub(at)));
        let credited = u64::try_from(sealed.len()).unwrap_or(u64::MAX);
        self.counts.uncredited = self.counts.uncredited.saturating_sub(credited);
        self.counts.credited_until = self.now;
        self.counts.crediting_batches = self.counts.crediting_batches.saturating_add(1);
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
        let sweep = "crates/ledger-runtime/src/publishing/sweep.rs";
        assert_source_has(sweep, &format!("PAGE_ITEMS: usize = {PAGE_ITEMS};"));
        assert_source_has(sweep, &format!("ACCOUNTS_AT_ONCE: usize = {ACCOUNTS_AT_ONCE};"));
        let lanes = "crates/ledger-core/src/sealing/lanes/mod.rs";
        assert_source_has(lanes, &format!("MAX: Self = Self({LANES_MAX});"));
        assert_source_has(lanes, &format!("ITEMS_BESIDE_RECORDS: usize = {};", 98 - RECORDS_MAX));
        let segment = "crates/ledger-core/src/sealing/lanes/segment.rs";
        assert_source_has(segment, "fit.saturating_add(1).saturating_add(merchants.len()) > LANE_RECORDS_MAX");
        assert_source_has("template.yaml", "ScheduleExpression: rate(1 minute)");
    }
}
