//! The only shell of the ledger: it executes what the core has built, replays, authenticates,
//! measures and logs. Functions stay thin because of it.

pub mod app;
pub mod cache;
pub mod clock;
pub mod config;
pub mod crediting;
pub mod cursor;
pub mod debts;
pub mod dynamo;
pub mod entropy;
pub mod execute;
pub mod identity;
pub mod lambda;
pub mod logging;
pub mod metrics;
pub mod migration;
pub mod notes;
pub mod problem;
pub mod psp;
pub mod publishing;
pub mod rate;
pub mod readback;
pub mod reads;
pub mod reconcile;
pub mod refunds;
pub mod request;
pub mod routing;
pub mod sealing;
pub mod secrets;
pub mod settlement;
pub mod signature;
pub mod tenant;
pub mod terminal;
pub mod topups;
pub mod trail;
pub mod views;

#[cfg(test)]
mod testing;
