//! Reconciliation: planted breaks are found and named, healthy books are clean under load, and a run is run once.
mod announced;
mod bank_files;
mod export;
mod foreign;
mod leaving;
mod load;
mod machine;
mod payouts;
mod periods;
pub(crate) mod planted;
mod put_back;
mod runs;
mod totals;
mod ways;
