//! What a decision about a top-up or refund that the PSP contradicts is carried out from.

use super::build::NoPlan;
use super::build_topup::Records;
use super::command::{AnswerJson, FactJson};
use super::command_hold::Maybe;
use super::decode::{self, World};
use ledger_core::idempotency::StoredAnswer;
use ledger_core::topups::{Basis, DecisionSeen, TopupDecision};
use serde::{Deserialize, Serialize};

/// The PSP's object. Records and markers are read from the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContradictionJson {
    /// The object; `None` if there is none.
    pub fact: Maybe<FactJson>,
    /// The response of the operation's key, if none is stored yet.
    pub landing: AnswerJson,
}

pub(super) fn with_seen<T>(
    world: &World,
    decision: &TopupDecision,
    contradiction: &ContradictionJson,
    then: impl FnOnce(&DecisionSeen<'_>) -> Result<T, NoPlan>,
) -> Result<T, NoPlan> {
    let refund = decision.refund.map(|refund| refund.to_string());
    let records = Records::read(world, &decision.topup.to_string(), refund.as_deref())?;
    let fact = contradiction.fact.as_ref().map(|fact| records.fact(world, fact));
    let (flight, wallet) = (records.flight(world), world.wallet(records.topup.wallet()));
    let view = records.view(world, &wallet, None);
    let basis = Basis { view: &view, fact: fact.as_ref(), flight: flight.as_ref() };
    then(&DecisionSeen { basis, answer: &StoredAnswer::from(&decode::answer(&contradiction.landing)) })
}
