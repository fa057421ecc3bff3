//! Payouts from the Stripe balance to a bank account. The simulator has no balance, so every valid payout is accepted.

use crate::error::StripeError;
use crate::objects::{Metadata, Object, Payout};
use crate::statuses::PayoutStatus;
use crate::store::{Change, previous_attributes};
use serde_json::Value;

/// The time until the arrival date: two days.
const ARRIVES_AFTER_S: i64 = 2 * 24 * 3600;

/// The parameters of a new payout.
#[derive(Debug, Clone)]
pub(crate) struct Create {
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) metadata: Metadata,
    pub(crate) description: Option<String>,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) destination: Option<String>,
    pub(crate) method: Option<String>,
}

/// Creates a pending payout.
pub(crate) fn create(change: &mut Change<'_>, create: Create) -> Result<Value, StripeError> {
    let account = change.caller.account.clone();
    let payout = Payout {
        id: change.fresh("po"),
        amount: create.amount,
        currency: create.currency,
        status: PayoutStatus::Pending,
        method: create.method.unwrap_or_else(|| "standard".to_owned()),
        description: create.description,
        statement_descriptor: create.statement_descriptor,
        destination: create.destination.unwrap_or_else(|| "ba_local".to_owned()),
        metadata: create.metadata,
        failure: None,
        balance_transaction: change.fresh("txn"),
        failure_balance_transaction: None,
        created: change.now_s,
        arrival_date: change.now_s.saturating_add(ARRIVES_AFTER_S),
        account: account.clone(),
    };
    let json = payout.json();
    change.state.payouts.insert(payout);
    change.emit("payout.created", account, json.clone(), None);
    Ok(json)
}

/// Completes a pending payout.
pub(crate) fn pay(change: &mut Change<'_>, id: &str) -> Result<Value, StripeError> {
    let payout = change.state.payouts.find_mut(id, "payout")?;
    if payout.status != PayoutStatus::Pending {
        return Err(wrong_state(payout, "be paid", "is pending"));
    }
    let before = payout.json();
    payout.status = PayoutStatus::Paid;
    Ok(changed(change, id, &before, "payout.paid"))
}

/// Fails a payout, even if it was paid before.
pub(crate) fn fail(change: &mut Change<'_>, id: &str, code: Option<String>) -> Result<Value, StripeError> {
    let transaction = change.fresh("txn");
    let payout = change.state.payouts.find_mut(id, "payout")?;
    if payout.status == PayoutStatus::Failed {
        return Err(wrong_state(payout, "fail", "is pending or paid"));
    }
    let before = payout.json();
    payout.status = PayoutStatus::Failed;
    let code = code.unwrap_or_else(|| "could_not_process".to_owned());
    payout.failure = Some((code, "The bank could not process this payout.".to_owned()));
    payout.failure_balance_transaction = Some(transaction);
    Ok(changed(change, id, &before, "payout.failed"))
}

fn changed(change: &mut Change<'_>, id: &str, before: &Value, event: &str) -> Value {
    let Some(payout) = change.state.payouts.get(id) else { return Value::Null };
    let (after, account) = (payout.json(), payout.account.clone());
    let previous = previous_attributes(before, &after);
    change.emit(event, account, after.clone(), previous);
    after
}

fn wrong_state(payout: &Payout, verb: &str, only: &str) -> StripeError {
    let message = format!("the payout {} is {}: only one that {only} can {verb}", payout.id, payout.status.name());
    StripeError::refused(None, message)
}
