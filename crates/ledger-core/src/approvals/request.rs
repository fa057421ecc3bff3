//! A staff member requests a command. It is stored, and nothing is executed.

use super::command::Command;
use super::draft::{Drafted, Seen};
use super::effect::Effect;
use super::projected::Projected;
use super::record::Approval;
use crate::audit::Act;
use crate::dynamo::Item;
use crate::failure::Failure;
use crate::ids::{ApprovalId, Tenant};
use crate::keys::{self, Key};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::staff::{StaffMember, acting};
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem};
use std::collections::BTreeMap;

/// A request for a command.
#[derive(Clone, Debug)]
pub struct ApprovalRequest<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The record of the member who requests it, as read.
    pub by: &'a StaffMember,
    /// The command.
    pub command: Command,
    /// The reason, if one was given.
    pub reason: Option<&'a FreeText>,
    /// What the command is planned from. A command that could not be executed at the time of the request is not stored.
    pub seen: Seen<'a>,
    /// The items of [`Command::guarded`] that exist, as read.
    pub guarded: &'a BTreeMap<Key, Item>,
}

/// Stores a command as pending.
///
/// # Errors
/// [`PlanRefusal`] if `by` lacks the permission, if it is for an account of `by`'s own, or if the command could not be executed.
pub fn plan_request(request: &ApprovalRequest<'_>, cx: &Context) -> Result<Planned<Approval>, PlanRefusal> {
    let ApprovalRequest { tenant, by, command, reason, seen, guarded } = request;
    let needed = command.permission();
    if !by.may(needed) {
        return Err(PlanRefusal::Denied(needed));
    }
    let ties = seen.holders.may_ask(by.id)?.to_vec();
    let draft = match command.draft((tenant, by), *reason, seen, cx)? {
        Drafted::Ready(draft) => draft,
        Drafted::Stale => return Err(PlanRefusal::Refused(refused_as_stale(command))),
    };
    let keys = command.keys(tenant, seen.terms);
    // What was read for the request may be fewer balances than a decision reads: these are not compared.
    let planned_from = keys.iter().zip(seen.items).filter(|_| keys.len() == seen.items.len());
    let read = planned_from.filter_map(|(key, item)| Some((key, item.as_ref()?))).chain(guarded.iter());
    may_be_executed(&draft, &read.collect())?;
    let id = ApprovalId::new(cx.resource_id);
    let key = keys::approval(tenant, id);
    let of = (command.clone(), Projected::of((command, &key), seen, draft, cx)?);
    let approval = Approval::new(id, of, *reason, (by.id, ties), cx.now);
    let mut items = vec![
        TransactItem::put_new(Role::Approval, key, approval.item(), Failure::AlreadyExists),
        acting(tenant, by),
        act(by, Operation::ApprovalRequest, &approval).because(*reason).record(tenant, cx),
    ];
    if let Command::Adjustment(adjustment) = command {
        items.extend(adjustment.answers_break(tenant, approval.id));
    }
    Ok(Planned { draft: Draft { entry: None, items }, receipt: approval })
}

/// Checks the guards of a draft that are about the states of what was read.
fn may_be_executed(draft: &Draft, read: &BTreeMap<&Key, &Item>) -> Result<(), PlanRefusal> {
    let failing = |item: &TransactItem| {
        let stored = read.get(item.key())?;
        let fails = |clause: &&Clause| clause.failure.is_of_state() && !clause.condition.holds(Some(stored));
        item.clauses().iter().find(fails).map(|clause| clause.failure)
    };
    draft.items.iter().find_map(failing).map_or(Ok(()), |failure| Err(PlanRefusal::Refused(failure)))
}

/// Why a command that is stale at its request is refused. The version in an adjustment is that of its break, and a counter's id
/// was taken, so it is the same when the items are read again; what every other command names was read for the request.
fn refused_as_stale(command: &Command) -> Failure {
    if matches!(command, Command::Adjustment(_)) {
        Failure::WrongState
    } else if matches!(command, Command::CounterOpen { .. }) {
        Failure::AlreadyExists
    } else {
        Failure::StalePlan
    }
}

/// An act of a member on an approval.
pub(super) fn act<'a>(by: &StaffMember, operation: Operation, approval: &Approval) -> Act<'a> {
    let act = Act::new(by.actor(), operation, approval.command.subject())
        .with("approval_id", approval.id)
        .with("command", approval.command.operation())
        .with("requested_by", approval.requested_by);
    let Effect { amount, count, .. } = approval.command.effect();
    let act = match amount {
        Some(amount) => act.with("amount", amount.text()).with("asset", amount.asset()),
        None => act,
    };
    match count {
        Some(count) => act.with("customers", count),
        None => act,
    }
}
