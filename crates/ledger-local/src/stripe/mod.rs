//! A simulator of Stripe: its v1 API under `/stripe/v1`, signed deliveries, faults, and dev controls.
//! It keeps Stripe's rules for idempotency, lists, errors and events; no money moves anywhere.

mod api;
mod controls;
mod deliveries;
mod dev;
mod disputes;
mod error;
mod events;
mod expand;
mod faults;
mod forms;
mod idempotency;
mod ids;
mod lists;
mod money;
mod objects;
mod operations;
mod payment_intents;
mod payouts;
mod refunds;
mod shared;
mod signature;
mod statuses;
mod store;
fn access_to(url: &str, api_key: Masked<String>, webhook_secrets: Vec<Masked<String>>) -> StripeConfig {
    StripeConfig { base_url: format!("{url}/stripe"), api_key, webhook_secrets, account: None }
}

#[cfg(test)]
mod tests;

pub use controls::ControlError;
pub use deliveries::{Attempt, DeliveryError, DeliveryOptions, DeliveryOrder};
pub use faults::{Fault, FaultKind};
pub use statuses::RefundStatus;

use axum::Router;
use ledger_core::personal::Masked;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::StripeConfig;
use serde_json::Value;
use shared::Shared;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The simulator's API key when nobody says otherwise.
pub const API_KEY_DEFAULT: &str = "sk_test_local";
/// The simulator's webhook secret when nobody says otherwise.
pub const WEBHOOK_SECRET_DEFAULT: &str = "whsec_local";

/// What to start.
#[derive(Clone)]
pub struct SimulatorConfig {
    /// The only key that the API takes.
    pub api_key: String,
    /// Deliveries carry a signature for each, as while a secret is rolled.
    pub webhook_secrets: Vec<String>,
    /// Where the state outlives a restart; nowhere when absent.
    pub state_file: Option<PathBuf>,
}

impl Default for SimulatorConfig {
    fn default() -> Self {
        Self {
            api_key: API_KEY_DEFAULT.to_owned(),
            webhook_secrets: vec![WEBHOOK_SECRET_DEFAULT.to_owned()],
            state_file: None,
        }
    }
}

impl fmt::Debug for SimulatorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatorConfig").field("state_file", &self.state_file).finish_non_exhaustive()
    }
}

/// Why the simulator did not start. One line each.
#[derive(Debug, thiserror::Error)]
pub enum SimulatorError {
    /// The state of an earlier run cannot be read.
    #[error("cannot read the Stripe simulator's state {path}: {cause}", path = .path.display())]
    StateFile {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// There is no client for deliveries.
    #[error("cannot make an HTTP client for webhook deliveries: {0}")]
    Client(String),
}

/// A running simulator. Cheap to clone: all clones are the same one.
#[derive(Clone)]
pub struct Simulator(Arc<Shared>);

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Simulator")
    }
}

impl Simulator {
    /// Starts a simulator on the system's clock. Must be called within a tokio runtime, which its
    /// deliveries run on until the last clone is gone.
    ///
    /// # Errors
    /// When the state of an earlier run cannot be read.
    pub fn start(config: SimulatorConfig) -> Result<Self, SimulatorError> {
        Self::start_with_clock(config, Clock::system())
    }

    /// Starts a simulator on a clock of one's own.
    ///
    /// # Errors
    /// When the state of an earlier run cannot be read.
    pub fn start_with_clock(config: SimulatorConfig, clock: Clock) -> Result<Self, SimulatorError> {
        let SimulatorConfig { api_key, webhook_secrets, state_file } = config;
        let shared = Arc::new(Shared::open(api_key, webhook_secrets, state_file, clock)?);
        tokio::spawn(deliveries::work(Arc::downgrade(&shared), shared.changes()));
        Ok(Self(shared))
    }

    /// The API under `/stripe`, and the dev controls under `/dev/stripe`.
    pub fn router(&self) -> Router {
        api::router(self.clone()).merge(dev::router(self.clone()))
    }

    /// How a client talks to this simulator when the router is served at `url`.
    #[must_use]
    pub fn access(&self, url: &str) -> StripeConfig {
        let secrets = self.0.webhook_secrets.iter().cloned().map(Masked::new).collect();
        access_to(url, self.0.api_key.clone(), secrets)
    }

    /// How a client talks to a simulator that runs elsewhere with the default secrets.
    #[must_use]
    pub fn access_at(url: &str) -> StripeConfig {
        access_to(url, Masked::new(API_KEY_DEFAULT.to_owned()), vec![Masked::new(WEBHOOK_SECRET_DEFAULT.to_owned())])
    }

    /// Sets the webhook's URL. Without one there are no deliveries, and events that happen meanwhile
    /// are never delivered by themselves, as at Stripe without an endpoint.
    pub fn deliver_to(&self, url: Option<String>) {
        self.0.update(|inner| inner.webhook_url = url);
    }

    /// Holds deliveries: events wait from here on.
    pub fn pause_deliveries(&self) {
        self.0.update(|inner| inner.paused = true);
    }

    /// Lets deliveries go on by themselves, at once.
    pub fn resume_deliveries(&self) {
        self.0.update(|inner| {
            inner.paused = false;
            inner.state.pending.iter_mut().for_each(|pending| pending.due = None);
        });
    }

    /// Where events are delivered.
    #[must_use]
    pub fn webhook_url(&self) -> Option<String> {
        self.0.lock().webhook_url.clone()
    }

    /// Whether deliveries are held.
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

    /// Ids of the events that wait for the webhook, oldest first.
    #[must_use]
    pub fn waiting_events(&self) -> Vec<String> {
        deliveries::waiting_in(&self.0, &DeliveryOrder::Created)
    }

    /// The last deliveries and what came of them, oldest first.
    #[must_use]
    pub fn attempts(&self) -> Vec<Attempt> {
        self.0.lock().attempts.iter().cloned().collect()
    }

    /// Delivers one event, whether or not it waits or was taken already.
    ///
    /// # Errors
    /// When there is no such event or no webhook. A webhook that refuses is no error.
    pub async fn deliver(&self, event_id: &str) -> Result<Attempt, DeliveryError> {
        deliveries::deliver(&self.0, event_id, None).await
    }

    /// Delivers one event more than once, under another id, or signed at another time.
    ///
    /// # Errors
    /// When there is no such event or no webhook. A webhook that refuses is no error.
    pub async fn deliver_with(&self, event_id: &str, options: &DeliveryOptions) -> Result<Vec<Attempt>, DeliveryError> {
        let event_id =
            if options.as_another_event { deliveries::duplicate(&self.0, event_id)? } else { event_id.to_owned() };
        let mut attempts = Vec::new();
        for _ in 0..=options.repeats {
            attempts.push(deliveries::deliver(&self.0, &event_id, options.signed_at_s).await?);
        }
        Ok(attempts)
    }

    /// Delivers the events that wait, once each and one after the other.
    ///
    /// # Errors
    /// When there is no webhook, or no such event among those given.
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

    /// The same, signed at another time.
    #[must_use]
    pub fn signed_at(&self, event: &Value, signed_at_s: i64) -> (String, String) {
        deliveries::signed(&self.0, event, Some(signed_at_s))
    }

    /// Returns when nothing is left to deliver: the webhook took all events, or there is none.
    pub async fn idle(&self) {
        self.0.until(|inner| inner.webhook_url.is_none() || inner.state.pending.is_empty()).await;
    }

    /// Adds a fault for the next API calls that match. The oldest that matches a call is its fault.
    pub fn inject(&self, fault: Fault) {
        self.0.update(|inner| inner.faults.push(fault));
    }

    /// Faults that no call has met yet.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.0.lock().faults.clone()
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.0.update(|inner| inner.faults.clear());
    }

    /// Returns when so many calls are held by [`FaultKind::Held`].
    pub async fn held(&self, calls: usize) {
        self.0.until(|inner| inner.held >= calls).await;
    }

    /// Lets the calls that are held go on.
    pub fn release_held(&self) {
        self.0.update(|inner| {
            inner.releases = inner.releases.saturating_add(1);
            inner.held = 0;
        });
    }
}
