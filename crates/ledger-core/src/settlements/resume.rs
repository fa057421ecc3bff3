//! The operator resumes a stuck settlement: its saga is run again, from the start.

use super::record::Settlement;
use crate::audit::Act;
use crate::dynamo::{Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::transaction::{Draft, Planned};

/// Makes a settlement that was read due at once.
///
/// # Errors
/// [`PlanRefusal`] unless it is stuck.
pub fn plan(
    tenant: &Tenant,
    settlement: &Settlement,
    actor: Actor,
    reason: Option<&FreeText>,
    cx: &Context,
) -> Result<Planned<Settlement>, PlanRefusal> {
    if settlement.stuck_at.is_none() || settlement.state.is_over() {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    // A new run number, even if the last run was not recorded: a state machine accepts each run's name once only.
    let update = settlement.due(tenant, cx.now).set(Update::new().add("runs", "one", Value::int(1))).remove("stuck_at");
    let act = Act::new(actor, Operation::SettlementResume, format!("merchant:{}", settlement.merchant))
        .because(reason)
        .with("settlement_id", settlement.id)
        .with("state", settlement.state);
    let items = vec![settlement.changed(tenant, update, cx.now), act.record(tenant, cx)];
    let receipt = Settlement { stuck_at: None, ..settlement.clone() };
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}
