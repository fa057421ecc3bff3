//! The callers that tests act as.

use super::world::new_key;
use super::{Call, Who, World};
use ledger_local::credential::Credential;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// A member of the operator's staff.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The staff id.
    pub id: String,
    /// Their credentials.
    pub who: Who,
}

/// A customer.
#[derive(Clone, Debug)]
pub struct Customer {
    /// The customer's id.
    pub id: String,
    /// Their credentials.
    pub who: Who,
}

/// A merchant, with the credentials of one of its staff.
#[derive(Clone, Debug)]
pub struct Merchant {
    /// The merchant's id.
    pub id: String,
    /// The staff member's credentials.
    pub who: Who,
}

/// An enrolled terminal.
#[derive(Debug)]
pub struct Terminal {
    /// The terminal's id.
    pub id: String,
    /// Its credential.
    pub credential: Credential,
    /// Its credential as the caller of a request.
    pub who: Who,
    pub(super) sequence: AtomicU64,
}

impl Customer {
    /// A payment to a merchant, under a fresh key.
    #[must_use]
    pub fn pays(&self, merchant: &Merchant, amount: &str) -> Call {
        let body = json!({"merchant_id": merchant.id, "amount": amount});
        Call::post("/v1/me/payments", &self.who, &body).key(new_key())
    }

    /// A transfer to another customer, under a fresh key.
    #[must_use]
    pub fn sends(&self, to: &Customer, amount: &str) -> Call {
        let body = json!({"to_customer_id": to.id, "amount": amount, "asset": "ECOPAY"});
        Call::post("/v1/me/transfers", &self.who, &body).key(new_key())
    }

    /// A request for a one-time payment code, under a fresh key.
    #[must_use]
    pub fn requests_code(&self) -> Call {
        Call::post("/v1/me/payment-code", &self.who, &json!({})).key(new_key())
    }

    /// A one-time payment code.
    pub async fn code(&self, world: &World) -> String {
        world.api.settle(&self.requests_code()).await.good().text("/code")
    }
}

impl Merchant {
    /// A refund of a payment, under a fresh key.
    #[must_use]
    pub fn refunds(&self, payment: &str, amount: &str) -> Call {
        let path = format!("/v1/merchant/payments/{payment}/refunds");
        Call::post(&path, &self.who, &json!({"amount": amount})).key(new_key())
    }

    /// A charge of a one-time code, under a fresh key.
    #[must_use]
    pub fn charges(&self, code: &str, amount: &str) -> Call {
        let body = json!({"code": code, "amount": amount});
        Call::post("/v1/merchant/charges", &self.who, &body).key(new_key())
    }

    /// An authorization of a one-time code, under a fresh key.
    #[must_use]
    pub fn authorizes(&self, code: &str, amount: &str) -> Call {
        let body = json!({"code": code, "amount": amount, "capture": false});
        Call::post("/v1/merchant/charges", &self.who, &body).key(new_key())
    }

    /// A capture of a payment, under a fresh key.
    #[must_use]
    pub fn captures(&self, payment: &str, amount: Option<&str>) -> Call {
        let body = amount.map_or_else(|| json!({}), |amount| json!({"amount": amount}));
        Call::post(&format!("/v1/merchant/payments/{payment}/capture"), &self.who, &body).key(new_key())
    }

    /// A void of a payment, under a fresh key.
    #[must_use]
    pub fn voids(&self, payment: &str) -> Call {
        Call::post(&format!("/v1/merchant/payments/{payment}/void"), &self.who, &json!({})).key(new_key())
    }
}

impl Terminal {
    /// The next key of this enrolment.
    pub fn next_key(&self) -> String {
        let sequence = self.sequence.fetch_add(1, Ordering::SeqCst);
        format!("{}-{}-{sequence}", self.id, self.credential.epoch)
    }

    /// A card operation, under the next key.
    pub fn does(&self, verb: &str, card: &str, body: &Value) -> Call {
        Call::post(&format!("/v1/terminal/cards/{card}/{verb}"), &self.who, body).key(self.next_key())
    }

    /// The reversal of an operation of this terminal's, under the next key.
    pub fn reverses(&self, operation: &str, original: &Call) -> Call {
        let key = original.key.as_deref().expect("a terminal's operation has a key");
        let path = format!("/v1/terminal/operations/{operation}/{key}/reverse");
        Call::post(&path, &self.who, &json!({})).key(self.next_key())
    }
}
