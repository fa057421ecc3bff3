//! PaymentIntents: creation, confirmation, cancellation, and the results of payment attempts. A success or a decline
//! creates a charge.

use crate::error::{ErrorType, StripeError};
use crate::forms::MetadataPatch;
use crate::money;
use crate::objects::{Charge, Metadata, Object, PaymentIntent};
use crate::statuses::IntentStatus;
use crate::store::Change;
use serde_json::{Value, json};

/// The payment method whose attempts succeed.
pub(crate) const PAYS: &str = "pm_card_visa";
/// Payment methods whose attempts are declined, with the bank's reason.
const DECLINED: [(&str, &str); 3] = [
    ("pm_card_chargeDeclined", "generic_decline"),
    ("pm_card_visa_chargeDeclined", "generic_decline"),
    ("pm_card_chargeDeclinedInsufficientFunds", "insufficient_funds"),
];
const UNEXPECTED_STATE: &str = "payment_intent_unexpected_state";

/// The parameters of a new PaymentIntent.
#[derive(Debug, Clone)]
pub(crate) struct Create {
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) metadata: Metadata,
    pub(crate) description: Option<String>,
    pub(crate) receipt_email: Option<String>,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) customer: Option<String>,
    pub(crate) payment_method: Option<String>,
    pub(crate) payment_method_types: Vec<String>,
    pub(crate) automatic_payment_methods: bool,
    pub(crate) confirm: bool,
}

/// The parameters of an update.
#[derive(Debug, Clone, Default)]
pub(crate) struct Update {
    pub(crate) metadata: Option<MetadataPatch>,
    pub(crate) description: Option<String>,
    pub(crate) receipt_email: Option<String>,
    pub(crate) amount: Option<i64>,
    pub(crate) payment_method: Option<String>,
}

/// The result of a payment attempt.
#[derive(Debug, Clone)]
pub(crate) enum Attempt {
    Paid,
    /// Declined, with the bank's reason: Stripe's `decline_code`.
    Declined(String),
}

/// Creates a PaymentIntent, and confirms it if requested.
pub(crate) fn create(change: &mut Change<'_>, create: Create) -> Result<Value, StripeError> {
    if let Some(method) = &create.payment_method {
        attempt_with(method)?;
    }
    let id = change.fresh("pi");
    let account = change.caller.account.clone();
    let status = match create.payment_method {
        Some(_) => IntentStatus::RequiresConfirmation,
        None => IntentStatus::RequiresPaymentMethod,
    };
    let types =
        if create.payment_method_types.is_empty() { vec!["card".to_owned()] } else { create.payment_method_types };
    let intent = PaymentIntent {
        client_secret: format!("{id}_secret_{}", crate::ids::random_letters()),
        id: id.clone(),
        amount: create.amount,
        currency: create.currency,
        status,
        created: change.now_s,
        metadata: create.metadata,
        description: create.description,
        receipt_email: create.receipt_email,
        statement_descriptor: create.statement_descriptor,
        customer: create.customer,
        payment_method: create.payment_method,
        payment_method_types: types,
        automatic_payment_methods: create.automatic_payment_methods,
        latest_charge: None,
        cancellation_reason: None,
        canceled_at: None,
        last_payment_error: None,
        account: account.clone(),
    };
    let json = intent.json();
    change.state.payment_intents.insert(intent);
    change.emit("payment_intent.created", account, json.clone(), None);
    if create.confirm { confirm(change, &id, None) } else { Ok(json) }
}

/// Updates metadata and other members.
pub(crate) fn update(change: &mut Change<'_>, id: &str, update: Update) -> Result<Value, StripeError> {
    if let Some(method) = &update.payment_method {
        attempt_with(method)?;
    }
    let intent = change.state.payment_intents.find_mut(id, "intent")?;
    let touches_payment = update.amount.is_some() || update.payment_method.is_some();
    if touches_payment && !intent.status.is_open() {
        let message = format!(
            "This PaymentIntent's amount and payment method could not be updated because it has a status of {}.",
            intent.status.name()
        );
        return Err(unexpected(intent, message));
    }
    if let Some(amount) = update.amount {
        money::check(amount, &intent.currency)?;
        intent.amount = amount;
    }
    if update.payment_method.is_some() {
        intent.payment_method = update.payment_method;
        intent.status = IntentStatus::RequiresConfirmation;
    }
    intent.description = update.description.or_else(|| intent.description.take());
    intent.receipt_email = update.receipt_email.or_else(|| intent.receipt_email.take());
    if let Some(patch) = update.metadata {
        apply(&mut intent.metadata, patch);
    }
    Ok(intent.json())
}

/// Attempts the payment with the given method, or with the one that is set.
pub(crate) fn confirm(change: &mut Change<'_>, id: &str, method: Option<String>) -> Result<Value, StripeError> {
    let intent = change.state.payment_intents.find_mut(id, "intent")?;
    if intent.status == IntentStatus::Succeeded {
        let message = "You cannot confirm this PaymentIntent because it has already succeeded after being previously \
                       confirmed.";
        return Err(unexpected(intent, message));
    }
    if !intent.status.is_open() {
        let message = format!(
            "You cannot confirm this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of \
             the following statuses may be confirmed: requires_confirmation, requires_action.",
            intent.status.name()
        );
        return Err(unexpected(intent, message));
    }
    let Some(method) = method.or_else(|| intent.payment_method.clone()) else {
        let message = "You cannot confirm this PaymentIntent because it's missing a payment method. You can either \
                       update the PaymentIntent with a payment method and then confirm it again, or confirm it again \
                       directly with a payment method or ConfirmationToken.";
        return Err(unexpected(intent, message));
    };
    let attempt = attempt_with(&method)?;
    intent.payment_method = Some(method);
    finish(change, id, attempt.clone())?;
    let intent = change.state.payment_intents.find(id, "intent")?;
    match attempt {
        Attempt::Paid => Ok(intent.json()),
        Attempt::Declined(_) => Err(declined(intent)),
    }
}

/// Cancels a PaymentIntent that waits for its payer.
pub(crate) fn cancel(change: &mut Change<'_>, id: &str, reason: Option<String>) -> Result<Value, StripeError> {
    let now_s = change.now_s;
    let intent = change.state.payment_intents.find_mut(id, "intent")?;
    if !intent.status.is_open() {
        let message = format!(
            "You cannot cancel this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of the \
             following statuses may be canceled: requires_payment_method, requires_capture, requires_confirmation, \
             requires_action, processing.",
            intent.status.name()
        );
        return Err(unexpected(intent, message));
    }
    intent.status = IntentStatus::Canceled;
    intent.cancellation_reason = reason;
    intent.canceled_at = Some(now_s);
    let (json, account) = (intent.json(), intent.account.clone());
    change.emit("payment_intent.canceled", account, json.clone(), None);
    Ok(json)
}

/// Sets the status to processing: the payer has acted and the bank has not answered.
pub(crate) fn process(change: &mut Change<'_>, id: &str) -> Result<Value, StripeError> {
    let intent = change.state.payment_intents.find_mut(id, "intent")?;
    if !intent.status.is_open() {
        return Err(wrong_state(intent, "be processed", "waits for its payer"));
    }
    intent.status = IntentStatus::Processing;
    intent.payment_method.get_or_insert_with(|| PAYS.to_owned());
    let (json, account) = (intent.json(), intent.account.clone());
    change.emit("payment_intent.processing", account, json.clone(), None);
    Ok(json)
}

/// Ends the attempt of a PaymentIntent that is open or processing.
pub(crate) fn finish(change: &mut Change<'_>, id: &str, attempt: Attempt) -> Result<Value, StripeError> {
    let (charge_id, transaction) = (change.fresh("ch"), change.fresh("txn"));
    let now_s = change.now_s;
    let intent = change.state.payment_intents.find_mut(id, "intent")?;
    if !intent.status.is_open() && intent.status != IntentStatus::Processing {
        let verb = match attempt {
            Attempt::Paid => "succeed",
            Attempt::Declined(_) => "fail",
        };
        return Err(wrong_state(intent, verb, "waits for its payer or is processing"));
    }
    let method = intent.payment_method.get_or_insert_with(|| PAYS.to_owned()).clone();
    let failure = match &attempt {
        Attempt::Paid => None,
        Attempt::Declined(_) => Some(("card_declined".to_owned(), "Your card was declined.".to_owned())),
    };
    let charge = Charge {
        id: charge_id.clone(),
        amount: intent.amount,
        amount_refunded: 0,
        currency: intent.currency.clone(),
        created: now_s,
        payment_intent: id.to_owned(),
        payment_method: Some(method.clone()),
        customer: intent.customer.clone(),
        description: intent.description.clone(),
        receipt_email: intent.receipt_email.clone(),
        metadata: intent.metadata.clone(),
        balance_transaction: failure.is_none().then_some(transaction),
        failure,
        disputed: false,
        account: intent.account.clone(),
    };
    intent.latest_charge = Some(charge_id.clone());
    let (charge_event, intent_event) = match attempt {
        Attempt::Paid => {
            intent.status = IntentStatus::Succeeded;
            intent.last_payment_error = None;
            ("charge.succeeded", "payment_intent.succeeded")
        }
        Attempt::Declined(decline_code) => {
            intent.status = IntentStatus::RequiresPaymentMethod;
            // A declined payment method is removed, so that the payer chooses another one.
            intent.payment_method = None;
            intent.last_payment_error = Some(json!({
                "charge": charge_id,
                "code": "card_declined",
                "decline_code": decline_code,
                "doc_url": "https://stripe.com/docs/error-codes/card-declined",
                "message": "Your card was declined.",
                "payment_method": {"id": method, "object": "payment_method", "type": "card"},
                "type": "card_error",
            }));
            ("charge.failed", "payment_intent.payment_failed")
        }
    };
    let (json, account) = (intent.json(), intent.account.clone());
    let charge_json = charge.json();
    change.state.charges.insert(charge);
    change.emit(charge_event, account.clone(), charge_json, None);
    change.emit(intent_event, account, json.clone(), None);
    Ok(json)
}

/// The result of attempts with one of Stripe's test payment methods.
pub(crate) fn attempt_with(method: &str) -> Result<Attempt, StripeError> {
    if method == PAYS {
        return Ok(Attempt::Paid);
    }
    match DECLINED.iter().find(|(name, _)| *name == method) {
        Some((_, reason)) => Ok(Attempt::Declined((*reason).to_owned())),
        None => {
            let message = format!("No such PaymentMethod: '{method}'");
            Err(StripeError::parameter("resource_missing", "payment_method", message))
        }
    }
}

/// Sets, changes and removes metadata. An empty patch removes all keys.
pub(crate) fn apply(metadata: &mut Metadata, patch: MetadataPatch) {
    if patch.is_empty() {
        metadata.clear();
    }
    for (key, value) in patch {
        if value.is_empty() {
            metadata.remove(&key);
        } else {
            metadata.insert(key, value);
        }
    }
}

fn declined(intent: &PaymentIntent) -> StripeError {
    let last = intent.last_payment_error.clone().unwrap_or_default();
    let member = |name: &str| last.get(name).cloned().unwrap_or_default();
    StripeError::new(402, ErrorType::Card, Some("card_declined"), "Your card was declined.")
        .with("charge", member("charge"))
        .with("decline_code", member("decline_code"))
        .with("payment_method", member("payment_method"))
        .with("payment_intent", intent.json())
        .retry(false)
}

fn unexpected(intent: &PaymentIntent, message: impl Into<String>) -> StripeError {
    StripeError::refused(Some(UNEXPECTED_STATE), message).with("payment_intent", intent.json())
}

fn wrong_state(intent: &PaymentIntent, verb: &str, only: &str) -> StripeError {
    let status = intent.status.name();
    unexpected(intent, format!("the PaymentIntent {} is {status}: only one that {only} can {verb}", intent.id))
}
