//! Requests: one transaction each, retried as the ledger retries it.

use super::{Arrivals, Simulation};
use crate::chance::{Micros, SECOND};
use crate::designs::{Design, Payment};
use crate::model::table::Writer;
use crate::policy::{CONFLICT_RETRIES, Verdict, backoff, classify};

/// The largest amount of a payment, in yen.
const AMOUNT_MAX: u64 = 3_000;

/// What happens to a payment, by its number.
pub(super) enum Event {
    /// Its transaction is sent again.
    Again(u32),
    /// Its transaction is answered.
    Answered(u32, super::Answer),
    /// It is refused: its marker was read and there is none.
    Refused(u32),
}

/// A request to pay.
pub(super) struct Request {
    pub(super) payment: Payment,
    /// When it arrived.
    began: Micros,
    /// The conflicts that were retried.
    retries: u32,
    /// When its transaction was committed.
    pub(super) committed: Option<Micros>,
}

impl Simulation {
    /// A payment arrives, and the next one is scheduled.
    pub(super) fn arrive(&mut self) {
        if self.now >= self.setup.duration {
            return;
        }
        let gap = match self.setup.arrivals {
            Arrivals::Random => self.chance.gap(self.setup.rate),
            Arrivals::Even => SECOND.checked_div(self.setup.rate).unwrap_or(SECOND),
        };
        self.after(gap, super::Event::Arrival);
        let id = u32::try_from(self.payments.len()).unwrap_or(u32::MAX);
        let payment = Payment {
            id,
            customer: self.below(self.setup.customers),
            amount: i64::try_from(self.chance.below(AMOUNT_MAX)).unwrap_or(0).saturating_add(1),
            tenant_shard: self.below(self.setup.tenant_shards),
            merchant_shard: self.below(self.setup.merchant_shards),
            balance: self.below(self.setup.design.balances()),
        };
        self.payments.push(Request { payment, began: self.now, retries: 0, committed: None });
        self.counts.offered = self.counts.offered.saturating_add(1);
        self.open = self.open.saturating_add(1);
        self.attempt(id);
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.chance.below(bound.into())).unwrap_or(0)
    }

    pub(super) fn handle_payment(&mut self, event: Event) {
        match event {
            Event::Again(id) => self.attempt(id),
            Event::Answered(id, answer) => self.answer(id, answer),
            Event::Refused(id) => {
                self.counts.refused_after_conflicts = self.counts.refused_after_conflicts.saturating_add(1);
                self.end(id);
            }
        }
    }

    pub(super) fn payment(&self, id: u32) -> Option<&Request> {
        self.payments.get(usize::try_from(id).unwrap_or(usize::MAX))
    }

    fn payment_mut(&mut self, id: u32) -> Option<&mut Request> {
        self.payments.get_mut(usize::try_from(id).unwrap_or(usize::MAX))
    }

    fn attempt(&mut self, id: u32) {
        let Some(payment) = self.payment(id).map(|request| request.payment) else { return };
        let (time, sent) = self.send(&payment.transaction(self.setup.design));
        let answer = sent.map_err(|cancelled| {
            let verdict = classify(&cancelled, true);
            if verdict == Verdict::Conflict {
                self.count_conflict(payment.customer, cancelled.held_by);
            }
            self.count_limit(cancelled.limit);
            verdict
        });
        self.after(time, super::Event::Payment(Event::Answered(id, answer)));
    }

    fn count_conflict(&mut self, customer: u32, held_by: Option<Writer>) {
        let count = match held_by {
            Some(Writer::Customer(other)) if other == customer => &mut self.counts.conflicts_same_customer,
            Some(Writer::Customer(_)) | None => &mut self.counts.conflicts_between_customers,
            Some(Writer::Worker) => &mut self.counts.conflicts_with_workers,
        };
        *count = count.saturating_add(1);
    }

    fn answer(&mut self, id: u32, answer: super::Answer) {
        match answer {
            Ok(()) => self.applied(id),
            Err(Verdict::Conflict) => {
                let Some(request) = self.payment_mut(id) else { return };
                if request.retries >= CONFLICT_RETRIES {
                    // The marker is read before the refusal: an earlier attempt may have stored a response.
                    let time = self.read.draw(&mut self.chance);
                    self.after(time, super::Event::Payment(Event::Refused(id)));
                    return;
                }
                let retry = request.retries;
                request.retries = retry.saturating_add(1);
                self.counts.retries = self.counts.retries.saturating_add(1);
                let pause = backoff(retry, &mut self.chance);
                self.after(pause, super::Event::Payment(Event::Again(id)));
            }
            Err(Verdict::Throttled) => {
                self.counts.refused_throttled = self.counts.refused_throttled.saturating_add(1);
                self.end(id);
            }
            Err(Verdict::Rejected(_)) => {
                self.counts.rejected = self.counts.rejected.saturating_add(1);
                self.end(id);
            }
        }
    }

    fn applied(&mut self, id: u32) {
        let (now, design) = (self.now, self.setup.design);
        let Some(request) = self.payment_mut(id) else { return };
        request.committed = Some(now);
        let (payment, time) = (request.payment, now.saturating_sub(request.began));
        self.table.commit(&payment.transaction(design));
        self.counts.applied = self.counts.applied.saturating_add(1);
        self.counts.latencies.push(time);
        self.end(id);
        self.add_unpublished(&payment);
        self.add_unsealed(&payment);
        if design == Design::Credited {
            self.counts.uncredited = self.counts.uncredited.saturating_add(1);
            self.counts.uncredited_max = self.counts.uncredited_max.max(self.counts.uncredited);
        }
    }

    fn end(&mut self, id: u32) {
        self.open = self.open.saturating_sub(1);
        if let Some(request) = self.payment(id) {
            let time = self.now.saturating_sub(request.began);
            self.counts.answer_latency_max = self.counts.answer_latency_max.max(time);
        }
    }
}
