//! Top-ups through the payment provider, their refunds to the card, and clawbacks.
//!
//! `claim` and `refund` reserve, and build the provider's request. `route` decides what a fact about one of the
//! provider's objects means for our records. Facts change the books only through it.

pub mod attention;
pub mod cancel;
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
pub use decision::{Basis, DecisionKind, DecisionSeen, TopupDecision};
pub use decision_effect::{DECIDED, EntryDecision};
pub use record::{TopupRecord, TopupState};
pub use refund_record::{RefundState, TopupRefund};
pub use route::{ContradictionKind, Effect, Routed, View};

use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::transaction::Clause;

/// Requires the record's attribute as it was read.
fn seen(attribute: &'static str, name: &'static str, value: Value) -> Clause {
    Clause { condition: Condition::compare(attribute, Cmp::Eq, name, value), failure: Failure::StalePlan }
}

#[cfg(test)]
mod tests;
