//! A running simulator: its deliveries and faults, for tests in the same process and for the dev controls.

use crate::clock;
use crate::config::SimulatorConfig;
use crate::deliveries::{self, DeliveryError, DeliveryOptions, DeliveryOrder};
use crate::events::Attempt;
use crate::faults::Fault;
use crate::shared::{Shared, SimulatorError};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A running simulator. Clones share its state.
#[derive(Clone)]
pub struct Simulator(pub(crate) Arc<Shared>);

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Simulator")
    }
}

impl Simulator {
    /// Starts a simulator with the system clock.
    ///
    /// Must be called within a tokio runtime: deliveries run on it until the last clone is dropped.
    ///
    /// # Errors
    /// [`SimulatorError`] if the state file cannot be read, or no HTTP client can be created.
    pub fn start(config: SimulatorConfig) -> Result<Self, SimulatorError> {
        Self::start_with_clock(config, clock::system_now_s)
    }

    /// Starts a simulator whose time is `now_s`, in Unix seconds.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with_clock(
        config: SimulatorConfig,
        now_s: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Result<Self, SimulatorError> {
        let shared = Arc::new(Shared::open(config, Box::new(now_s))?);
        tokio::spawn(deliveries::work(Arc::downgrade(&shared), shared.changes()));
        Ok(Self(shared))
    }

    /// Sets the webhook's URL.
    ///
    /// Events created without one are delivered on request only, as at Stripe without an endpoint.
    pub fn deliver_to(&self, url: Option<String>) {
        self.0.update(|inner| inner.webhook_url = url);
    }

    /// Pauses deliveries: events wait until [`Self::resume_deliveries`].
    pub fn pause_deliveries(&self) {
        self.0.update(|inner| inner.paused = true);
    }

    /// Resumes deliveries, and retries waiting events at once.
    pub fn resume_deliveries(&self) {
        self.0.update(|inner| {
            inner.paused = false;
            inner.state.pending.iter_mut().for_each(|pending| pending.due = None);
        });
    }

    /// The webhook's URL; `None` if there is none.
    #[must_use]
    pub fn webhook_url(&self) -> Option<String> {
        self.0.lock().webhook_url.clone()
    }

    /// Whether deliveries are paused.
    #[must_use]
    pub fn deliveries_paused(&self) -> bool {
        self.0.lock().paused
    }

    /// All events as Stripe renders them, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let inner = self.0.lock();
        let events = inner.state.events.newest_first().rev();
        events.map(|event| event.json_with(inner.state.waiting(&event.id))).collect()
    }

    /// The ids of the waiting events, oldest first.
    #[must_use]
    pub fn waiting_events(&self) -> Vec<String> {
        deliveries::waiting_in(&self.0, &DeliveryOrder::Created)
    }

    /// The latest delivery attempts, oldest first.
    #[must_use]
    pub fn attempts(&self) -> Vec<Attempt> {
        self.0.lock().attempts.iter().cloned().collect()
    }

    /// Delivers one event, even if it was delivered before.
    ///
    /// # Errors
    /// [`DeliveryError`] if there is no such event or no webhook. A refusal by the webhook is not an error.
    pub async fn deliver(&self, event_id: &str) -> Result<Attempt, DeliveryError> {
        deliveries::deliver(&self.0, event_id, None).await
    }

    /// Delivers one event more than once, under another id, or signed at another time.
    ///
    /// # Errors
    /// [`DeliveryError`] if there is no such event or no webhook. A refusal by the webhook is not an error.
    pub async fn deliver_with(&self, event_id: &str, options: &DeliveryOptions) -> Result<Vec<Attempt>, DeliveryError> {
        let event_id =
            if options.as_another_event { deliveries::duplicate(&self.0, event_id)? } else { event_id.to_owned() };
        let mut attempts = Vec::new();
        for _ in 0..=options.repeats {
            attempts.push(deliveries::deliver(&self.0, &event_id, options.signed_at_s).await?);
        }
        Ok(attempts)
    }

    /// Delivers the waiting events, once each and one after the other.
    ///
    /// # Errors
    /// [`DeliveryError`] if there is no webhook, or one of the given events does not exist.
    pub async fn deliver_all(&self, order: &DeliveryOrder) -> Result<Vec<Attempt>, DeliveryError> {
        let mut attempts = Vec::new();
        for event in deliveries::waiting_in(&self.0, order) {
            attempts.push(deliveries::deliver(&self.0, &event, None).await?);
        }
        Ok(attempts)
    }

    /// The `Stripe-Signature` header and the raw body that a delivery of `event` would have.
    #[must_use]
    pub fn signed(&self, event: &Value) -> (String, String) {
        deliveries::signed(&self.0, event, None)
    }

    /// As [`Self::signed`], signed at another time in Unix seconds.
    #[must_use]
    pub fn signed_at(&self, event: &Value, signed_at_s: i64) -> (String, String) {
        deliveries::signed(&self.0, event, Some(signed_at_s))
    }

    /// Waits until no event is waiting: the webhook accepted every event, or there is no webhook.
    pub async fn idle(&self) {
        self.0.until(|inner| inner.webhook_url.is_none() || inner.state.pending.is_empty()).await;
    }

    /// Adds a fault for the next matching API calls. A call gets the oldest fault that matches.
    pub fn inject(&self, fault: Fault) {
        self.0.update(|inner| inner.faults.push(fault));
    }

    /// The faults that are not used up.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.0.lock().faults.clone()
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.0.update(|inner| inner.faults.clear());
    }

    /// Waits until at least `calls` calls are held by [`FaultKind::Held`](crate::FaultKind::Held).
    pub async fn held(&self, calls: usize) {
        self.0.until(|inner| inner.held >= calls).await;
    }

    /// Releases the calls that are held.
    pub fn release_held(&self) {
        self.0.update(|inner| {
            inner.releases = inner.releases.saturating_add(1);
            inner.held = 0;
        });
    }
}
