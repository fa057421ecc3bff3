//! Commands of the operator's staff that another person must approve: a record with a typed command, and one
//! transaction that changes the record's state and executes the command.

mod authority;
mod command;
mod decide;
mod deciders;
mod draft;
mod effect;
mod previous;
mod projected;
mod read;
mod record;
mod request;
mod rules;
mod scope;
mod states;
mod stored;

pub use command::{Command, destination_digest, schedule_seen};
pub use decide::{Approve, may_approve, plan_approve, plan_reject, plan_withdraw, plan_withdraw_of_disabled};
pub use deciders::{has_no_decider, is_decider_looked_for, other_deciders};
pub use draft::{Drafted, Seen};
pub use effect::Effect;
pub use projected::{Projected, ValueChange};
pub use read::{DestinationChange, ReadError, plan_read};
pub use record::{APPROVAL_LIFETIME, Approval, ApprovalState};
pub use request::{ApprovalRequest, plan_request};
pub use rules::{COMMAND_RULES, CommandRule, ScopeRule};
pub use scope::CLASS_CUSTOMERS_MIN;
pub use states::{States, Subject, SubjectRule};

#[cfg(test)]
mod tests;
