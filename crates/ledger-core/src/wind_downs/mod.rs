//! Winding down a tenant: a job that closes every card, then every customer, and pays what each has out to `unclaimed`. Each close
//! is a transaction of its own, with the line that the job keeps of it.
//!
//! A closed account is never closed again, and one close has one line, so an account that is dealt with twice is closed once.

mod record;

pub use record::{WindDown, WindDownDetails, WindDownStart, plan};
