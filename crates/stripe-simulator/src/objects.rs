//! The objects of the simulator, and Stripe's v1 JSON of each. Constant members exist in the JSON only.

use crate::statuses::{DisputeStatus, IntentStatus, PayoutStatus, RefundStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Stripe's metadata.
pub(crate) type Metadata = BTreeMap<String, String>;

/// Members of a charge that are always null.
const CHARGE_NULLS: [&str; 16] = [
    "application",
    "application_fee",
    "application_fee_amount",
    "calculated_statement_descriptor",
    "failure_balance_transaction",
    "on_behalf_of",
    "receipt_number",
    "receipt_url",
    "review",
    "shipping",
    "source",
    "source_transfer",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
];

/// An object of any kind.
pub(crate) trait Object {
    /// The kind in Stripe's messages.
    const NOUN: &'static str;
    fn id(&self) -> &str;
    fn created(&self) -> i64;
    /// Stripe's JSON of the object.
    fn json(&self) -> Value;
}

/// A payment, from the first to the last attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PaymentIntent {
    pub(crate) id: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) status: IntentStatus,
    pub(crate) client_secret: String,
    pub(crate) created: i64,
    pub(crate) metadata: Metadata,
    pub(crate) description: Option<String>,
    pub(crate) receipt_email: Option<String>,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) customer: Option<String>,
    pub(crate) payment_method: Option<String>,
    pub(crate) payment_method_types: Vec<String>,
    pub(crate) automatic_payment_methods: bool,
    pub(crate) latest_charge: Option<String>,
    pub(crate) cancellation_reason: Option<String>,
    pub(crate) canceled_at: Option<i64>,
    pub(crate) last_payment_error: Option<Value>,
    /// The connected account for which it was created.
    pub(crate) account: Option<String>,
}

impl Object for PaymentIntent {
    const NOUN: &'static str = "payment_intent";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn json(&self) -> Value {
        let received = if self.status == IntentStatus::Succeeded { self.amount } else { 0 };
        let automatic = self.automatic_payment_methods.then(|| json!({"allow_redirects": "always", "enabled": true}));
        json!({
            "id": self.id,
            "object": "payment_intent",
            "amount": self.amount,
            "amount_capturable": 0,
            "amount_details": {"tip": {}},
            "amount_received": received,
            "application": null,
            "application_fee_amount": null,
            "automatic_payment_methods": automatic,
            "canceled_at": self.canceled_at,
            "cancellation_reason": self.cancellation_reason,
            "capture_method": "automatic",
            "client_secret": self.client_secret,
            "confirmation_method": "automatic",
            "created": self.created,
            "currency": self.currency,
            "customer": self.customer,
            "description": self.description,
            "last_payment_error": self.last_payment_error,
            "latest_charge": self.latest_charge,
            "livemode": false,
            "metadata": self.metadata,
            "next_action": null,
            "on_behalf_of": null,
            "payment_method": self.payment_method,
            "payment_method_configuration_details": null,
            "payment_method_options": {},
            "payment_method_types": self.payment_method_types,
            "processing": null,
            "receipt_email": self.receipt_email,
            "review": null,
            "setup_future_usage": null,
            "shipping": null,
            "source": null,
            "statement_descriptor": self.statement_descriptor,
            "statement_descriptor_suffix": null,
            "status": self.status,
            "transfer_data": null,
            "transfer_group": null,
        })
    }
}

/// One attempt to take the money of a PaymentIntent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) id: String,
    pub(crate) amount: i64,
    pub(crate) amount_refunded: i64,
    pub(crate) currency: String,
    pub(crate) created: i64,
    pub(crate) payment_intent: String,
    pub(crate) payment_method: Option<String>,
    pub(crate) customer: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) receipt_email: Option<String>,
    /// A copy of the PaymentIntent's metadata at the time of the attempt.
    pub(crate) metadata: Metadata,
    /// The code and message of a failed attempt.
    pub(crate) failure: Option<(String, String)>,
    pub(crate) disputed: bool,
    pub(crate) balance_transaction: Option<String>,
    pub(crate) account: Option<String>,
}

impl Charge {
    /// The amount that can still be refunded.
    pub(crate) fn refundable(&self) -> i64 {
        self.amount.saturating_sub(self.amount_refunded)
    }

    /// Whether the attempt succeeded.
    pub(crate) fn paid(&self) -> bool {
        self.failure.is_none()
    }
}

impl Object for Charge {
    const NOUN: &'static str = "charge";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn json(&self) -> Value {
        let paid = self.paid();
        let outcome = if paid {
            json!({"network_status": "approved_by_network", "reason": null, "risk_level": "normal",
                "seller_message": "Payment complete.", "type": "authorized"})
        } else {
            json!({"network_status": "declined_by_network", "reason": "generic_decline", "risk_level": "normal",
                "seller_message": "The bank did not return any further details with this decline.",
                "type": "issuer_declined"})
        };
        with_nulls(
            json!({
                "id": self.id,
                "object": "charge",
                "amount": self.amount,
                "amount_captured": if paid { self.amount } else { 0 },
                "amount_refunded": self.amount_refunded,
                "balance_transaction": self.balance_transaction,
                "billing_details": {"address": null, "email": null, "name": null, "phone": null, "tax_id": null},
                "captured": paid,
                "created": self.created,
                "currency": self.currency,
                "customer": self.customer,
                "description": self.description,
                "disputed": self.disputed,
                "failure_code": self.failure.as_ref().map(|(code, _)| code),
                "failure_message": self.failure.as_ref().map(|(_, message)| message),
                "fraud_details": {},
                "livemode": false,
                "metadata": self.metadata,
                "outcome": outcome,
                "paid": paid,
                "payment_intent": self.payment_intent,
                "payment_method": self.payment_method,
                "payment_method_details": {"type": "card", "card": {"brand": "visa", "country": "JP", "last4": "4242"}},
                "receipt_email": self.receipt_email,
                "refunded": paid && self.refundable() == 0,
                "status": if paid { "succeeded" } else { "failed" },
            }),
            &CHARGE_NULLS,
        )
    }
}

/// A refund to the payer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Refund {
    pub(crate) id: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) charge: String,
    pub(crate) payment_intent: String,
    pub(crate) status: RefundStatus,
    pub(crate) metadata: Metadata,
    pub(crate) reason: Option<String>,
    pub(crate) failure_reason: Option<String>,
    pub(crate) balance_transaction: Option<String>,
    pub(crate) failure_balance_transaction: Option<String>,
    pub(crate) created: i64,
    pub(crate) account: Option<String>,
}

impl Object for Refund {
    const NOUN: &'static str = "refund";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn json(&self) -> Value {
        let mut json = json!({
            "id": self.id,
            "object": "refund",
            "amount": self.amount,
            "balance_transaction": self.balance_transaction,
            "charge": self.charge,
            "created": self.created,
            "currency": self.currency,
            "destination_details": {"card": {"reference_status": "pending", "reference_type":
                "acquirer_reference_number", "type": "refund"}, "type": "card"},
            "failure_reason": self.failure_reason,
            "metadata": self.metadata,
            "payment_intent": self.payment_intent,
            "reason": self.reason,
            "receipt_number": null,
            "source_transfer_reversal": null,
            "status": self.status,
            "transfer_reversal": null,
        });
        // Stripe has this member on failed refunds only.
        if let (Some(members), Some(transaction)) = (json.as_object_mut(), &self.failure_balance_transaction) {
            members.insert("failure_balance_transaction".to_owned(), json!(transaction));
        }
        json
    }
}

/// A dispute by the payer's bank.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Dispute {
    pub(crate) id: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) charge: String,
    pub(crate) payment_intent: String,
    pub(crate) status: DisputeStatus,
    pub(crate) reason: String,
    pub(crate) withdrawn: String,
    pub(crate) reinstated: Option<String>,
    /// The balance transaction of an overturned dispute.
    #[serde(default)]
    pub(crate) withdrawn_again: Option<String>,
    pub(crate) created: i64,
    pub(crate) evidence_due_by: i64,
    pub(crate) account: Option<String>,
}

impl Dispute {
    /// The movements of the Stripe balance.
    fn balance_transactions(&self) -> Vec<Value> {
        let movement = |id: &str, amount: i64, category: &str| {
            json!({"id": id, "object": "balance_transaction", "amount": amount, "currency": self.currency, "fee": 0,
                "net": amount, "reporting_category": category, "source": self.id, "type": "adjustment"})
        };
        let taken = |id: &String| movement(id, self.amount.saturating_neg(), "dispute");
        let reinstated = self.reinstated.as_ref().map(|id| movement(id, self.amount, "dispute_reversal"));
        let again = self.withdrawn_again.as_ref().map(taken);
        std::iter::once(taken(&self.withdrawn)).chain(reinstated).chain(again).collect()
    }
}

impl Object for Dispute {
    const NOUN: &'static str = "dispute";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "object": "dispute",
            "amount": self.amount,
            "balance_transactions": self.balance_transactions(),
            "charge": self.charge,
            "created": self.created,
            "currency": self.currency,
            "enhanced_eligibility_types": [],
            "evidence": {},
            "evidence_details": {"due_by": self.evidence_due_by, "enhanced_eligibility": {}, "has_evidence": false,
                "past_due": false, "submission_count": 0},
            "is_charge_refundable": false,
            "livemode": false,
            "metadata": {},
            "payment_intent": self.payment_intent,
            "payment_method_details": {"card": {"brand": "visa", "case_type": "chargeback",
                "network_reason_code": "10"}, "type": "card"},
            "reason": self.reason,
            "status": self.status,
        })
    }
}

/// A payout from the Stripe balance to a bank.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Payout {
    pub(crate) id: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) status: PayoutStatus,
    pub(crate) method: String,
    pub(crate) description: Option<String>,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) destination: String,
    pub(crate) metadata: Metadata,
    pub(crate) failure: Option<(String, String)>,
    pub(crate) balance_transaction: String,
    pub(crate) failure_balance_transaction: Option<String>,
    pub(crate) created: i64,
    pub(crate) arrival_date: i64,
    pub(crate) account: Option<String>,
}

impl Object for Payout {
    const NOUN: &'static str = "payout";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "object": "payout",
            "amount": self.amount,
            "application_fee": null,
            "application_fee_amount": null,
            "arrival_date": self.arrival_date,
            "automatic": false,
            "balance_transaction": self.balance_transaction,
            "created": self.created,
            "currency": self.currency,
            "description": self.description,
            "destination": self.destination,
            "failure_balance_transaction": self.failure_balance_transaction,
            "failure_code": self.failure.as_ref().map(|(code, _)| code),
            "failure_message": self.failure.as_ref().map(|(_, message)| message),
            "livemode": false,
            "metadata": self.metadata,
            "method": self.method,
            "original_payout": null,
            "payout_method": null,
            "reconciliation_status": "not_applicable",
            "reversed_by": null,
            "source_type": "card",
            "statement_descriptor": self.statement_descriptor,
            "status": self.status,
            "trace_id": null,
            "type": "bank_account",
        })
    }
}

/// Adds members that are null, as Stripe writes them.
fn with_nulls(mut object: Value, names: &[&str]) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.extend(names.iter().map(|name| ((*name).to_owned(), Value::Null)));
    }
    object
}
