//! A simulator of Stripe: its v1 API under [`API_PATH`], signed deliveries of events, faults and dev controls.
//! It keeps Stripe's rules for idempotency keys, lists, errors and events; no money moves anywhere.
//!
//! It knows nothing of the ledger, so that it judges the ledger's calls independently. `cargo run -p stripe-simulator`
//! serves it by itself.
//!
//! The modules in their order: each uses only those before it, which a test checks.
//!
//! 1. Values: `clock`, `config`, `ids`, `signature`, `statuses`, `error`, `money`, `forms`, `faults`.
//! 2. Objects and what is kept: `objects`, `events`, `idempotency`, `store`.
//! 3. What Stripe does to its objects: `payment_intents`, `refunds`, `disputes`, `payouts`, `expand`, `lists`,
//!    `operations`.
//! 4. What runs: `shared`, `deliveries`, `simulator`, `controls`.
//! 5. Over HTTP: `api`, `dev`.

mod api;
mod clock;
mod config;
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
mod simulator;
mod statuses;
mod store;
#[cfg(test)]
#[path = "../../ledger-local/src/testing.rs"]
mod testing;
#[cfg(test)]
mod tests;

pub use api::API_PATH;
pub use config::{API_KEY_DEFAULT, SimulatorConfig, WEBHOOK_SECRET_DEFAULT};
pub use controls::ControlError;
pub use deliveries::{DeliveryError, DeliveryOptions, DeliveryOrder};
pub use events::Attempt;
pub use faults::{Fault, FaultKind};
pub use shared::SimulatorError;
pub use simulator::Simulator;
pub use statuses::RefundStatus;

use axum::Router;

impl Simulator {
    /// The API under [`API_PATH`], and the dev controls under `/dev/stripe`, which ask for no key: serve it on this
    /// machine only.
    pub fn router(&self) -> Router {
        api::router(self.clone()).merge(dev::router(self.clone()))
    }
}
