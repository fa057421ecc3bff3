//! Refunds of charges, by the API or the dashboard, and their results at the bank. The amount of a failed refund can be
//! refunded again.

use crate::error::StripeError;
use crate::money;
use crate::objects::{Metadata, Object, Refund};
use crate::statuses::RefundStatus;
use crate::store::{Change, previous_attributes};
use serde_json::Value;

/// The parameters of a new refund.
#[derive(Debug, Clone, Default)]
pub(crate) struct Create {
    pub(crate) payment_intent: Option<String>,
    pub(crate) charge: Option<String>,
    /// The amount; all that is left if absent.
    pub(crate) amount: Option<i64>,
    pub(crate) metadata: Metadata,
    pub(crate) reason: Option<String>,
}

/// Creates a refund with the status set for the next refunds.
pub(crate) fn create(change: &mut Change<'_>, create: Create) -> Result<Value, StripeError> {
    let charge_id = charge_of(change, &create)?;
    let (id, transaction, failure_transaction) = (change.fresh("re"), change.fresh("txn"), change.fresh("txn"));
    let account;
    let refund = {
        let charge = change.state.charges.find(&charge_id, "charge")?;
        if charge.disputed {
            let message = format!("Charge {charge_id} has been charged back; cannot issue a refund.");
            return Err(StripeError::refused(Some("charge_disputed"), message));
        }
        let left = charge.refundable();
        if left == 0 {
            let message = format!("Charge {charge_id} has already been refunded.");
            return Err(StripeError::refused(Some("charge_already_refunded"), message));
        }
        let amount = create.amount.unwrap_or(left);
        if amount > left {
            let words = |amount| money::in_words(amount, &charge.currency);
            let message = format!(
                "Refund amount ({}) is greater than unrefunded amount on charge ({})",
                words(amount),
                words(left)
            );
            return Err(StripeError::refused(None, message).about("amount"));
        }
        account = charge.account.clone();
        Refund {
            id,
            amount,
            currency: charge.currency.clone(),
            charge: charge_id.clone(),
            payment_intent: charge.payment_intent.clone(),
            status: RefundStatus::Succeeded,
            metadata: create.metadata,
            reason: create.reason,
            failure_reason: None,
            balance_transaction: Some(transaction),
            failure_balance_transaction: None,
            created: change.now_s,
            account: account.clone(),
        }
    };
    let status = next_status(change);
    let mut refund = Refund { status, ..refund };
    if status == RefundStatus::Failed {
        refund.failure_reason = Some("unknown".to_owned());
        refund.failure_balance_transaction = Some(failure_transaction);
    }
    let json = refund.json();
    let amount = if status.counts() { refund.amount } else { 0 };
    change.state.refunds.insert(refund);
    change.emit("refund.created", account.clone(), json.clone(), None);
    if let Some((charge, previous)) = move_refunded(change, &charge_id, amount) {
        change.emit("charge.refunded", account.clone(), charge, previous);
    }
    if status == RefundStatus::Failed {
        change.emit("refund.failed", account, json.clone(), None);
    }
    Ok(json)
}

/// Completes a pending refund.
pub(crate) fn succeed(change: &mut Change<'_>, id: &str) -> Result<Value, StripeError> {
    let refund = change.state.refunds.find_mut(id, "refund")?;
    match refund.status {
        RefundStatus::Pending | RefundStatus::RequiresAction => {}
        RefundStatus::Succeeded | RefundStatus::Failed | RefundStatus::Canceled => {
            return Err(wrong_state(refund, "succeed", "is on its way"));
        }
    }
    let before = refund.json();
    refund.status = RefundStatus::Succeeded;
    let (after, account) = (refund.json(), refund.account.clone());
    updated(change, account, &before, &after);
    Ok(after)
}

/// Fails a refund, even if it has succeeded before.
pub(crate) fn fail(change: &mut Change<'_>, id: &str, reason: Option<String>) -> Result<Value, StripeError> {
    let transaction = change.fresh("txn");
    let refund = change.state.refunds.find_mut(id, "refund")?;
    if !refund.status.counts() {
        return Err(wrong_state(refund, "fail", "is on its way or has succeeded"));
    }
    let before = refund.json();
    refund.status = RefundStatus::Failed;
    refund.failure_reason = Some(reason.unwrap_or_else(|| "expired_or_canceled_card".to_owned()));
    refund.failure_balance_transaction = Some(transaction);
    let (after, account) = (refund.json(), refund.account.clone());
    let (charge, amount) = (refund.charge.clone(), refund.amount);
    move_refunded(change, &charge, amount.saturating_neg());
    updated(change, account.clone(), &before, &after);
    let previous = previous_attributes(&before, &after);
    change.emit("refund.failed", account, after.clone(), previous);
    Ok(after)
}

fn updated(change: &mut Change<'_>, account: Option<String>, before: &Value, after: &Value) {
    let previous = previous_attributes(before, after);
    change.emit("refund.updated", account.clone(), after.clone(), previous.clone());
    change.emit("charge.refund.updated", account, after.clone(), previous);
}

/// The id of the charge to refund.
fn charge_of(change: &Change<'_>, create: &Create) -> Result<String, StripeError> {
    let no_charge = |message: String, param: &str| StripeError::refused(None, message).about(param);
    match (&create.payment_intent, &create.charge) {
        (Some(id), charge) => {
            let intent = change.state.payment_intents.find(id, "payment_intent")?;
            let paid = intent.latest_charge.as_ref().and_then(|id| change.state.charges.get(id)).filter(|c| c.paid());
            let Some(paid) = paid else {
                let message = format!("This PaymentIntent ({id}) does not have a successful charge to refund.");
                return Err(no_charge(message, "payment_intent"));
            };
            match charge.as_ref().filter(|charge| **charge != paid.id) {
                None => Ok(paid.id.clone()),
                Some(other) => {
                    let message = format!("The charge {other} does not belong to the PaymentIntent {id}.");
                    Err(no_charge(message, "charge"))
                }
            }
        }
        (None, Some(id)) => {
            let charge = change.state.charges.find(id, "charge")?;
            if charge.paid() {
                return Ok(id.clone());
            }
            Err(no_charge(format!("Charge {id} is not successful and cannot be refunded."), "charge"))
        }
        (None, None) => {
            let message = "One of the following params should be provided for this request: payment_intent or charge.";
            Err(StripeError::parameter("parameter_missing", "payment_intent", message))
        }
    }
}

/// Changes the refunded amount of a charge; returns its JSON and the previous values.
fn move_refunded(change: &mut Change<'_>, charge: &str, by: i64) -> Option<(Value, Option<Value>)> {
    let charge = change.state.charges.get_mut(charge).filter(|_| by != 0)?;
    let before = charge.json();
    charge.amount_refunded = charge.amount_refunded.saturating_add(by).clamp(0, charge.amount);
    let after = charge.json();
    let previous = previous_attributes(&before, &after);
    Some((after, previous))
}

fn next_status(change: &mut Change<'_>) -> RefundStatus {
    let Some(next) = &mut change.state.next_refunds else { return RefundStatus::Succeeded };
    let status = next.status;
    if let Some(times) = &mut next.times {
        *times = times.saturating_sub(1);
        if *times == 0 {
            change.state.next_refunds = None;
        }
    }
    status
}

fn wrong_state(refund: &Refund, verb: &str, only: &str) -> StripeError {
    let message = format!("the refund {} is {}: only one that {only} can {verb}", refund.id, refund.status.name());
    StripeError::refused(None, message)
}
