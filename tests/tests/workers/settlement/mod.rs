//! Settlements over HTTP and the embedded engine: scenario 6 of DOMAIN.md to the yen and its file to the byte,
//! what is carried and what turns back, payouts through Stripe and what comes back of them, and failure and
//! repetition at every write of the saga and at every call to Stripe.

mod faults;
mod machine;
mod paths;
mod people;
mod resent;
mod returned;
mod scenario;
mod shards;
mod stripe;
