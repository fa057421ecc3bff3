//! Winding down a tenant: a stored job that a worker executes in slices. It closes every card, then every customer, and pays
//! what each has out to `unclaimed`. Each close is a transaction of its own, with the line that the job keeps of it.
//!
//! A closed account is never closed again, and one close has one line, so a slice that runs twice closes once.

mod line;
mod record;

pub use line::{LineState, OpenAccount, WindDownLine};
pub use record::{
    Slice, SliceOutcome, Standing, WindDown, WindDownStart, WindDownStatus, WindDownStop, plan, plan_stop,
};
