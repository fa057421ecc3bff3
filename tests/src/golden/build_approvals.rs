//! Builds what is done about commands that another person must approve. Members and approvals are read from the state.

use super::build::{Made, NoPlan};
use super::build_decision::{ContradictionJson, with_seen};
use super::decode::{self, World};
use crate::declared::{self, declared};
use crate::wire;
use ledger_core::approvals::{
    Approval, ApprovalRequest, Approve, Command, Seen, plan_approve, plan_reject, plan_request, plan_withdraw,
    plan_withdraw_of_disabled,
};
use ledger_core::dynamo::Item;
use ledger_core::idempotency::{Answer, Claim};
use ledger_core::ids::{ApprovalId, Employer, StaffId};
use ledger_core::keys;
use ledger_core::money::{Asset, Balance};
use ledger_core::staff::StaffMember;
use ledger_core::ties::{Holders, Resolver};
use ledger_core::topups::DecisionSeen;
use ledger_core::transaction::Transaction;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A command. Members and approvals are named by their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum ApprovalDoes {
    Request {
        by: String,
        /// The stored form.
        command: Json,
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contradiction: Option<ContradictionJson>,
        /// What is owed to the merchant of a settlement, by asset.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        owed: BTreeMap<String, String>,
    },
    Approve {
        by: String,
        approval: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contradiction: Option<ContradictionJson>,
    },
    Reject {
        by: String,
        approval: String,
    },
    Withdraw {
        by: String,
        approval: String,
    },
    /// Withdraws what a disabled member requested.
    WithdrawOfDisabled {
        by: String,
        approval: String,
    },
}

pub(super) fn make(world: &World, does: &ApprovalDoes, both: impl FnOnce() -> (Claim, Answer)) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let member = |id: StaffId| {
        let key = keys::staff_member(tenant, Employer::Operator, id);
        StaffMember::read(Employer::Operator, world.must(&key)).unwrap()
    };
    let named = |id: &str| member(StaffId::parse(id).unwrap());
    let stored =
        |id: &str| Approval::read(world.must(&keys::approval(tenant, ApprovalId::parse(id).unwrap()))).unwrap();
    let items = |command: &Command| -> Vec<Option<Item>> {
        command.keys(tenant, &world.terms()).iter().map(|key| world.get(key).cloned()).collect()
    };
    let holders = |command: &Command, members: &[&StaffMember]| -> Result<Holders, NoPlan> {
        let keys = declared::keys();
        let resolver = Resolver::new(tenant, members.iter().copied(), command.scope(), &keys);
        Ok(resolver.resolve(|key| world.get(key).cloned())?)
    };
    let draft = match does {
        ApprovalDoes::Request { by, command, reason, contradiction, owed } => {
            let (terms, command) = (world.terms(), Command::read(&wire::item_from_json(command)).unwrap());
            let (by, reason, items) = (named(by), decode::maybe_text(reason), items(&command));
            let owed = owed.iter().map(|(asset, owed)| {
                let asset = Asset::parse(asset).unwrap();
                (asset.clone(), Balance::from_stored(asset, owed).unwrap())
            });
            let (owed, keys, holders) = (owed.collect(), declared::keys(), &holders(&command, &[&by])?);
            seeing(world, &command, contradiction.as_ref(), |decision| {
                let (terms, items, owed, keys) = (&terms, &items, &owed, &keys);
                let seen = Seen { terms, psp: None, items, decision, owed, keys, holders };
                let (command, reason) = (command.clone(), reason.as_ref());
                let present = |key| world.get(&key).cloned().map(|item| (key, item));
                let guarded = command.guarded(tenant).into_iter().filter_map(present).collect();
                let request = ApprovalRequest { tenant, by: &by, command, reason, seen, guarded: &guarded };
                Ok(plan_request(&request, cx)?.draft)
            })?
        }
        ApprovalDoes::Approve { by, approval, contradiction } => {
            let (decider, approval, terms) = (named(by), stored(approval), world.terms());
            let (requester, items) = (member(approval.requested_by), items(&approval.command));
            let (owed, keys) = (BTreeMap::new(), declared::keys());
            let holders = &holders(&approval.command, &[&decider, &requester])?;
            let (planned, from) = seeing(world, &approval.command, contradiction.as_ref(), |decision| {
                let (terms, items, owed, keys) = (&terms, &items, &owed, &keys);
                let seen = Seen { terms, psp: None, items, decision, owed, keys, holders };
                let command = Approve { tenant, approval: &approval, decider: &decider, requester: &requester, seen };
                Ok(plan_approve(&command, cx)?)
            })?;
            let (claim, answer) = both();
            let answer = declared(claim.operation, answer);
            let assembled = Transaction::assemble_as(planned.draft, &claim, &answer, &declared::keys(), &from);
            return Ok(Made::Whole(assembled.unwrap()));
        }
        ApprovalDoes::Reject { by, approval } => {
            let (approval, decider) = (stored(approval), named(by));
            let holders = holders(&approval.command, &[&decider])?;
            plan_reject(tenant, &approval, (&decider, &holders), cx)?.draft
        }
        ApprovalDoes::Withdraw { by, approval } => {
            let (approval, by) = (stored(approval), named(by));
            let holders = holders(&approval.command, &[&by])?;
            plan_withdraw(tenant, &approval, (&by, Some(&holders)), cx)?.draft
        }
        ApprovalDoes::WithdrawOfDisabled { by, approval } => {
            let approval = stored(approval);
            let requester = member(approval.requested_by);
            let planned = plan_withdraw_of_disabled(tenant, &approval, &requester, &named(by), cx)?;
            return Ok(Made::Whole(Transaction::unkeyed(planned.draft.items).unwrap()));
        }
    };
    Ok(Made::Draft(draft))
}

/// What a command is planned from beside its items.
fn seeing<T>(
    world: &World,
    command: &Command,
    contradiction: Option<&ContradictionJson>,
    then: impl FnOnce(Option<&DecisionSeen<'_>>) -> Result<T, NoPlan>,
) -> Result<T, NoPlan> {
    match (command, contradiction) {
        (Command::TopupDecision(decision), Some(of)) => with_seen(world, decision, of, |seen| then(Some(seen))),
        (_, None) => then(None),
        (_, Some(_)) => panic!("only a decision about a top-up has a contradiction"),
    }
}
