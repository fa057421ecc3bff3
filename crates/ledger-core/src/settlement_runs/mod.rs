//! Settlement on schedule: a run closes the periods of all merchants whose schedule closes on a day. A worker starts one when a
//! closing day is over, or a person does, and a worker continues it in slices. Each merchant is closed by a transaction of its
//! own, with the line that the run keeps of it.
//!
//! A merchant is closed once for a day, and one run has one line of it, so a slice that runs twice closes once.

mod calendar;
mod line;
mod merchant;
mod record;
mod schedule;
mod sums;
#[cfg(test)]
mod tests;

pub use calendar::{ClosingCalendar, EndedDays};
pub use line::{NotClosed, merchant_of};
pub use merchant::{SeenMerchant, Verdict, is_covered, plan_opening, verdict};
pub use record::{RunDetails, RunStart, SettlementRun, plan};
pub use schedule::{MerchantSchedule, plan_schedule};
pub use sums::{RunSums, ToReview};
