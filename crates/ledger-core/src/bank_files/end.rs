//! What two people decide about a file: the bank rejected it, it was taken back, or its acceptance was recorded wrongly.

use super::file::{ACCEPTED_AT, ACCEPTED_BY, BankFile, BankFileState, ENDED_AT, ENDED_BY, REFERENCE, STATE};
use super::mark::subject;
use crate::audit::Act;
use crate::dynamo::{Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, BankFileId, StaffId, Tenant};
use crate::keys::{self, Key};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::transaction::Draft;
use crate::words::words;

words! {
    /// What becomes of a file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileChange {
        /// The bank has rejected it.
        Reject = "reject",
        /// It was taken back from the bank, or never given to it.
        Withdraw = "withdraw",
        /// It was not accepted: that was recorded wrongly.
        Reopen = "reopen",
    }
}

/// A change of a file that two people decide on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEnd {
    /// The file.
    pub file: BankFileId,
    /// What becomes of it.
    pub change: FileChange,
    /// The version that was seen.
    pub seen: u32,
}

impl FileChange {
    /// The operation that records it.
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self {
            Self::Reject => Operation::BankFileReject,
            Self::Withdraw => Operation::BankFileWithdraw,
            Self::Reopen => Operation::BankFileReopen,
        }
    }

    /// The state after it.
    #[must_use]
    pub const fn to(self) -> BankFileState {
        match self {
            Self::Reject => BankFileState::Rejected,
            Self::Withdraw => BankFileState::Withdrawn,
            Self::Reopen => BankFileState::Written,
        }
    }

    /// Whether a file in a state can be changed so.
    #[must_use]
    pub fn follows(self, state: BankFileState) -> bool {
        match (self, state) {
            (Self::Reject | Self::Withdraw, BankFileState::Written | BankFileState::Accepted)
            // One whose job cannot go on.
            | (Self::Withdraw, BankFileState::Assigning)
            | (Self::Reopen, BankFileState::Accepted) => true,
            (Self::Reopen, BankFileState::Written)
            | (Self::Reject | Self::Reopen, BankFileState::Assigning)
            | (
                Self::Reject | Self::Withdraw | Self::Reopen,
                BankFileState::Debited
                | BankFileState::Rejected
                | BankFileState::Withdrawn
                | BankFileState::Empty,
            ) => false,
        }
    }
}

impl FileEnd {
    /// The item that it is planned from: the file.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![keys::bank_file(tenant, self.file)]
    }
}

/// Changes the file; `None` if it is not as it was seen.
///
/// # Errors
/// `WrongState` if its state does not allow that. A file of which a transfer was returned is not reopened: the bank would pay its whole
/// content. It is withdrawn, and what is left goes into a superseding file.
pub fn plan_end(
    (tenant, by): (&Tenant, StaffId),
    (end, file): (&FileEnd, &BankFile),
    reason: &FreeText,
    cx: &Context,
) -> Result<Option<Draft>, PlanRefusal> {
    if file.version != end.seen {
        return Ok(None);
    }
    let is_whole = end.change != FileChange::Reopen || file.returned == 0;
    if !is_whole || !end.change.follows(file.state) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let update = Update::new().set(STATE, STATE, Value::s(end.change.to().name()));
    let update = match end.change {
        FileChange::Reject | FileChange::Withdraw => {
            update.set(ENDED_AT, "ua", Value::s(cx.now)).set(ENDED_BY, "by", Value::s(by))
        }
        FileChange::Reopen => update.remove(ACCEPTED_AT).remove(ACCEPTED_BY).remove(REFERENCE),
    };
    // Its transfers, if it has any, wait for a person from then on.
    let update = match file.left() {
        0 => BankFile::not_due(update),
        _ => file.due(tenant, file.accept_by.max(cx.now)).set(update),
    };
    let act = Act::new(Actor::Staff(by), end.change.operation(), subject(file)).because(Some(reason));
    Ok(Some(Draft { entry: None, items: vec![file.changed(tenant, update, cx.now), act.record(tenant, cx)] }))
}
