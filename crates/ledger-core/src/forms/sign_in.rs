//! The condition that a customer signs in with a subject.

use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::{CustomerId, SubjectId};
use crate::transaction::Clause;

/// The attribute of a profile with the customer's subject; absent while it is the customer's id.
pub(crate) const SUBJECT: &str = "sign_in";

/// Requires of a profile that the customer signs in with a subject.
pub(crate) fn signs_in_with(customer: CustomerId, subject: SubjectId, failure: Failure) -> Clause {
    let condition = if subject.uuid() == customer.uuid() {
        Condition::absent(SUBJECT)
    } else {
        Condition::compare(SUBJECT, Cmp::Eq, "sign_in", Value::s(subject))
    };
    Clause { condition, failure }
}
