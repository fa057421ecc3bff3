//! The pure core of the wallet ledger. Builders take a command and a context and return data: transactions, what each
//! failed condition means, and what the response may contain.
//!
//! This crate has no clock, randomness, I/O, SDK or float.
//!
//! The modules in their order. Each uses only those before it; a test checks that.
//!
//! 1. Values: `words`, `canonical`, `time`, `calendar`, `ids`, `money`, `account`, `personal`, `permission`, `operation`,
//!    `failure`, `retry`.
//! 2. Items, the payment provider's objects, keys and reads: `dynamo`, `psp`, `terms_version`, `keys`,
//!    `aggregates`, `reads`, `bank`, `memo`, `journal`, `card_state`, `customer_state`,
//!    `merchant_state`, `terminal_state`, `role`, `form`.
//! 3. Conditional writes: `transaction`, `forms`, `limits`, `lease`, `rate`, `registry`.
//! 4. At most one effect per key: `refused_payment`, `idempotency`.
//! 5. What each operation is given: `payment_state`, `plan`, `terms`, `audit`, `notices`, `finding`, `unclaimed`,
//!    `returning`, `wallets`, `jobs`.
//! 6. The operations, a folder or file per domain, a file per operation: `payments`, `customers`, `cards`,
//!    `closing`, `asset_budgets`, `grants`, `adjustments`, `topups`, `crediting`, `bank_files`, `settlements`, `shops`, `terminals`, `cash_rooms`,
//!    `refund_rooms`, `merchants`, `merchant_qr`, `cash_deposits`, `cash_collections`, `tenants`, `staff`, `ties`,
//!    `settlement_runs`, `wind_downs`, `files`, `erasure`, `approvals`, `previews`.
//! 7. What is derived from the books: `lists`, `trail`, `sealing`, `figures`, `migration`, `reconcile`, `events`.

pub mod account;
pub mod adjustments;
pub mod aggregates;
pub mod approvals;
pub mod asset_budgets;
pub mod audit;
pub mod bank;
pub mod bank_files;
pub mod calendar;
pub mod canonical;
pub mod card_state;
pub mod cards;
pub mod cash_collections;
pub mod cash_deposits;
pub mod cash_rooms;
pub mod closing;
pub mod crediting;
pub mod customer_state;
pub mod customers;
pub mod dynamo;
pub mod erasure;
pub mod events;
pub mod failure;
pub mod figures;
pub mod files;
pub mod finding;
pub mod form;
pub mod forms;
pub mod grants;
pub mod idempotency;
pub mod ids;
pub mod jobs;
pub mod journal;
pub mod keys;
pub mod lease;
pub mod limits;
pub mod lists;
pub mod memo;
pub mod merchant_qr;
pub mod merchant_state;
pub mod merchants;
pub mod migration;
pub mod money;
pub mod notices;
pub mod operation;
pub mod payment_state;
pub mod payments;
pub mod permission;
pub mod personal;
pub mod plan;
pub mod previews;
pub mod psp;
pub mod rate;
pub mod reads;
pub mod reconcile;
pub mod refund_rooms;
pub mod refused_payment;
pub mod registry;
pub mod retry;
pub mod returning;
pub mod role;
pub mod sealing;
pub mod settlement_runs;
pub mod settlements;
pub mod shops;
pub mod staff;
pub mod tenants;
pub mod terminal_state;
pub mod terminals;
pub mod terms;
pub mod terms_version;
pub mod ties;
pub mod time;
pub mod topups;
pub mod trail;
pub mod transaction;
pub mod unclaimed;
pub mod wallets;
pub mod wind_downs;
mod words;
