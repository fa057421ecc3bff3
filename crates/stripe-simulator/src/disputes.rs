//! Disputes: the payer's bank takes back the money of a charge, and the dispute may be won or lost.
//!
//! Only the dev controls create them, because at Stripe they come from the bank.

use crate::error::StripeError;
use crate::objects::{Dispute, Object};
use crate::statuses::DisputeStatus;
use crate::store::{Change, previous_attributes};
use serde_json::Value;

/// The time to submit evidence: one week.
const EVIDENCE_DUE_S: i64 = 7 * 24 * 3600;

/// The parameters of a dispute.
#[derive(Debug, Clone, Default)]
pub(crate) struct Open {
    /// The amount; all that is not refunded if absent.
    pub(crate) amount: Option<i64>,
    pub(crate) reason: Option<String>,
}

/// Opens a dispute and withdraws its amount.
pub(crate) fn open(change: &mut Change<'_>, intent: &str, open: Open) -> Result<Value, StripeError> {
    let (id, withdrawn) = (change.fresh("dp"), change.fresh("txn"));
    let now_s = change.now_s;
    let charge_id = change.state.payment_intents.find(intent, "payment_intent")?.latest_charge.clone();
    let charge = charge_id.and_then(|id| change.state.charges.get_mut(&id)).filter(|charge| charge.paid());
    let Some(charge) = charge else {
        let message = format!("the PaymentIntent {intent} has no successful charge to dispute");
        return Err(StripeError::refused(None, message));
    };
    if charge.disputed {
        let message = format!("the charge {} is disputed already", charge.id);
        return Err(StripeError::refused(None, message));
    }
    let left = charge.refundable();
    let amount = open.amount.unwrap_or(left);
    if !(1..=left).contains(&amount) {
        let message = format!("a dispute of {amount} does not fit the {left} that are left of charge {}", charge.id);
        return Err(StripeError::refused(None, message));
    }
    charge.disputed = true;
    let dispute = Dispute {
        id,
        amount,
        currency: charge.currency.clone(),
        charge: charge.id.clone(),
        payment_intent: intent.to_owned(),
        status: DisputeStatus::NeedsResponse,
        reason: open.reason.unwrap_or_else(|| "fraudulent".to_owned()),
        withdrawn,
        reinstated: None,
        withdrawn_again: None,
        created: now_s,
        evidence_due_by: now_s.saturating_add(EVIDENCE_DUE_S),
        account: charge.account.clone(),
    };
    let (json, account) = (dispute.json(), dispute.account.clone());
    change.state.disputes.insert(dispute);
    change.emit("charge.dispute.created", account.clone(), json.clone(), None);
    change.emit("charge.dispute.funds_withdrawn", account, json.clone(), None);
    Ok(json)
}

/// Decides a dispute for the merchant: the money is reinstated.
pub(crate) fn win(change: &mut Change<'_>, id: &str) -> Result<Value, StripeError> {
    close(change, id, DisputeStatus::Won)
}

/// Decides a dispute for the payer.
pub(crate) fn lose(change: &mut Change<'_>, id: &str) -> Result<Value, StripeError> {
    close(change, id, DisputeStatus::Lost)
}

/// Overturns a won dispute, as a card network can: the money is withdrawn again.
pub(crate) fn overturn(change: &mut Change<'_>, id: &str) -> Result<Value, StripeError> {
    let again = change.fresh("txn");
    let dispute = change.state.disputes.find_mut(id, "dispute")?;
    if dispute.status != DisputeStatus::Won {
        let message = format!("the dispute {id} is {}, and was not won", dispute.status.name());
        return Err(StripeError::refused(None, message));
    }
    let before = dispute.json();
    dispute.status = DisputeStatus::Lost;
    dispute.withdrawn_again = Some(again);
    let (after, account) = (dispute.json(), dispute.account.clone());
    let previous = previous_attributes(&before, &after);
    change.emit("charge.dispute.funds_withdrawn", account, after.clone(), previous);
    Ok(after)
}

fn close(change: &mut Change<'_>, id: &str, status: DisputeStatus) -> Result<Value, StripeError> {
    let reinstated = change.fresh("txn");
    let dispute = change.state.disputes.find_mut(id, "dispute")?;
    if dispute.status != DisputeStatus::NeedsResponse {
        let message = format!("the dispute {id} is {} already: it is closed", dispute.status.name());
        return Err(StripeError::refused(None, message));
    }
    let before = dispute.json();
    dispute.status = status;
    if status == DisputeStatus::Won {
        dispute.reinstated = Some(reinstated);
    }
    let (after, account) = (dispute.json(), dispute.account.clone());
    let previous = previous_attributes(&before, &after);
    if status == DisputeStatus::Won {
        change.emit("charge.dispute.funds_reinstated", account.clone(), after.clone(), previous.clone());
    }
    change.emit("charge.dispute.closed", account, after.clone(), previous);
    Ok(after)
}
