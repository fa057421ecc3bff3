//! Who sees a payout destination of a pending change whole. The person who may approve it sees the account that is paid beside
//! the one that was requested, and the reading is on the trail. The requester sees what was typed.

use super::command::Command;
use super::decide::may_approve;
use super::record::{Approval, ApprovalState};
use crate::account::Account;
use crate::audit::Act;
use crate::idempotency::{EncryptionError, MarkerKeys};
use crate::ids::Tenant;
use crate::keys;
use crate::operation::Operation;
use crate::plan::Context;
use crate::settlements::Destination;
use crate::staff::StaffMember;
use crate::ties::Holders;
use crate::transaction::{BuildError, Transaction};

/// The destinations of a pending change, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationChange {
    /// The destination that the merchant had at the request; `None` if it had none, and for the requester.
    pub from: Option<Destination>,
    /// The destination that was requested.
    pub to: Destination,
}

/// Why a destination cannot be shown whole.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not decrypted.
    #[error(transparent)]
    Encrypted(#[from] EncryptionError),
    /// The record of the reading cannot be built.
    #[error(transparent)]
    Record(#[from] BuildError),
}

/// What `by` sees whole of a pending change of a payout destination, and the record of that reading, which must be written
/// before anything is shown; `None` for the requester, who sees what was typed. Nothing is whole for another person, of
/// another command, or after the decision.
///
/// # Errors
/// [`ReadError`] if the destination at the request cannot be decrypted.
pub fn plan_read(
    tenant: &Tenant,
    approval: &Approval,
    (by, holders): (&StaffMember, &Holders),
    keys: &MarkerKeys,
    cx: &Context,
) -> Result<Option<(DestinationChange, Option<Transaction>)>, ReadError> {
    let Command::Destination { merchant, destination: to, .. } = &approval.command else { return Ok(None) };
    if by.id == approval.requested_by && approval.state(cx.now) == ApprovalState::Pending {
        return Ok(Some((DestinationChange { from: None, to: to.clone() }, None)));
    }
    if may_approve(approval, by, holders, cx.now).is_err() {
        return Ok(None);
    }
    let at = keys::approval(tenant, approval.id);
    let from = approval.projected.previous.as_ref().map(|previous| previous.decrypt(&at, keys)).transpose()?;
    let act = Act::new(by.actor(), Operation::ApprovalRead, Account::Merchant(*merchant));
    let record = act.with("approval_id", approval.id).record(tenant, cx);
    Ok(Some((DestinationChange { from, to: to.clone() }, Some(Transaction::unkeyed(vec![record])?))))
}
