//! The whole ledger in one process: an embedded DynamoDB, API Gateway's part, and the functions. `cargo run` starts it;
//! the tests start the same [`stack::Stack`] in process.
//!
//! The modules in order: each uses only those before it. A test checks this.
//!
//! 1. Files, clocks and tokens: `problem`, `private_file`, `marker_keys`, `pin_keys`, `clock`, `dice`, `issuer`, `demo`,
//!    `legacy`, `table`, `terminal_error`, `credential`.
//! 2. Replacements of AWS services: `local_only`, `engine`, `events`, `reports`, `downloads`, `settlement`,
//!    `worker_failures`, `pace`, `backend`, `workers`.
//! 3. The HTTP side: `openapi`, `dev`, `sign_in`, `gateway`, `banner`, `member_args`, `opening`, `seed`, `faces`,
//!    `stack`.
//! 4. Commands: `token_command`, `terminal_client`, `year`, `terminal_command`, `export`, `item_json`, `expand_command`,
//!    `proof_file`, `operator`, `terms_file`, `tenant_command`, `recover_command`, `opened`, `audit_command`, `items`,
//!    `show_command`, `admin_api`, `terms_command`, `migrate_command`, `cli`.

pub mod admin_api;
pub mod audit_command;
pub mod backend;
pub mod banner;
pub mod cli;
pub mod clock;
pub mod credential;
pub mod demo;
mod dev;
pub mod dice;
pub mod downloads;
pub mod engine;
pub mod events;
pub mod expand_command;
pub mod export;
pub mod faces;
pub mod gateway;
pub mod issuer;
mod item_json;
pub mod items;
pub mod legacy;
mod local_only;
pub mod marker_keys;
pub mod member_args;
pub mod migrate_command;
pub mod openapi;
pub mod opened;
pub mod opening;
pub mod operator;
mod pace;
pub mod pin_keys;
mod private_file;
mod problem;
pub mod proof_file;
pub mod recover_command;
pub mod reports;
pub mod seed;
pub mod settlement;
pub mod show_command;
pub mod sign_in;
pub mod stack;
pub mod table;
pub mod tenant_command;
pub mod terminal_client;
pub mod terminal_command;
pub mod terminal_error;
pub mod terms_command;
pub mod terms_file;
#[cfg(test)]
mod testing;
pub mod token_command;
pub mod worker_failures;
pub mod workers;
pub mod year;
