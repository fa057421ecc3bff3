//! The idempotency layer's own share of a payment: claim, fingerprint, marker, replay.

mod layer;
mod marker;
mod report;

pub use report::{json_lines, table};

use crate::connection::Connection;
use crate::inside::{Answered, Inside, Payment};
use crate::prepared::Party;
use crate::stats::Latencies;
use layer::{Layer, LayerTimes};
use ledger_core::keys;
use std::time::Duration;

/// What the layer may take of a request at p99. Shown beside what was measured; no run fails by it.
pub const PROMISED_P99: Duration = Duration::from_millis(15);
/// Payments before the measured ones: caches, connections, memory.
const WARM_UP: u32 = 20;

/// The calls of the store that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Payments, each sent twice.
    pub payments: usize,
    /// The calls of the first requests that contain the marker's key.
    pub of_payments: usize,
    /// The calls of the replays that contain the marker's key.
    pub of_replays: usize,
    /// Other calls: reads of what is cached for a minute, leases of the tenant's rate.
    pub others: usize,
    /// Actions on a marker in the payments' transactions.
    pub markers: usize,
}

/// Everything that is measured.
#[derive(Clone, Debug)]
pub struct Share {
    /// The counts.
    pub calls: Calls,
    /// Whole payments, over the engine.
    pub payments: Latencies,
    /// Their time in our code.
    pub payments_in_our_code: Latencies,
    /// Whole replays, over the engine.
    pub replays: Latencies,
    /// Their time in our code.
    pub replays_in_our_code: Latencies,
    /// The layer's functions, without a store.
    pub layer: LayerLatencies,
    /// The engine's call with the marker.
    pub with_marker: Latencies,
    /// The engine's call without it.
    pub without_marker: Latencies,
}

/// The times of the layer's functions.
#[derive(Clone, Debug)]
pub struct LayerLatencies {
    /// The key is read and admitted, and the canonical request made.
    pub claim: Latencies,
    /// The fingerprint alone. The marker's time contains it.
    pub fingerprint: Latencies,
    /// The marker is made, in a transaction of its own, and checked as one.
    pub marker: Latencies,
    /// The marker's expressions are written for the store.
    pub render: Latencies,
    /// What a payment has of these: claim, marker, expressions.
    pub of_payment: Latencies,
    /// What a replay has beside that: the stored marker is read, its fingerprint compared.
    pub verdict: Latencies,
    /// A refusal under a key, stored by a store that answers at once: the whole layer, with a call of the SDK.
    pub alone: Latencies,
    /// The SDK's call of a transaction with one small update, to the same store.
    pub sdk: Latencies,
}

/// Pays `samples` times and repeats each payment, then measures the layer's functions on these requests, and the
/// engine's calls on as many others.
///
/// The last part writes payments without markers: the books are wrong afterwards.
///
/// # Errors
/// If an answer is not what it must be.
pub async fn measure(
    inside: &Inside,
    mut engine: Connection,
    (payers, merchants): (&[Party], &[Party]),
    samples: u32,
) -> Result<Share, String> {
    for _ in 0..WARM_UP {
        inside.pay(&Payment::random(payers, merchants)).await.paid()?;
    }
    let mut calls = Calls::default();
    let (mut payments, mut replays, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..samples {
        let payment = Payment::random(payers, merchants);
        let first = inside.pay(&payment).await;
        first.paid()?;
        let again = inside.pay(&payment).await;
        if !again.replayed || (again.status, &again.body) != (first.status, &first.body) {
            return Err(format!("not a replay of {first:?}: {again:?}"));
        }
        calls.count(&first, &again);
        times.push(layer_times(inside, &payment, &first).await?);
        payments.push((first.took, first.in_our_code()));
        replays.push((again.took, again.in_our_code()));
    }
    let (with_marker, without_marker) = marker::in_store(inside, &mut engine, (payers, merchants), samples).await?;
    let of = |all: &[(Duration, Duration)], at: fn(&(Duration, Duration)) -> Duration| {
        Latencies::new(all.iter().map(at).collect())
    };
    Ok(Share {
        calls,
        payments: of(&payments, |(took, _)| *took),
        payments_in_our_code: of(&payments, |(_, ours)| *ours),
        replays: of(&replays, |(took, _)| *took),
        replays_in_our_code: of(&replays, |(_, ours)| *ours),
        layer: LayerLatencies::of(&times),
        with_marker,
        without_marker,
    })
}

/// The times of the layer's functions for a payment that was made.
async fn layer_times(inside: &Inside, payment: &Payment, first: &Answered) -> Result<LayerTimes, String> {
    let layer = Layer::of(inside, payment, first)?;
    let claim = layer.claim()?;
    let key = keys::marker(&claim.tenant, claim.principal, claim.operation, &claim.key);
    let stored = inside.app.dynamo().get(&key).await.map_err(|error| format!("no marker can be read: {error}"))?;
    let stored = stored.ok_or_else(|| format!("no marker of {payment:?}"))?;
    layer.times(inside, &stored).await
}

impl Calls {
    fn count(&mut self, first: &Answered, again: &Answered) {
        self.payments += 1;
        self.of_payments += first.keyed_calls();
        self.of_replays += again.keyed_calls();
        self.others += first.calls.len() + again.calls.len() - first.keyed_calls() - again.keyed_calls();
        self.markers += first.calls.iter().map(|call| marker::actions(&call.body)).sum::<usize>();
    }

    /// The budgets that are exceeded, in sentences; empty if none is.
    #[must_use]
    pub fn exceeded(&self) -> Vec<String> {
        let budgets = [
            ("calls of the store", self.of_payments),
            ("actions on a marker", self.markers),
            ("calls of the store by their replays", self.of_replays),
        ];
        let exceeded = budgets.into_iter().filter(|(_, count)| *count != self.payments);
        exceeded
            .map(|(what, count)| format!("{} payments made {count} {what}: one each is allowed", self.payments))
            .collect()
    }
}

impl LayerLatencies {
    fn of(times: &[LayerTimes]) -> Self {
        let of = |at: fn(&LayerTimes) -> Duration| Latencies::new(times.iter().map(at).collect());
        Self {
            claim: of(|times| times.claim),
            fingerprint: of(|times| times.fingerprint),
            marker: of(|times| times.marker),
            render: of(|times| times.render),
            of_payment: of(|times| times.claim + times.marker + times.render),
            verdict: of(|times| times.verdict),
            alone: of(|times| times.alone),
            sdk: of(|times| times.sdk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger_tests::http::{Host, Who, World};
    use std::sync::Arc;

    fn party(id: &str, who: &Who) -> Party {
        let Who::Bearer(token) = who else { panic!("no token") };
        Party { id: id.to_owned(), token: token.clone() }
    }

    #[tokio::test]
    async fn layer_adds_one_action_and_no_call() {
        let host = Host::fresh();
        let world = World::with_terms(Arc::clone(&host), "share", |_| {}).await;
        let (customer, merchant) = (world.customer_with("50000").await, world.merchant().await);
        let stack = host.stack();
        let inside = Inside::over(stack.dynamodb_url(), stack.table(), "share").await;
        let engine = Connection::open(stack.dynamodb_url().trim_start_matches("http://").parse().unwrap()).unwrap();
        let (payers, merchants) = ([party(&customer.id, &customer.who)], [party(&merchant.id, &merchant.who)]);
        let share = measure(&inside, engine, (&payers, &merchants), 5).await.unwrap();
        assert_eq!(share.calls.exceeded(), Vec::<String>::new());
        assert_eq!((share.calls.payments, share.payments.count(), share.with_marker.count()), (5, 5, 5));
        let table = table(&share);
        assert!(table.contains("| fingerprint") && table.contains("under 15.00 ms"), "{table}");
        assert_eq!(json_lines(&share).lines().count(), 1);
    }

    #[test]
    fn exceeded_budgets_are_named() {
        let calls = Calls { payments: 2, of_payments: 3, of_replays: 4, others: 9, markers: 2 };
        let [one, other] = calls.exceeded().try_into().unwrap();
        assert_eq!(one, "2 payments made 3 calls of the store: one each is allowed");
        assert!(other.contains("4 calls of the store by their replays"), "{other}");
    }
}
