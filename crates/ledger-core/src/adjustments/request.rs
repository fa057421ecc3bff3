//! One person requests an adjustment. Nothing moves until another approves it.

use super::record::{Adjustment, AdjustmentState, Answered, ReasonCode};
use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, AdjustmentId, StaffId, Tenant};
use crate::keys;
use crate::money::Delta;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};

/// A request for an adjustment.
#[derive(Clone, Debug)]
pub struct AdjustmentRequest {
    /// The tenant.
    pub tenant: Tenant,
    /// The staff member who requests it.
    pub staff: StaffId,
    /// The account to be adjusted: a customer's or a card's.
    pub account: Account,
    /// The signed change.
    pub delta: Delta,
    /// The reason.
    pub reason: ReasonCode,
    /// The reason, as free text.
    pub note: FreeText,
    /// The break that it corrects, if it corrects one.
    pub finding: Option<Answered>,
}

/// Stores the request as pending.
///
/// # Errors
/// [`PlanRefusal::Invalid`] for an account that has no balance item.
pub fn plan(command: &AdjustmentRequest, cx: &Context) -> Result<Planned<Adjustment>, PlanRefusal> {
    let AdjustmentRequest { tenant, staff, account, delta, reason, note, finding } = command;
    if !account.has_balance_item() {
        return Err(PlanRefusal::Invalid { field: "account", why: "must be a customer's or a card's" });
    }
    let adjustment = Adjustment {
        id: AdjustmentId::new(cx.resource_id),
        account: *account,
        delta: delta.clone(),
        reason: *reason,
        requested_by: *staff,
        state: AdjustmentState::Pending.name().to_owned(),
        created_at: cx.now,
        finding: finding.clone(),
    };
    let mut item = adjustment.item();
    item.extend(crate::plan::memo_attribute(Some(note)));
    let act = Act::new(Actor::Staff(*staff), Operation::AdjustmentRequest, account)
        .because(Some(note))
        .with("adjustment_id", adjustment.id)
        .with("reason_code", reason.name())
        .with("delta", delta.text())
        .with("asset", delta.asset());
    let key = keys::adjustment(tenant, adjustment.id);
    let mut items =
        vec![TransactItem::put_new(Role::Adjustment, key, item, Failure::AlreadyExists), act.record(tenant, cx)];
    items.extend(finding.as_ref().map(|finding| answer_break(tenant, finding, adjustment.id)));
    Ok(Planned { draft: Draft { entry: None, items }, receipt: adjustment })
}

/// Links a break to its adjustment. A break has one adjustment: after a rejection the next run must find it anew.
fn answer_break(tenant: &Tenant, answered: &Answered, by: AdjustmentId) -> TransactItem {
    let once = Clause { condition: Condition::absent("adjustment_id"), failure: Failure::AlreadyExists };
    let update = Update::new().set("adjustment_id", "adjustment", Value::s(by));
    let key = keys::found_break(tenant, answered.run, answered.finding);
    TransactItem::update(Role::Reconciliation, key, update, vec![exists(), once])
}
