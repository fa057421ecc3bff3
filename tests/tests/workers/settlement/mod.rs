//! Settlements over HTTP and the embedded engine: scenario 6 of DOMAIN.md to the yen and its file to the byte, carried
//! balances, compensation, payouts through Stripe and their returns, and a fault or repetition at every write of the
//! saga and every call to Stripe.

mod audited;
mod faults;
mod machine;
mod paths;
mod people;
mod periods;
mod returned;
mod scenario;
mod shards;
mod stripe;
