//! Commands of the operator's staff that another person must approve: a record with a typed command, and one
//! transaction that changes the record's state and executes the command.

mod command;
mod decide;
mod draft;
mod record;
mod request;
mod stored;

pub use command::{Command, Effect, destination_digest};
pub use decide::{
    Approve, plan_approve, plan_approve_with_notice, plan_reject, plan_withdraw, plan_withdraw_of_disabled,
};
pub use draft::{Drafted, Seen};
pub use record::{APPROVAL_LIFETIME, Approval, ApprovalState};
pub use request::{ApprovalRequest, plan_request};

#[cfg(test)]
mod tests;
