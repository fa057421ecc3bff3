//! Builds what is demanded of requests with records of their own. Members and records are
//! read from the state.

use super::build::{self, Made, NoPlan};
use super::command::Does;
use super::decode::World;
use crate::declared::{self, declared};
use crate::wire;
use ledger_core::approvals::{
    RecordedRequest, RequestDecision, RequestSummary, guard_approval, plan_listed, plan_request_rejection,
    plan_request_withdrawal, plan_request_withdrawal_of_disabled,
};
use ledger_core::idempotency::{Answer, Claim};
use ledger_core::ids::{Employer, StaffId};
use ledger_core::keys;
use ledger_core::staff::StaffMember;
use ledger_core::transaction::{Draft, Planned, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A request or a decision. `summary` is the inbox's item, `by` the member's id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum RecordedDoes {
    /// What `does` requests, listed in the inbox.
    List {
        by: String,
        summary: Json,
        does: Box<Does>,
    },
    /// The approval `does`: at the record's own endpoint, or at the inbox.
    Approve {
        by: String,
        summary: Json,
        inbox: bool,
        does: Box<Does>,
    },
    Reject {
        by: String,
        summary: Json,
    },
    Withdraw {
        by: String,
        summary: Json,
    },
    WithdrawOfDisabled {
        by: String,
        summary: Json,
    },
}

type Given<'a> = (Option<&'a Claim>, Option<&'a Answer>);

pub(super) fn make(world: &World, does: &RecordedDoes, given: Given<'_>) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let member = |id: StaffId| {
        let key = keys::staff_member(tenant, Employer::Operator, id);
        StaffMember::read(Employer::Operator, world.must(&key)).unwrap()
    };
    let named = |id: &str| member(StaffId::parse(id).unwrap());
    let summary = |json: &Json| RequestSummary::read(&wire::item_from_json(json)).unwrap();
    let request = |json: &Json| {
        let summary = summary(json);
        let key = summary.record.key(tenant);
        RecordedRequest::read(summary, world.must(&key)).unwrap()
    };
    let both = || (given.0.expect("a claim").clone(), given.1.expect("an answer").clone());
    let planned = |does: &Does| -> Result<Planned<()>, NoPlan> {
        match build::make(world, does, both, given)? {
            Made::Draft(draft) => Ok(Planned { draft, receipt: () }),
            Made::Whole(_) | Made::Change(_) | Made::Nothing => panic!("a request or decision has a draft"),
        }
    };
    let draft: Draft = match does {
        RecordedDoes::List { by, summary: json, does } => {
            plan_listed(tenant, &named(by), &summary(json), planned(does)?)?.draft
        }
        RecordedDoes::Approve { by, summary, inbox, does } => {
            let (request, decider) = (request(summary), named(by));
            let requester = member(request.summary.requested_by);
            let decision = RequestDecision { tenant, request: &request, decider: &decider };
            let draft = guard_approval(&decision, (&requester, &declared::keys()), planned(does)?, cx)?.draft;
            if *inbox {
                let (claim, answer) = both();
                let answer = declared(claim.operation, answer);
                let from = request.provenance(tenant, &decider, cx.now);
                let assembled = Transaction::assemble_as(draft, &claim, &answer, &declared::keys(), &from);
                return Ok(Made::Whole(assembled.unwrap()));
            }
            draft
        }
        RecordedDoes::Reject { by, summary } => {
            let (request, decider) = (request(summary), named(by));
            plan_request_rejection(&RequestDecision { tenant, request: &request, decider: &decider }, cx)?.draft
        }
        RecordedDoes::Withdraw { by, summary } => {
            plan_request_withdrawal(tenant, &request(summary), &named(by), cx)?.draft
        }
        RecordedDoes::WithdrawOfDisabled { by, summary } => {
            let request = request(summary);
            let requester = member(request.summary.requested_by);
            let planned = plan_request_withdrawal_of_disabled(tenant, &request, &requester, &named(by), cx)?;
            return Ok(Made::Whole(Transaction::unkeyed(planned.draft.items).unwrap()));
        }
    };
    Ok(Made::Draft(draft))
}
