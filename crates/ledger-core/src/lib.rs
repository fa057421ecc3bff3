//! The pure core of the wallet ledger. Builders take a command and a context and return data: transactions, what each
//! failed condition means, and what the response may contain.
//!
//! This crate has no clock, randomness, I/O, SDK or float.
//!
//! The modules in their order. Each uses only those before it; a test checks that.
//!
//! 1. Values: `canonical`, `time`, `ids`, `money`, `account`, `personal`, `operation`, `failure`, `retry`.
//! 2. Items, the payment provider's objects, keys and reads: `dynamo`, `psp`, `keys`, `reads`, `bank`.
//! 3. Conditional writes: `transaction`, `forms`, `lease`, `rate`.
//! 4. At most one effect per key: `idempotency`.
//! 5. The operations that clients request: `ops`.
//! 6. What is derived from the books: `trail`, `sealing`, `migration`, `reconcile`, `events`.

pub mod account;
pub mod bank;
pub mod canonical;
pub mod dynamo;
pub mod events;
pub mod failure;
pub mod forms;
pub mod idempotency;
pub mod ids;
pub mod keys;
pub mod lease;
pub mod migration;
pub mod money;
pub mod operation;
pub mod ops;
pub mod personal;
pub mod psp;
pub mod rate;
pub mod reads;
pub mod reconcile;
pub mod retry;
pub mod sealing;
pub mod time;
pub mod trail;
pub mod transaction;
