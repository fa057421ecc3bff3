//! A simulation of one busy merchant: payments of many customers in a model of DynamoDB, in our design and in two
//! others.
//!
//! It depends on no crate of the ledger. What it repeats of the ledger's rules names the constant that it repeats.
//!
//! The modules in order. Each uses only those before it, which a test checks.
//!
//! 1. Values: `chance`, `stats`.
//! 2. DynamoDB: `model`.
//! 3. The ledger: `policy`, `designs`.
//! 4. Running: `simulation`, `scenarios`.
//! 5. Judging and showing: `promises`, `report`, `plot`.

pub mod chance;
pub mod designs;
pub mod model;
pub mod plot;
pub mod policy;
pub mod promises;
pub mod report;
pub mod scenarios;
pub mod simulation;
pub mod stats;
#[cfg(test)]
mod testing;
