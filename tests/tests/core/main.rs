//! Tests of the core on the embedded engine and on models, without a server or an SDK.

mod audit;
mod bank_files;
mod break_ways;
mod classifier;
mod compact;
mod copy;
mod events;
mod golden;
mod golden_pair;
mod items;
mod migration;
mod periods;
mod properties;
mod rules;
mod sealed_attributes;
mod times;
mod topup_orders;
