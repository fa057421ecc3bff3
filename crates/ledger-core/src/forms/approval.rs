//! Four eyes: what one person asks for, another decides on, once.

use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::StaffId;
use crate::transaction::{Clause, exists};

/// The request exists, `staff` is not who made it, and nobody has decided on it. The update that these guard
/// names `staff` by the same placeholder, `me`.
pub(crate) fn pending_of_another(staff: StaffId) -> Vec<Clause> {
    let by_another = Condition::is_not("requested_by", "me", Value::s(staff));
    let pending = Condition::compare("state", Cmp::Eq, "pending", Value::s("pending"));
    vec![
        exists(),
        Clause { condition: by_another, failure: Failure::FourEyes },
        Clause { condition: pending, failure: Failure::WrongState },
    ]
}
