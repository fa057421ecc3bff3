//! Measurements of the ledger. Each binary prints tables, writes `--json` lines and draws `--plot` files, and ends with
//! status 1 if a budget is exceeded. Budgets are counts: no budget is a time on the clock.
//!
//! The modules in order. Each uses only those before it, which a test checks.
//!
//! 1. Values: `stats`, `process`.
//! 2. Growth: `growth`.

pub mod growth;
pub mod process;
pub mod stats;
