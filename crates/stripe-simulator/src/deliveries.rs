//! Deliveries of events to the webhook: signed, retried until accepted, and controlled by tests.
//!
//! Events are delivered one at a time, in the order of creation unless a caller asks for another order.

use crate::events::{Attempt, Event};
use crate::shared::Shared;
use crate::signature;
use crate::store::Caller;
use serde_json::Value;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The delay after the first failure. Stripe retries over hours and days, which is too slow here.
const BACKOFF_FIRST: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// The maximum number of attempts, which takes about half an hour.
const ATTEMPTS_MAX: u32 = 64;
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);
/// The number of attempts that are recorded.
const ATTEMPTS_KEPT: usize = 1000;
const BACKOFF_DOUBLINGS_MAX: u32 = 8;

/// How to deliver one event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// The number of further deliveries with the same event id.
    pub repeats: u32,
    /// Whether to deliver it as another event object about the same fact, with a new id.
    pub as_another_event: bool,
    /// The signed time in Unix seconds; the current time if absent.
    pub signed_at_s: Option<i64>,
}

/// The order in which waiting events are delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// In the order of creation.
    Created,
    /// In the reverse order of creation.
    Reversed,
    /// These events, in this order.
    Given(Vec<String>),
    /// In random order. The same seed gives the same order.
    Shuffled(u64),
}

/// Why an event could not be delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// There is no such event.
    #[error("there is no event {0}")]
    NoSuchEvent(String),
    /// No webhook URL is set.
    #[error("no webhook URL is set")]
    NoWebhook,
}

enum Step {
    Deliver(String),
    Wait(Option<Instant>),
}

/// Delivers due events until the simulator is dropped.
pub(crate) async fn work(shared: Weak<Shared>, mut changes: watch::Receiver<u64>) {
    loop {
        let Some(strong) = shared.upgrade() else { return };
        // INVARIANT: marked as seen before the queue is read, so that a later change wakes this task up.
        changes.borrow_and_update();
        let step = next_step(&strong);
        match step {
            Step::Deliver(event) => {
                // The event exists: events are removed only when the simulator starts.
                let _ = deliver(&strong, &event, None).await;
            }
            Step::Wait(until) => {
                drop(strong);
                if !wait(&mut changes, until).await {
                    return;
                }
            }
        }
    }
}

/// Delivers one event once, whether or not it is waiting, and records the attempt.
pub(crate) async fn deliver(
    shared: &Arc<Shared>,
    event: &str,
    signed_at_s: Option<i64>,
) -> Result<Attempt, DeliveryError> {
    let (url, event_type, body) = {
        let inner = shared.lock();
        let event = inner.state.events.get(event).ok_or_else(|| DeliveryError::NoSuchEvent(event.to_owned()))?;
        let url = inner.webhook_url.clone().ok_or(DeliveryError::NoWebhook)?;
        (url, event.kind.clone(), event.json_with(1).to_string())
    };
    let status = post(shared, &url, signed_at_s, body).await;
    let attempt = Attempt { event_id: event.to_owned(), event_type, status };
    tracing::debug!(event = %attempt.event_id, kind = %attempt.event_type, status, "stripe delivery");
    record_attempt(shared, &attempt);
    Ok(attempt)
}

/// Records the same fact as another event, as Stripe sometimes does.
pub(crate) fn duplicate(shared: &Shared, event: &str) -> Result<String, DeliveryError> {
    shared.change(Caller::default(), |change| {
        let original = change.state.events.get(event).cloned();
        let original = original.ok_or_else(|| DeliveryError::NoSuchEvent(event.to_owned()))?;
        let id = change.fresh("evt");
        change.state.events.insert(Event { id: id.clone(), ..original });
        Ok(id)
    })
}

/// The ids of the waiting events in an order.
pub(crate) fn waiting_in(shared: &Shared, order: &DeliveryOrder) -> Vec<String> {
    let waiting =
        || -> Vec<String> { shared.lock().state.pending.iter().map(|pending| pending.event.clone()).collect() };
    match order {
        DeliveryOrder::Created => waiting(),
        DeliveryOrder::Reversed => waiting().into_iter().rev().collect(),
        DeliveryOrder::Given(events) => events.clone(),
        DeliveryOrder::Shuffled(seed) => shuffled(waiting(), *seed),
    }
}

/// The signature header and the body of a delivery.
pub(crate) fn signed(shared: &Shared, event: &Value, signed_at_s: Option<i64>) -> (String, String) {
    let body = event.to_string();
    let signed_at_s = signed_at_s.unwrap_or_else(|| shared.now_s());
    (signature::header(&shared.webhook_secrets, signed_at_s, &body), body)
}

async fn post(shared: &Shared, url: &str, signed_at_s: Option<i64>, body: String) -> Option<u16> {
    let signed_at_s = signed_at_s.unwrap_or_else(|| shared.now_s());
    let signature = signature::header(&shared.webhook_secrets, signed_at_s, &body);
    let request = shared
        .http
        .post(url)
        .header("content-type", "application/json; charset=utf-8")
        .header("user-agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
        .header("stripe-signature", signature)
        .timeout(ATTEMPT_TIMEOUT)
        .body(body);
    match request.send().await {
        Ok(response) => Some(response.status().as_u16()),
        Err(error) => {
            tracing::debug!(%error, "the webhook did not answer");
            None
        }
    }
}

fn record_attempt(shared: &Shared, attempt: &Attempt) {
    shared.update(|inner| {
        if inner.attempts.len() >= ATTEMPTS_KEPT {
            inner.attempts.pop_front();
        }
        inner.attempts.push_back(attempt.clone());
        let pending = &mut inner.state.pending;
        if attempt.taken() {
            pending.retain(|pending| pending.event != attempt.event_id);
            return;
        }
        if let Some(pending) = pending.iter_mut().find(|pending| pending.event == attempt.event_id) {
            pending.attempts = pending.attempts.saturating_add(1);
            pending.due = Instant::now().checked_add(backoff(pending.attempts));
        }
        // An event that is never accepted is given up; it stays in the list of events.
        pending.retain(|pending| {
            let kept = pending.attempts < ATTEMPTS_MAX;
            if !kept {
                tracing::warn!(event = %pending.event, "given up: the webhook did not take this event");
            }
            kept
        });
    });
}

fn next_step(shared: &Shared) -> Step {
    let inner = shared.lock();
    if inner.paused || inner.webhook_url.is_none() {
        return Step::Wait(None);
    }
    let now = Instant::now();
    let due = inner.state.pending.iter().find(|pending| pending.due.is_none_or(|due| due <= now));
    match due {
        Some(pending) => Step::Deliver(pending.event.clone()),
        None => Step::Wait(inner.state.pending.iter().filter_map(|pending| pending.due).min()),
    }
}

/// Waits for a change or a time; false if the sender of changes was dropped.
async fn wait(changes: &mut watch::Receiver<u64>, until: Option<Instant>) -> bool {
    let Some(until) = until else { return changes.changed().await.is_ok() };
    tokio::select! {
        changed = changes.changed() => changed.is_ok(),
        () = tokio::time::sleep_until(until) => true,
    }
}

fn backoff(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(BACKOFF_DOUBLINGS_MAX);
    BACKOFF_FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(BACKOFF_MAX)
}

/// Shuffles with Fisher-Yates and random numbers of SplitMix64.
fn shuffled(mut events: Vec<String>, seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut left = events.len();
    while left > 1 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut dice = state;
        dice = (dice ^ (dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        dice = (dice ^ (dice >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        dice ^= dice >> 31;
        let bound = u64::try_from(left).unwrap_or(u64::MAX);
        let other = usize::try_from(dice.checked_rem(bound).unwrap_or_default()).unwrap_or_default();
        left = left.saturating_sub(1);
        events.swap(left, other);
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_its_maximum() {
        let millis: Vec<u128> = [1, 2, 3, 7, 8, 60].map(|attempts| backoff(attempts).as_millis()).to_vec();
        assert_eq!(millis, [500, 1000, 2000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn same_seed_gives_the_same_order() {
        let events: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let once = shuffled(events.clone(), 7);
        assert_eq!(once, shuffled(events.clone(), 7));
        assert_ne!(once, events);
        assert_ne!(once, shuffled(events.clone(), 8));
        let mut sorted: Vec<u32> = once.iter().map(|text| text.parse().unwrap()).collect();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<u32>>());
    }
}
