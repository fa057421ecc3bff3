//! Approval (four eyes): what one person requests, another decides, once.

use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::StaffId;
use crate::transaction::{Clause, exists};

/// Requires that the request exists, that `staff` did not make it, and that it is not decided.
///
/// The update with these guards uses the same placeholder, `me`, for `staff`.
pub(crate) fn pending_of_another(staff: StaffId) -> Vec<Clause> {
    let by_another = Condition::is_not("requested_by", "me", Value::s(staff));
    let pending = Condition::compare("state", Cmp::Eq, "pending", Value::s("pending"));
    vec![
        exists(),
        Clause { condition: by_another, failure: Failure::FourEyes },
        Clause { condition: pending, failure: Failure::Decided },
    ]
}
