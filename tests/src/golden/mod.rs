//! Golden vectors: the bytes of a request, the meanings of its failures, and its effects on the books. This module
//! reads, builds and executes them; only `golden-new` writes the files.

mod balances;
pub mod build;
pub mod build_crediting;
pub mod build_decision;
mod build_hold;
pub mod build_lanes;
mod build_migration;
mod build_more;
pub mod build_reconcile;
pub mod build_scale;
pub mod build_settlement;
mod build_topup;
pub mod build_trail;
pub mod cases;
pub mod command;
pub mod command_hold;
pub mod command_job;
pub mod command_migration;
pub mod command_psp;
pub mod compare;
pub mod compare_reads;
pub mod create;
pub mod decode;
mod file;
pub mod judge;
pub mod manifest;
mod meanings;
mod meanings_migration;
mod meanings_settlement;
pub mod patch;
pub mod reads;
mod request;
pub mod vector;
mod verdict;
pub mod world;
pub mod written;
