//! A simulator of Stripe: its v1 API under [`API_PATH`], signed deliveries of events, faults and dev controls.
//! It has Stripe's rules for idempotency keys, lists, errors and events; no money moves.
//!
//! It does not depend on the ledger, so that it checks the ledger's calls independently.
//! `cargo run -p stripe-simulator` serves it alone.
//!
//! The modules in order. Each uses only those before it, which a test checks.
//!
//! 1. Values: `clock`, `config`, `ids`, `signature`, `statuses`, `error`, `money`, `forms`, `faults`.
//! 2. Objects and state: `objects`, `events`, `idempotency`, `store`.
//! 3. Operations of Stripe: `payment_intents`, `refunds`, `disputes`, `payouts`, `expand`, `lists`, `operations`.
//! 4. Running: `shared`, `deliveries`, `simulator`, `controls`.
//! 5. HTTP: `api`, `dev`.

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
    /// The router of the API under [`API_PATH`], and of the dev controls under `/dev/stripe`.
    ///
    /// The dev controls need no key, so serve the router on this machine only.
    pub fn router(&self) -> Router {
        api::router(self.clone()).merge(dev::router(self.clone()))
    }
}
