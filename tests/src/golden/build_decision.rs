//! Builds decisions about top-ups and refunds that the PSP contradicts.

use super::build::{Made, NoPlan};
use super::build_topup::Records;
use super::command::{AnswerJson, FactJson};
use super::command_hold::Maybe;
use super::decode::{self, World};
use ledger_core::ids::{DecisionId, StaffId, TopupId};
use ledger_core::keys;
use ledger_core::plan::PlanRefusal;
use ledger_core::topups::{Basis, DecisionKind, TopupDecision, decision};
use serde::{Deserialize, Serialize};

/// A decision that is requested or approved. Records, markers and the decision are read from the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's decisions, where they are described")]
pub enum DecisionDoes {
    Request {
        staff: String,
        topup: String,
        refund: Maybe<String>,
        way: String,
        fact: Maybe<FactJson>,
        note: String,
    },
    Approve {
        staff: String,
        topup: String,
        refund: Maybe<String>,
        decision: String,
        fact: Maybe<FactJson>,
        /// The response of the operation's key, if none is stored yet.
        landing: AnswerJson,
    },
}

pub(super) fn make(world: &World, does: &DecisionDoes) -> Result<Made, NoPlan> {
    let (DecisionDoes::Request { staff, topup, refund, fact, .. }
    | DecisionDoes::Approve { staff, topup, refund, fact, .. }) = does;
    let staff = StaffId::parse(staff).unwrap();
    let records = Records::read(world, topup, refund.as_deref())?;
    let fact = fact.as_ref().map(|fact| records.fact(world, fact));
    let (flight, wallet) = (records.flight(world), world.wallet(records.topup.wallet()));
    let view = records.view(world, &wallet, None);
    let basis = Basis { view: &view, fact: fact.as_ref(), flight: flight.as_ref() };
    let draft = match does {
        DecisionDoes::Request { way, note, .. } => {
            let by = (staff, &decode::text(note));
            let (planned, _) = decision::plan_request(&basis, DecisionKind::parse(way).unwrap(), by, &world.cx)?;
            planned.draft
        }
        DecisionDoes::Approve { decision: id, landing, .. } => {
            let (topup, id) = (TopupId::parse(topup).unwrap(), DecisionId::parse(id).unwrap());
            let found = world.must(&keys::topup_decision(&world.tenant, topup, id));
            let requested = TopupDecision::read(found).map_err(PlanRefusal::from)?;
            decision::plan_approve(&basis, &requested, &decode::answer(landing), staff, &world.cx)?.draft
        }
    };
    Ok(Made::Draft(draft))
}
