//! One merchant's payments, and the workers behind them, in simulated time.
//!
//! Payments arrive and are executed as the ledger executes them. Stream records and ticks start the workers, which
//! write the same table. The latency of a payment is the time of its calls of DynamoDB and of the pauses between them.

mod outcome;
mod payments;
mod publishing;
mod sealing;
mod stream;

pub use outcome::Outcome;

use crate::chance::{Chance, Latency, Micros, SECOND};
use crate::designs::{Design, balance, points};
use crate::model::limits::{read_latency, transaction_latency};
use crate::model::table::{Cancelled, Limit, Table, TableSetup, Transaction, Writer};
use crate::policy::{Verdict, classify};
use outcome::Counts;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When payments arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At random, independently of each other.
    Random,
    /// One after the other, at equal distances.
    Even,
}

/// A run of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The design.
    pub design: Design,
    /// Payments a second.
    pub rate: u64,
    /// When they arrive.
    pub arrivals: Arrivals,
    /// For how long they arrive.
    pub duration: Micros,
    /// For how long the workers may go on after that.
    pub drain: Micros,
    /// The customers; each payment is of one at random.
    pub customers: u32,
    /// What each customer has at the start, in yen.
    pub customer_balance: i64,
    /// The latency of transactions, in percent of the published one. They hold their items for as long.
    pub latency_percent: u64,
    /// The shards of the tenant's due index entries.
    pub tenant_shards: u32,
    /// The shards of the merchant's index entries.
    pub merchant_shards: u32,
    /// The lanes that the tenant's audit trail has at the start; each run that falls behind doubles them.
    pub lanes: u32,
    /// The table.
    pub table: TableSetup,
    /// The seed of all randomness.
    pub seed: u64,
}

enum Event {
    Second,
    Arrival,
    Payment(payments::Event),
    Publishing(publishing::Event),
    Sealing(sealing::Event),
}

/// An event in the queue. Events of the same time happen in the order in which they were scheduled.
struct Scheduled {
    at: Micros,
    number: u64,
    event: Event,
}

impl Scheduled {
    fn order(&self) -> (Micros, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

/// The state of a run.
pub struct Simulation {
    setup: Setup,
    now: Micros,
    queue: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    chance: Chance,
    table: Table,
    read: Latency,
    payments: Vec<payments::Request>,
    /// Payments that are not answered yet.
    open: u64,
    publishing: publishing::Publishing,
    sealing: sealing::Sealing,
    counts: Counts,
}

impl Simulation {
    /// Runs a setup to its end. The outcome follows from the setup alone.
    #[must_use]
    pub fn run(setup: Setup) -> Outcome {
        let mut simulation = Self::new(setup);
        simulation.begin();
        while let Some(Reverse(Scheduled { at, event, .. })) = simulation.queue.pop() {
            simulation.now = at;
            simulation.handle(event);
            if simulation.is_over() {
                break;
            }
        }
        simulation.outcome()
    }

    fn new(setup: Setup) -> Self {
        let table = Table::new(&setup.table);
        let stream_shards = table.partition_counts()[0];
        let placement = setup.table.placement;
        let mut simulation = Self {
            setup,
            now: 0,
            queue: BinaryHeap::new(),
            scheduled: 0,
            chance: Chance::new(setup.seed),
            table,
            read: read_latency(),
            payments: Vec::new(),
            open: 0,
            publishing: publishing::Publishing::new(stream_shards, placement),
            sealing: sealing::Sealing::new(setup.tenant_shards, setup.lanes),
            counts: Counts::default(),
        };
        for customer in 0..setup.customers {
            simulation.table.seed(balance(customer), setup.customer_balance);
            simulation.table.seed(points(customer), 0);
        }
        simulation
    }

    fn begin(&mut self) {
        self.after(0, Event::Arrival);
        self.after(SECOND, Event::Second);
        self.begin_sealing();
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Second => {
                self.table.split_hot(self.now);
                self.after(SECOND, Event::Second);
            }
            Event::Arrival => self.arrive(),
            Event::Payment(event) => self.handle_payment(event),
            Event::Publishing(event) => self.handle_publishing(event),
            Event::Sealing(event) => self.handle_sealing(event),
        }
    }

    fn is_over(&self) -> bool {
        let is_late = self.now >= self.setup.duration.saturating_add(self.setup.drain);
        let is_done = self.now > self.setup.duration && self.open == 0 && self.counts.uncredited == 0;
        is_late || is_done
    }

    /// Schedules an event.
    fn after(&mut self, pause: Micros, event: Event) {
        self.scheduled = self.scheduled.saturating_add(1);
        let scheduled = Scheduled { at: self.now.saturating_add(pause), number: self.scheduled, event };
        self.queue.push(Reverse(scheduled));
    }

    /// Sends a transaction. Returns the time until its answer, and what the answer is.
    fn send(&mut self, transaction: &Transaction) -> (Micros, Result<(), Cancelled>) {
        let actions = u64::try_from(transaction.actions.len()).unwrap_or(u64::MAX);
        let latency = transaction_latency(actions).percent(self.setup.latency_percent);
        let time = latency.draw(&mut self.chance);
        (time, self.table.prepare(self.now, transaction))
    }

    /// Sends a worker's transaction and counts what cancels it.
    fn send_of_worker(&mut self, transaction: &Transaction) -> (Micros, Answer) {
        let (time, sent) = self.send(transaction);
        let answer = sent.map_err(|cancelled| {
            let verdict = classify(&cancelled, false);
            match verdict {
                Verdict::Conflict => self.counts.worker_conflicts = self.counts.worker_conflicts.saturating_add(1),
                Verdict::Throttled => self.counts.worker_throttles = self.counts.worker_throttles.saturating_add(1),
                Verdict::Rejected(_) => {}
            }
            self.count_limit(cancelled.limit);
            verdict
        });
        (time, answer)
    }

    fn count_limit(&mut self, limit: Option<Limit>) {
        if let Some(limit) = limit {
            self.counts.throttles.add(limit);
        }
    }
}

/// What a transaction's answer is.
type Answer = Result<(), Verdict>;

/// A worker's transaction.
fn of_worker(actions: Vec<crate::model::table::Action>) -> Transaction {
    Transaction { writer: Writer::Worker, actions }
}

#[cfg(test)]
mod tests;
