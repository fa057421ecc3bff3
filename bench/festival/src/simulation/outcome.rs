//! What a run counted, and what follows from it.

use super::Simulation;
use crate::chance::Micros;
use crate::designs::{Design, balance, journal_entry, merchant_balance};
use crate::model::table::{Index, Limit};
use crate::stats::{mean, per_mille, percentile};
use serde::Serialize;

/// How often each limit throttled a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Throttles {
    /// Partitions of the table.
    pub base: u64,
    /// Partitions of the index `by_owner`.
    pub by_owner: u64,
    /// Partitions of the index `due`.
    pub due: u64,
    /// The account's quota for the table.
    pub quota: u64,
}

impl Throttles {
    pub(super) fn add(&mut self, limit: Limit) {
        let count = match limit {
            Limit::Base => &mut self.base,
            Limit::Of(Index::ByOwner) => &mut self.by_owner,
            Limit::Of(Index::Due) => &mut self.due,
            Limit::Quota => &mut self.quota,
        };
        *count = count.saturating_add(1);
    }
}

/// What is counted during a run.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) offered: u64,
    pub(super) applied: u64,
    pub(super) rejected: u64,
    pub(super) refused_after_conflicts: u64,
    pub(super) refused_throttled: u64,
    pub(super) conflicts_between_customers: u64,
    pub(super) conflicts_same_customer: u64,
    pub(super) conflicts_with_workers: u64,
    pub(super) retries: u64,
    pub(super) latencies: Vec<Micros>,
    pub(super) answer_latency_max: Micros,
    pub(super) lags: Vec<Micros>,
    pub(super) credited_until: Micros,
    /// Payments whose merchant is not credited with them.
    pub(super) uncredited: u64,
    pub(super) uncredited_max: u64,
    pub(super) crediting_batches: u64,
    pub(super) worker_conflicts: u64,
    pub(super) worker_throttles: u64,
    pub(super) reads_throttled: u64,
    pub(super) throttles: Throttles,
    pub(super) publishing_lags: Vec<Micros>,
    /// The longest time from a payment to the seal of its entry.
    pub(super) sealing_lag_max: Micros,
    pub(super) sealed: u64,
}

/// The outcome of a run. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The scenario's name.
    pub scenario: String,
    /// The design's name.
    pub design: String,
    /// Payments a second.
    pub rate: u64,
    /// For how long they arrived.
    pub duration: Micros,
    /// Payments that arrived.
    pub offered: u64,
    /// Payments that were applied.
    pub applied: u64,
    /// Payments that the payer could not afford.
    pub rejected: u64,
    /// Refused with 503 `busy` after all retries of a conflict.
    pub refused_after_conflicts: u64,
    /// Refused with 503 `busy` because DynamoDB throttled.
    pub refused_throttled: u64,
    /// Conflicts of a payment with one of another customer.
    pub conflicts_between_customers: u64,
    /// Conflicts of a payment with another of its own customer.
    pub conflicts_same_customer: u64,
    /// Conflicts of a payment with a worker.
    pub conflicts_with_workers: u64,
    /// Retries of payments.
    pub retries: u64,
    /// Retries for each thousand payments.
    pub retries_per_mille: u64,
    /// Latency of the applied payments, at the 50th percentile.
    pub latency_p50: Micros,
    /// At the 99th.
    pub latency_p99: Micros,
    /// At the 99.9th.
    pub latency_p999: Micros,
    /// The longest time to any answer, refusals included.
    pub answer_latency_max: Micros,
    /// From a payment's commit to its merchant's credit: the mean. Zero where the payment itself credits.
    pub lag_mean: Micros,
    /// The longest.
    pub lag_max: Micros,
    /// When the last credit was written, counted from the last arrival.
    pub drained_after: Micros,
    /// The most uncredited payments at once.
    pub uncredited_max: u64,
    /// Uncredited payments at the end of the run.
    pub uncredited: u64,
    /// Transactions that credited: segments of the audit trail.
    pub crediting_batches: u64,
    /// Conflicts of workers' transactions.
    pub worker_conflicts: u64,
    /// Workers' transactions that DynamoDB throttled.
    pub worker_throttles: u64,
    /// Workers' queries of the index that DynamoDB throttled.
    pub reads_throttled: u64,
    /// What throttled, payments and workers together.
    pub throttles: Throttles,
    /// Journal entries published.
    pub published: u64,
    /// From a payment's commit to the publication of its entry: the mean.
    pub publishing_lag_mean: Micros,
    /// The longest.
    pub publishing_lag_max: Micros,
    /// The longest time from a payment to the seal of its entry.
    pub sealing_lag_max: Micros,
    /// Lanes of the audit trail at the end.
    pub lanes: usize,
    /// Journal entries sealed.
    pub sealed: u64,
    /// Partitions of the table, of `by_owner` and of `due` at the end.
    pub partitions: [usize; 3],
    /// Write units of all, for each thousand applied payments.
    pub units_per_mille: u64,
    /// What all customers and the merchant have more or less than all customers began with. Always 0.
    pub money_difference: i64,
}

impl Outcome {
    /// Payments that were refused with 503.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused_after_conflicts.saturating_add(self.refused_throttled)
    }

    /// Conflicts of payments.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self.conflicts_between_customers
            .saturating_add(self.conflicts_same_customer)
            .saturating_add(self.conflicts_with_workers)
    }
}

impl Simulation {
    pub(super) fn outcome(mut self) -> Outcome {
        let money_difference = self.money_difference();
        let counts = &mut self.counts;
        counts.latencies.sort_unstable();
        counts.lags.sort_unstable();
        Outcome {
            scenario: String::new(),
            design: self.setup.design.name(),
            rate: self.setup.rate,
            duration: self.setup.duration,
            offered: counts.offered,
            applied: counts.applied,
            rejected: counts.rejected,
            refused_after_conflicts: counts.refused_after_conflicts,
            refused_throttled: counts.refused_throttled,
            conflicts_between_customers: counts.conflicts_between_customers,
            conflicts_same_customer: counts.conflicts_same_customer,
            conflicts_with_workers: counts.conflicts_with_workers,
            retries: counts.retries,
            retries_per_mille: per_mille(counts.retries, counts.offered),
            latency_p50: percentile(&counts.latencies, 500),
            latency_p99: percentile(&counts.latencies, 990),
            latency_p999: percentile(&counts.latencies, 999),
            answer_latency_max: counts.answer_latency_max,
            lag_mean: mean(&counts.lags),
            lag_max: counts.lags.last().copied().unwrap_or(0),
            drained_after: counts.credited_until.saturating_sub(self.setup.duration),
            uncredited_max: counts.uncredited_max,
            uncredited: counts.uncredited,
            crediting_batches: counts.crediting_batches,
            worker_conflicts: counts.worker_conflicts,
            worker_throttles: counts.worker_throttles,
            reads_throttled: counts.reads_throttled,
            throttles: counts.throttles,
            published: u64::try_from(counts.publishing_lags.len()).unwrap_or(u64::MAX),
            publishing_lag_mean: mean(&counts.publishing_lags),
            publishing_lag_max: counts.publishing_lags.iter().copied().max().unwrap_or(0),
            sealing_lag_max: counts.sealing_lag_max,
            lanes: self.sealing.lanes(),
            sealed: counts.sealed,
            partitions: self.table.partition_counts(),
            units_per_mille: per_mille(self.table.written_units(), counts.applied),
            money_difference,
        }
    }

    /// Customers' balances, merchant's balances and what the merchant is still owed, less what all began with.
    ///
    /// What is owed follows from the journal entries in the table, not from the worker's lists.
    fn money_difference(&self) -> i64 {
        let design = self.setup.design;
        let of_customers = (0..self.setup.customers)
            .map(|customer| self.table.get(balance(customer)).unwrap_or(0).saturating_sub(self.setup.customer_balance));
        let of_merchant = (0..design.balances()).filter_map(|at| self.table.get(merchant_balance(design, at)));
        let owed = self.payments.iter().map(|request| {
            let payment = request.payment;
            let is_unsealed = self.table.get(journal_entry(payment.customer, payment.id)) == Some(0);
            if design == Design::Credited && is_unsealed { payment.amount } else { 0 }
        });
        of_customers.chain(of_merchant).chain(owed).fold(0, i64::saturating_add)
    }
}
