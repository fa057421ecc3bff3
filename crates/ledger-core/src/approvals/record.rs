//! The stored form of an approval.

use super::command::Command;
use super::projected::Projected;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::idempotency::LedgerKey;
use crate::ids::{ApprovalId, StaffId, TransactionId};
use crate::keys::attr;
use crate::personal::FreeText;
use crate::ties::Tie;
use crate::time::Timestamp;
use crate::words::words;
use std::time::Duration;

/// How long a command may be decided on.
pub const APPROVAL_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 140;

pub(super) const STATE: &str = "state";
const REQUESTED_BY: &str = "requested_by";
pub(super) const EXPIRES_AT: &str = "expires_at";
pub(super) const DECIDED_BY: &str = "decided_by";
pub(super) const DECIDED_AT: &str = "decided_at";
pub(super) const TRANSACTION_ID: &str = "transaction_id";
pub(super) const TIES: &str = "ties";
pub(super) const COMMAND: &str = "command";

words! {
    /// The states of an approval.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ApprovalState {
        /// Another person has not decided yet.
        Pending = "pending",
        /// It was approved, and its command was executed or started.
        Approved = "approved",
        /// It was rejected.
        Rejected = "rejected",
        /// The requester or an owner withdrew it.
        Withdrawn = "withdrawn",
        /// The time to decide has passed. Never stored: it follows from `expires_at`.
        Expired = "expired",
        /// What it was requested against has changed.
        Stale = "stale",
    }
}

impl ApprovalState {
    /// A stored state as it is at an instant.
    fn at(self, expires_at: Timestamp, now: Timestamp) -> Self {
        match self {
            Self::Pending if expires_at <= now => Self::Expired,
            Self::Pending | Self::Approved | Self::Rejected | Self::Withdrawn | Self::Expired | Self::Stale => self,
        }
    }

    /// Parses a stored name; `None` for any other text.
    fn stored(name: &str) -> Option<Self> {
        Self::parse(name).filter(|state| *state != Self::Expired)
    }
}

/// A command that another person must approve. Its content never changes; its state changes once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The command.
    pub command: Command,
    /// What it would have done at the request.
    pub projected: Projected,
    /// The reason, if one was given.
    pub reason: Option<FreeText>,
    /// The staff member who requested it.
    pub requested_by: StaffId,
    /// The ties of the requester to what it is for, as at the request, and those of the person who decided, as at the decision.
    pub ties: Vec<Tie>,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When the time to decide ends.
    pub expires_at: Timestamp,
    /// The stored state.
    state: ApprovalState,
    /// Who decided on it or withdrew it.
    pub decided_by: Option<StaffId>,
    /// When it was decided on or withdrawn.
    pub decided_at: Option<Timestamp>,
    /// The journal entry of the command, if it was approved and moved value.
    pub transaction_id: Option<TransactionId>,
}

/// The change of an approval's state.
pub(super) struct Decision {
    pub(super) state: ApprovalState,
    pub(super) by: StaffId,
    pub(super) at: Timestamp,
    pub(super) transaction_id: Option<TransactionId>,
    /// The command, if the decision gave an id to what it creates.
    pub(super) named: Option<Command>,
    /// The ties of the person who decides.
    pub(super) ties: Vec<Tie>,
}

impl Approval {
    pub(super) fn new(
        id: ApprovalId,
        (command, projected): (Command, Projected),
        reason: Option<&FreeText>,
        (requested_by, ties): (StaffId, Vec<Tie>),
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            command,
            projected,
            reason: reason.cloned(),
            requested_by,
            ties,
            created_at: now,
            expires_at: now.plus(APPROVAL_LIFETIME),
            state: ApprovalState::Pending,
            decided_by: None,
            decided_at: None,
            transaction_id: None,
        }
    }

    /// The state at an instant.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> ApprovalState {
        self.state.at(self.expires_at, now)
    }

    /// The key of what the command writes in the journal.
    #[must_use]
    pub fn entry_key(&self) -> LedgerKey {
        LedgerKey::of_approval(self.id)
    }

    pub(super) fn decided(&self, decision: &Decision) -> Self {
        Self {
            state: decision.state,
            decided_by: Some(decision.by),
            decided_at: Some(decision.at),
            transaction_id: decision.transaction_id,
            command: decision.named.as_ref().unwrap_or(&self.command).clone(),
            ties: self.ties_with(decision),
            ..self.clone()
        }
    }

    /// Its ties after a decision.
    pub(super) fn ties_with(&self, decision: &Decision) -> Vec<Tie> {
        let more = decision.ties.iter().filter(|tie| !self.ties.contains(tie));
        self.ties.iter().chain(more).copied().collect()
    }

    /// Reads a stored approval.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("approval_id", ApprovalId::parse)?,
            command: Command::read(item.map(COMMAND)?)?,
            projected: Projected::read(item)?,
            reason: item.opt_parsed("reason", |text| FreeText::parse(text, REASON_CHARS_MAX))?,
            requested_by: item.parsed(REQUESTED_BY, StaffId::parse)?,
            ties: if item.contains_key(TIES) { item.maps(TIES, Tie::read)? } else { Vec::new() },
            created_at: item.timestamp(attr::CREATED_AT)?,
            expires_at: item.timestamp(EXPIRES_AT)?,
            state: item.named(STATE, ApprovalState::stored)?,
            decided_by: item.opt_parsed(DECIDED_BY, StaffId::parse)?,
            decided_at: item.opt_timestamp(DECIDED_AT)?,
            transaction_id: item.opt_parsed(TRANSACTION_ID, TransactionId::parse)?,
        })
    }

    /// The attributes of a new approval.
    pub(super) fn item(&self) -> Item {
        let mut item = Item::from([
            ("approval_id".to_owned(), Value::s(self.id)),
            (COMMAND.to_owned(), Value::M(self.command.item())),
            (REQUESTED_BY.to_owned(), Value::s(self.requested_by)),
            (STATE.to_owned(), Value::s(self.state.name())),
            (EXPIRES_AT.to_owned(), Value::s(self.expires_at)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        item.extend(self.projected.attributes());
        item.extend(ties_value(&self.ties).map(|ties| (TIES.to_owned(), ties)));
        if let Some(reason) = &self.reason {
            item.insert("reason".to_owned(), Value::s(reason.expose()));
        }
        item
    }
}

/// The stored form of ties; `None` without one.
pub(super) fn ties_value(ties: &[Tie]) -> Option<Value> {
    (!ties.is_empty()).then(|| Value::L(ties.iter().map(Tie::value).collect()))
}
