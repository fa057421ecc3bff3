//! Measurements of the ledger. Each binary prints tables, writes `--json` lines and draws `--plot` files, and ends with
//! status 1 if a budget is exceeded. Budgets are counts: no budget is a time on the clock.
//!
//! The modules in order. Each uses only those before it, which a test checks.
//!
//! 1. Values: `stats`, `process`.
//! 2. What is measured: `connection`, `prepared`, `inside`.
//! 3. Measurements: `functions`, `throughput`, `idempotency_share`, `growth`.

pub mod connection;
pub mod functions;
pub mod growth;
pub mod idempotency_share;
pub mod inside;
pub mod prepared;
pub mod process;
pub mod stats;
pub mod throughput;
