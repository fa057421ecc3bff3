//! What is demanded of a request with a record of its own, and of the decision on it.

use super::decide::{is_outside, is_pending_at, may_decide, merged};
use super::record::{ApprovalState, DECIDED_AT, DECIDED_BY, STATE};
use super::recorded::{RecordedRequest, RequestSummary};
use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::MarkerKeys;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::permission::Permission;
use crate::plan::{Context, PlanRefusal};
use crate::staff::{MemberState, StaffMember, acting};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};

/// A decision of another person on a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestDecision<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The request, as read.
    pub request: &'a RecordedRequest,
    /// The record of the member who decides, as read.
    pub decider: &'a StaffMember,
}

/// Adds to a planned request the item that the inbox shows, and a check that the requester's record is as read.
///
/// # Errors
/// [`PlanRefusal`] if `by` lacks the permission.
pub fn plan_listed<R>(
    tenant: &Tenant,
    by: &StaffMember,
    summary: &RequestSummary,
    planned: Planned<R>,
) -> Result<Planned<R>, PlanRefusal> {
    let needed = summary.record.permission();
    if !by.may(needed) {
        return Err(PlanRefusal::Denied(needed));
    }
    let Planned { draft: Draft { entry, mut items }, receipt } = planned;
    let key = keys::request(tenant, summary.record.id());
    items.push(TransactItem::put_new(Role::Approval, key, summary.item(), Failure::AlreadyExists));
    items.push(acting(tenant, by));
    Ok(Planned { draft: Draft { entry, items }, receipt })
}

/// Adds to a planned approval what the tenant demands: the request is in time, both members' records are as read, the
/// decider is no beneficiary.
///
/// # Errors
/// [`PlanRefusal`] if the decider may not decide, the state does not allow it, or the requester may not request it now.
pub fn guard_approval<R>(
    decision: &RequestDecision<'_>,
    (requester, keys): (&StaffMember, &MarkerKeys),
    planned: Planned<R>,
    cx: &Context,
) -> Result<Planned<R>, PlanRefusal> {
    let RequestDecision { tenant, request, decider } = decision;
    let account = request.summary.account;
    check_approval(decision, requester, cx)?;
    let more = [acting(tenant, decider), acting(tenant, requester)].into_iter();
    guarded(decision, planned, more.chain(is_outside(tenant, (decider, keys), account)), cx)
}

/// Checks that the decider may approve a request. The guards of the transaction check it again, exactly.
///
/// # Errors
/// As [`guard_approval`].
pub fn check_approval(
    decision: &RequestDecision<'_>,
    requester: &StaffMember,
    cx: &Context,
) -> Result<(), PlanRefusal> {
    let RequestDecision { request, decider, .. } = decision;
    let RequestSummary { record, account, requested_by, .. } = &request.summary;
    check(decision, cx)?;
    if decider.is_beneficiary_of(*account) {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    // A requester who was disabled or lost the permission since requests nothing.
    if requester.id != *requested_by || !requester.may(record.permission()) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    Ok(())
}

/// Adds to a planned rejection what the tenant demands: the request is in time, and the decider's record is as read.
///
/// # Errors
/// As [`guard_approval`].
fn guard_rejection<R>(
    decision: &RequestDecision<'_>,
    planned: Planned<R>,
    cx: &Context,
) -> Result<Planned<R>, PlanRefusal> {
    check(decision, cx)?;
    guarded(decision, planned, std::iter::once(acting(decision.tenant, decision.decider)), cx)
}

/// Rejects a request.
///
/// # Errors
/// As [`guard_approval`].
pub fn plan_request_rejection(
    decision: &RequestDecision<'_>,
    cx: &Context,
) -> Result<Planned<RecordedRequest>, PlanRefusal> {
    let RequestDecision { tenant, request, decider } = decision;
    let record = &request.summary.record;
    let update = ended(ApprovalState::Rejected, decider, cx.now);
    let items = vec![
        TransactItem::update(record.role(), record.key(tenant), update, forms::pending_of_another(decider.id)),
        act(decider, Operation::ApprovalReject, request).record(tenant, cx),
    ];
    let receipt = request.ended(ApprovalState::Rejected, decider, cx.now);
    guard_rejection(decision, Planned { draft: Draft { entry: None, items }, receipt }, cx)
}

/// Withdraws a request, as its requester or as an owner.
///
/// # Errors
/// [`PlanRefusal::Denied`] for another person, otherwise as [`guard_approval`].
pub fn plan_request_withdrawal(
    tenant: &Tenant,
    request: &RecordedRequest,
    by: &StaffMember,
    cx: &Context,
) -> Result<Planned<RecordedRequest>, PlanRefusal> {
    if !by.may(Permission::ApprovalsRequest) {
        return Err(PlanRefusal::Denied(Permission::ApprovalsRequest));
    }
    if by.id != request.summary.requested_by && !by.is_owner() {
        return Err(PlanRefusal::Denied(Permission::StaffManage));
    }
    is_pending_at(request.state(cx.now))?;
    Ok(withdrawn(tenant, request, by, by, cx))
}

/// Withdraws a request of a member who is disabled; `by` disabled the member.
///
/// # Errors
/// `stale_plan` if the member is not disabled, otherwise as [`guard_approval`].
pub fn plan_request_withdrawal_of_disabled(
    tenant: &Tenant,
    request: &RecordedRequest,
    requester: &StaffMember,
    by: &StaffMember,
    cx: &Context,
) -> Result<Planned<RecordedRequest>, PlanRefusal> {
    if requester.id != request.summary.requested_by || requester.state != MemberState::Disabled {
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    is_pending_at(request.state(cx.now))?;
    Ok(withdrawn(tenant, request, requester, by, cx))
}

fn withdrawn(
    tenant: &Tenant,
    request: &RecordedRequest,
    seen: &StaffMember,
    by: &StaffMember,
    cx: &Context,
) -> Planned<RecordedRequest> {
    let record = &request.summary.record;
    let pending = Condition::compare(STATE, Cmp::Eq, "pending", Value::s(ApprovalState::Pending.name()));
    let pending = Clause { condition: pending, failure: Failure::WrongState };
    let update = ended(ApprovalState::Withdrawn, by, cx.now);
    let guards = vec![exists(), pending, in_time(cx.now)];
    let items = vec![
        TransactItem::update(record.role(), record.key(tenant), update, guards),
        acting(tenant, seen),
        act(by, Operation::ApprovalWithdraw, request).record(tenant, cx),
    ];
    let receipt = request.ended(ApprovalState::Withdrawn, by, cx.now);
    Planned { draft: Draft { entry: None, items }, receipt }
}

fn check(decision: &RequestDecision<'_>, cx: &Context) -> Result<(), PlanRefusal> {
    let RequestDecision { request, decider, .. } = decision;
    may_decide(request.summary.requested_by, request.state(cx.now), decider)
}

/// Adds the expiry to the guards of the record, and further items.
// INVARIANT: the record's own guards are that it is pending and that another person requested it.
fn guarded<R>(
    decision: &RequestDecision<'_>,
    planned: Planned<R>,
    more: impl Iterator<Item = TransactItem>,
    cx: &Context,
) -> Result<Planned<R>, PlanRefusal> {
    let Planned { draft: Draft { entry, items }, receipt } = planned;
    let key = decision.request.summary.record.key(decision.tenant);
    let of_draft = items
        .into_iter()
        .map(|item| if *item.key() == key { item.guarded_also(vec![in_time(cx.now)]) } else { item })
        .collect::<Vec<_>>();
    let items = merged(of_draft.into_iter().chain(more)).ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
    Ok(Planned { draft: Draft { entry, items }, receipt })
}

/// Requires that the request is not older than commands that await approval may be.
fn in_time(now: Timestamp) -> Clause {
    let earliest = now.minus(super::record::APPROVAL_LIFETIME);
    let condition = Condition::compare(attr::CREATED_AT, Cmp::Gt, "earliest", Value::s(earliest));
    Clause { condition, failure: Failure::ApprovalExpired }
}

fn ended(state: ApprovalState, by: &StaffMember, now: Timestamp) -> Update {
    Update::new().set(STATE, "state", Value::s(state.name())).set(DECIDED_BY, "me", Value::s(by.id)).set(
        DECIDED_AT,
        "now",
        Value::s(now),
    )
}

/// An act of a member on a request.
fn act<'a>(by: &StaffMember, operation: Operation, request: &RecordedRequest) -> Act<'a> {
    let RequestSummary { record, account, amount, requested_by, .. } = &request.summary;
    let act = Act::new(by.actor(), operation, account)
        .with("approval_id", record.id())
        .with("command", record.operation())
        .with("requested_by", requested_by);
    match amount {
        Some(amount) => act.with("amount", amount.text()).with("asset", amount.asset()),
        None => act,
    }
}
