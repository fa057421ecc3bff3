//! Another person decides on a command: an approval executes it in the same transaction. The requester or an owner
//! withdraws it.

use super::command::Command;
use super::draft::{Drafted, Seen};
use super::record::{
    Approval, ApprovalState, COMMAND, DECIDED_AT, DECIDED_BY, Decision, EXPIRES_AT, STATE, TIES, TRANSACTION_ID,
    ties_value,
};
use super::request::act;
use crate::audit::of_decider;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Principal, StaffId, Tenant, TerminalId};
use crate::keys;
use crate::merchants::{self, DESTINATION_COOLING_OFF};
use crate::notices::DestinationNotice;
use crate::operation::Operation;
use crate::permission::Permission;
use crate::plan::{Context, PlanRefusal};
use crate::staff::{MemberState, StaffMember, acting};
use crate::tenants;
use crate::ties::{Holders, Tie};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Provenance, Role, TransactItem, exists, merged};

/// An approval of a command.
#[derive(Clone, Copy, Debug)]
pub struct Approve<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The stored command, as read.
    pub approval: &'a Approval,
    /// The record of the member who approves, as read.
    pub decider: &'a StaffMember,
    /// The record of the member who requested it, as read.
    pub requester: &'a StaffMember,
    /// What the command is planned from.
    pub seen: Seen<'a>,
}

/// Approves a command and executes it, in one transaction. If a version that the command names differs, the transaction
/// stores that the command is stale, and does nothing else: the receipt's state says which of the two it is. A changed
/// payout destination is announced to its merchant by a notice.
///
/// The journal entry, if there is one, has the command's own operation, the principal of the requester and the key
/// `approval:<id>`: of whatever writes it twice, the check for duplicates finds the second.
///
/// # Errors
/// [`PlanRefusal`] if `decider` may not decide, the command's state does not allow it, or it cannot be executed now. The
/// command is pending after that.
pub fn plan_approve(command: &Approve<'_>, cx: &Context) -> Result<(Planned<Approval>, Provenance), PlanRefusal> {
    let Approve { tenant, approval, decider, requester, seen } = command;
    let mut ties = may_approve(approval, decider, seen.holders, cx.now)?;
    // A requester who was disabled or lost the permission since requests nothing.
    if requester.id != approval.requested_by || !requester.may(approval.command.permission()) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    // The account may have become the requester's own since.
    let of_requester = seen.holders.may_ask(requester.id);
    ties.extend(of_requester.map_err(|_| PlanRefusal::Refused(Failure::WrongState))?);
    let from = Provenance {
        tenant: (*tenant).clone(),
        operation: approval.command.operation(),
        principal: Principal::Staff(approval.requested_by),
        actor: decider.actor(),
        key: approval.entry_key().into(),
        now: cx.now,
    };
    // What the command creates has the id of the approval, and keys of further steps are derived from that. A caller may name the
    // id of a terminal, so that of a counter is of the decision: it is not known before.
    let of_command = Context { resource_id: approval.id.uuid(), ..*cx };
    let is_unnamed = matches!(approval.command, Command::CounterOpen { terminal: None });
    let named = is_unnamed.then(|| Command::CounterOpen { terminal: Some(TerminalId::new(cx.resource_id)) });
    let command = named.as_ref().unwrap_or(&approval.command);
    let drafted = match command.draft((tenant, requester), approval.reason.as_ref(), seen, &of_command) {
        // The reason was erased with the customer that it names.
        Err(PlanRefusal::Invalid { field: "reason", .. }) if approval.reason.is_none() => Drafted::Stale,
        // The day that was stated has come too near.
        Err(PlanRefusal::PaymentDay { why, .. }) if why.is_final() => Drafted::Stale,
        drafted => drafted?,
    };
    let Drafted::Ready(draft) = drafted else {
        let to = (ApprovalState::Stale, Operation::ApprovalApprove);
        return Ok((changed(tenant, approval, to, (decider, ties), cx), from));
    };
    let decision = Decision {
        state: ApprovalState::Approved,
        by: decider.id,
        at: cx.now,
        transaction_id: draft.entry.as_ref().map(|entry| entry.id),
        named,
        ties,
    };
    let known = || [("approval_id", approval.id.to_string()), ("requested_by", approval.requested_by.to_string())];
    let of_draft = draft
        .items
        .into_iter()
        .map(|item| if item.role() == Role::Audit { of_decider(item, decider.actor(), known()) } else { item })
        .map(|item| if item.role() == Role::Terms { tenants::approved_by(item, decider.id) } else { item });
    let own = [decided(tenant, approval, &decision), acting(tenant, decider), acting(tenant, requester)];
    let notice = if let Command::Destination { merchant, destination, .. } = &approval.command {
        let before = merchants::destination(seen.must(0)?)?;
        let change = DestinationNotice {
            from: before.map(|before| before.recognised_by()),
            to: destination.recognised_by(),
            paid_from: cx.now.plus(DESTINATION_COOLING_OFF),
        };
        merchants::notice(tenant, *merchant, change, cx)
    } else {
        None
    };
    let items = merged(own.into_iter().chain(of_draft).chain(seen.holders.guards()).chain(notice))
        .ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
    let receipt = approval.decided(&decision);
    Ok((Planned { draft: Draft { entry: draft.entry, items }, receipt }, from))
}

/// Rejects a command.
///
/// # Errors
/// As [`plan_approve`].
pub fn plan_reject(
    tenant: &Tenant,
    approval: &Approval,
    (decider, holders): (&StaffMember, &Holders),
    cx: &Context,
) -> Result<Planned<Approval>, PlanRefusal> {
    may_decide(approval.requested_by, approval.state(cx.now), decider)?;
    let ties = may_end(approval, decider, holders)?;
    Ok(changed(tenant, approval, (ApprovalState::Rejected, Operation::ApprovalReject), (decider, ties), cx))
}

/// Withdraws a command, as its requester or as an owner. `holders` are required of an owner who did not request it: an owner
/// does not end another's command about an own account.
///
/// # Errors
/// [`PlanRefusal::Denied`] for another person, otherwise as [`plan_reject`].
pub fn plan_withdraw(
    tenant: &Tenant,
    approval: &Approval,
    (by, holders): (&StaffMember, Option<&Holders>),
    cx: &Context,
) -> Result<Planned<Approval>, PlanRefusal> {
    if !by.may(Permission::ApprovalsRequest) {
        return Err(PlanRefusal::Denied(Permission::ApprovalsRequest));
    }
    let is_own = by.id == approval.requested_by;
    if !is_own && !by.is_owner() {
        return Err(PlanRefusal::Denied(Permission::StaffManage));
    }
    is_pending_at(approval.state(cx.now))?;
    let ties = if is_own {
        Vec::new()
    } else {
        may_end(approval, by, holders.ok_or(PlanRefusal::Refused(Failure::FourEyes))?)?
    };
    Ok(withdrawn(tenant, approval, (by, by), ties, cx))
}

/// Withdraws a command of a member who is disabled; `by` disabled the member.
///
/// # Errors
/// `stale_plan` if the member is not disabled, otherwise as [`plan_approve`].
pub fn plan_withdraw_of_disabled(
    tenant: &Tenant,
    approval: &Approval,
    requester: &StaffMember,
    by: &StaffMember,
    cx: &Context,
) -> Result<Planned<Approval>, PlanRefusal> {
    if requester.id != approval.requested_by || requester.state != MemberState::Disabled {
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    is_pending_at(approval.state(cx.now))?;
    Ok(withdrawn(tenant, approval, (requester, by), Vec::new(), cx))
}

/// Withdraws a command while the record of `seen` is as it was read.
fn withdrawn(
    tenant: &Tenant,
    approval: &Approval,
    (seen, by): (&StaffMember, &StaffMember),
    ties: Vec<Tie>,
    cx: &Context,
) -> Planned<Approval> {
    let decision =
        Decision { state: ApprovalState::Withdrawn, by: by.id, at: cx.now, transaction_id: None, named: None, ties };
    let pending = Clause { condition: state_is_pending(), failure: Failure::Decided };
    let update = update(approval, &decision);
    let key = keys::approval(tenant, approval.id);
    let items = vec![
        TransactItem::update(Role::Approval, key, update, vec![exists(), pending, in_time(cx.now)]),
        acting(tenant, seen),
        act(by, Operation::ApprovalWithdraw, approval).record(tenant, cx),
    ];
    Planned { draft: Draft { entry: None, items }, receipt: approval.decided(&decision) }
}

/// Checks that a member may approve a command, and returns the ties of the member, to be recorded. The guards of the
/// transaction check it again, exactly.
///
/// # Errors
/// [`PlanRefusal`] if the member may not, or the command's state does not allow it.
pub fn may_approve(
    approval: &Approval,
    decider: &StaffMember,
    holders: &Holders,
    now: Timestamp,
) -> Result<Vec<Tie>, PlanRefusal> {
    may_decide(approval.requested_by, approval.state(now), decider)?;
    if approval.command.is_about(decider) {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    holders.are_of(&approval.command.scope())?;
    holders.may_decide(decider.id).map(<[Tie]>::to_vec)
}

/// Checks that a member may end another's command without executing it, and returns the ties of the member, to be recorded.
fn may_end(approval: &Approval, by: &StaffMember, holders: &Holders) -> Result<Vec<Tie>, PlanRefusal> {
    if approval.command.is_about(by) {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    holders.are_of(&approval.command.scope())?;
    holders.may_ask(by.id).map(<[Tie]>::to_vec)
}

/// Checks that a member may decide on a command. The guards of the transaction check it again, exactly.
fn may_decide(requested_by: StaffId, state: ApprovalState, decider: &StaffMember) -> Result<(), PlanRefusal> {
    if !decider.may(Permission::ApprovalsDecide) {
        return Err(PlanRefusal::Denied(Permission::ApprovalsDecide));
    }
    if decider.id == requested_by {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    is_pending_at(state)
}

fn is_pending_at(state: ApprovalState) -> Result<(), PlanRefusal> {
    match state {
        ApprovalState::Pending => Ok(()),
        ApprovalState::Expired => Err(PlanRefusal::Refused(Failure::ApprovalExpired)),
        ApprovalState::Approved | ApprovalState::Rejected | ApprovalState::Withdrawn | ApprovalState::Stale => {
            Err(PlanRefusal::Refused(Failure::WrongState))
        }
    }
}

/// A decision that executes nothing.
fn changed(
    tenant: &Tenant,
    approval: &Approval,
    (state, operation): (ApprovalState, Operation),
    (decider, ties): (&StaffMember, Vec<Tie>),
    cx: &Context,
) -> Planned<Approval> {
    let decision = Decision { state, by: decider.id, at: cx.now, transaction_id: None, named: None, ties };
    let items = vec![
        decided(tenant, approval, &decision),
        acting(tenant, decider),
        act(decider, operation, approval).with(STATE, state.name()).record(tenant, cx),
    ];
    Planned { draft: Draft { entry: None, items }, receipt: approval.decided(&decision) }
}

/// The change of the record by another person.
// INVARIANT: the state changes once, before the expiry, by a person who did not request it.
fn decided(tenant: &Tenant, approval: &Approval, decision: &Decision) -> TransactItem {
    let mut guards = forms::pending_of_another(decision.by);
    guards.push(in_time(decision.at));
    TransactItem::update(Role::Approval, keys::approval(tenant, approval.id), update(approval, decision), guards)
}

fn update(approval: &Approval, decision: &Decision) -> Update {
    let update = Update::new()
        .set(STATE, "state", Value::s(decision.state.name()))
        .set(DECIDED_BY, "me", Value::s(decision.by))
        .set(DECIDED_AT, "now", Value::s(decision.at));
    let update = match decision.transaction_id {
        Some(id) => update.set(TRANSACTION_ID, TRANSACTION_ID, Value::s(id)),
        None => update,
    };
    let update = match &decision.named {
        Some(command) => update.set(COMMAND, COMMAND, Value::M(command.item())),
        None => update,
    };
    let ties = approval.ties_with(decision);
    match ties_value(&ties).filter(|_| ties != approval.ties) {
        Some(ties) => update.set(TIES, TIES, ties),
        None => update,
    }
}

fn in_time(now: Timestamp) -> Clause {
    let condition = Condition::compare(EXPIRES_AT, Cmp::Gt, "now", Value::s(now));
    Clause { condition, failure: Failure::ApprovalExpired }
}

fn state_is_pending() -> Condition {
    let pending = ApprovalState::Pending.name();
    Condition::compare(STATE, Cmp::Eq, "pending", Value::s(pending))
}
