//! Shared parts of all functions: they execute the core's transactions, replay, authenticate, measure and log.
//!
//! The modules in their order. A test checks that each uses only those before it.
//!
//! 1. Time, randomness, counters: `clock`, `entropy`, `cache`, `pseudonym`, `metrics`, `notes`, `gateway`, `announcer`.
//! 2. Configuration, the table, logs: `config`, `callers`, `dynamo`, `due`, `problem`, `secrets`, `execute`, `logging`.
//! 3. The payment provider: `psp`, `views`, `topups`.
//! 4. A request and its handler's state: `cursor`, `parameter`, `request`, `tenant`, `identity`, `rate`,
//!    `sealed_heads`, `file_store`, `app`, `sign_in`, `permission`.
//! 5. Parts that handlers share: `endpoint`, `csv_file`, `cards`, `acts`, `ties`, `approvals`, `staff`, `debts`, `refunds`, `finding`,
//!    `lists`, `jobs`, `timeline`, `bank_files`, `reads`, `closing`, `settlement_runs`, `readback`, `reconciliations`, `limits`, `card_pins`, `cash_bonus`, `trail`, `signature`, `terminal`, `routing`.
//! 6. Workers: `worker`, `attempts`, `crediting`, `publishing`, `sealing`, `figures`, `files`, `settlement`, `migration`, `reconcile`, `previews`.

mod acts;
pub mod announcer;
pub mod app;
pub mod approvals;
pub mod attempts;
mod bank_files;
pub mod cache;
pub mod callers;
pub mod card_pins;
pub mod cards;
mod cash_bonus;
pub mod clock;
mod closing;
pub mod config;
pub mod crediting;
pub mod csv_file;
pub mod cursor;
pub mod debts;
pub mod due;
pub mod dynamo;
pub mod endpoint;
pub mod entropy;
pub mod execute;
pub mod figures;
pub mod file_store;
pub mod files;
pub mod finding;
pub mod gateway;
pub mod identity;
pub mod jobs;
pub mod limits;
pub mod lists;
pub mod logging;
pub mod metrics;
pub mod migration;
pub mod notes;
mod parameter;
pub mod permission;
pub mod previews;
pub mod problem;
pub mod pseudonym;
pub mod psp;
pub mod publishing;
pub mod rate;
pub mod readback;
pub mod reads;
pub mod reconcile;
pub mod reconciliations;
pub mod refunds;
pub mod request;
pub mod routing;
mod sealed_heads;
pub mod sealing;
pub mod secrets;
pub mod settlement;
pub mod settlement_runs;
mod sign_in;
pub mod signature;
pub mod staff;
pub mod tenant;
pub mod terminal;
pub mod ties;
pub mod timeline;
pub mod topups;
pub mod trail;
pub mod views;
pub mod worker;

#[cfg(test)]
mod testing;
