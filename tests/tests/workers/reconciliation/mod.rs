//! Reconciliation: what is planted is found and named, what is healthy is left in peace, under live load too,
//! and a run is run once, by whoever comes first.
mod announced;
mod export;
mod foreign;
mod leaving;
mod load;
mod machine;
mod payouts;
mod planted;
mod runs;
