//! Money from outside: top-ups through the payment provider, their refunds to the card, and what the
//! provider takes back by itself.
//!
//! `claim` and `refund` reserve and mint the provider's request; `route` says what a fact about one of
//! the provider's objects means for our records. It is the only way from such a fact to the books.

pub mod attention;
pub mod check;
pub mod claim;
pub mod clawback;
pub mod decision;
mod decision_effect;
pub mod record;
pub mod refund;
pub mod refund_record;
pub mod refused;
pub mod route;

pub use clawback::{Clawback, ClawbackState};
pub use decision::{Basis, TopupDecision, Way};
pub use decision_effect::{DECIDED, EntryDecision};
pub use record::{TopupRecord, TopupState};
pub use refund_record::{RefundState, TopupRefund};
pub use route::{Effect, Oddity, Routed, View};

use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::transaction::Clause;

/// The record is as it was read.
fn seen(attribute: &'static str, name: &'static str, value: Value) -> Clause {
    Clause { condition: Condition::compare(attribute, Cmp::Eq, name, value), failure: Failure::StalePlan }
}

#[cfg(test)]
mod tests;
