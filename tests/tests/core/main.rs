//! The core by itself, on the embedded engine and on models: no server and no SDK.

mod classifier;
mod events;
mod golden;
mod migration;
mod properties;
mod topup_orders;
