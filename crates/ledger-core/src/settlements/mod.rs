//! Settlements: closing a merchant's period and paying its net, step by step. Each step is one conditional write that
//! can be repeated. Until money may have left, the steps can be undone in reverse order.
//!
//! ```text
//! collecting -> held -> verified -> released -> charged -> booked           by bank file
//!      |         ^----------'           ^----------'  | '-> paying -> paid  through the payment provider
//!      |                                              |       '------------ a proven refusal: charged
//!      |-> carried                 nothing is to be paid
//!      '-> undone                  turned back, and everything is given back    booked, paid -> returned: money returned
//! ```

mod advance;
mod asl;
mod collect;
mod coverage;
mod destination;
mod open;
mod pay_on;
mod period;
mod record;
mod resume;
pub mod returned;
mod rooms;
pub mod saga;
pub mod sending;
mod steps;
#[cfg(test)]
mod tests;
mod totals;

pub use advance::{Move, MoveError, next_move, postponed, started};
pub use asl::{BROKEN, UNAVAILABLE, definition};
pub use collect::{RECORDS_MAX, Settleable, collect, dropped, last_batch, read_batch, release_batch};
pub use coverage::Coverage;
pub use destination::Destination;
pub use open::{Open, Settling, plan as plan_open};
pub use pay_on::PayOn;
pub use period::{ClosedPeriod, PeriodBatch, close_lane, given_back_period};
pub use record::{OfRun, Settlement, SettlementState, UndoReason};
pub use resume::plan as plan_resume;
pub use returned::{ReturnedTransfer, SeenTransfer, plan_return};
pub use rooms::{ReturnedRooms, RoomDebts};
pub use saga::{Compensation, Outcome, Step, Task};
pub use sending::Sending;
pub use steps::{booked, paid, start_undo, verified};
pub use totals::AssetTotals;
