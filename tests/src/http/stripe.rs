//! Stripe in tests: payers, banks and the dashboard by the simulator's dev controls, and events that a test makes and
//! signs.

use super::host::is_shared;
use super::world::{Tokens, new_id, new_key};
use super::{Answer, Call, Customer, Who, World};
use hmac::{Hmac, KeyInit, Mac};
use ledger_local::clock;
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::Duration;
use stripe_simulator::WEBHOOK_SECRET_DEFAULT;

/// The path of Stripe's webhook.
pub const WEBHOOK: &str = "/v1/webhooks/stripe";
/// The longest wait for the effect of an event that the simulator delivers.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A top-up that was requested.
#[derive(Clone, Debug)]
pub struct Topup {
    /// Its id.
    pub id: String,
    /// The id of its PaymentIntent.
    pub intent: String,
    /// The call that requested it.
    pub call: Call,
    /// The response.
    pub answer: Answer,
}

impl Customer {
    /// A request for a top-up, with a fresh key.
    #[must_use]
    pub fn tops_up(&self, amount: &str) -> Call {
        Call::post("/v1/me/topups", &self.who, &json!({"amount": amount})).key(new_key())
    }
}

impl Topup {
    /// The operator's request to refund it, with a fresh key.
    #[must_use]
    pub fn refund(&self, world: &World, amount: &str) -> Call {
        let path = format!("/v1/admin/topups/{}/refunds", self.id);
        Call::post(&path, &world.operator.who, &json!({"amount": amount, "reason": "requested"})).key(new_key())
    }

    /// The customer's request to cancel it, with a fresh key.
    #[must_use]
    pub fn cancel(&self, customer: &Customer) -> Call {
        Call::post(&format!("/v1/me/topups/{}/cancel", self.id), &customer.who, &json!({})).key(new_key())
    }
}

impl World {
    /// Requests a top-up, which must succeed.
    pub async fn topup(&self, customer: &Customer, amount: &str) -> Topup {
        let call = customer.tops_up(amount);
        let answer = self.api.settle(&call).await.good();
        Topup { id: answer.text("/topup_id"), intent: answer.text("/payment_intent_id"), call, answer }
    }

    /// Requests a top-up, pays it, and waits until it is credited.
    pub async fn paid_topup(&self, customer: &Customer, amount: &str) -> Topup {
        let topup = self.topup(customer, amount).await;
        self.pay(&topup).await;
        topup
    }

    /// Pays a top-up and delivers the event, whether or not the simulator delivers events itself.
    pub async fn pay(&self, topup: &Topup) {
        let _ = self.stripe(&format!("/payment_intents/{}/succeed", topup.intent), &json!({})).await;
        let _ = self.deliver("payment_intent.succeeded", &topup.intent).await;
        self.until_topup(&topup.id, "succeeded").await;
    }

    /// Calls a dev control of the simulator, which must succeed.
    pub async fn stripe(&self, path: &str, body: &Value) -> Value {
        let call = Call::post(&format!("/dev/stripe{path}"), &Who::Anonymous, body);
        self.api.send(&call).await.good().json()
    }

    /// Pauses the simulator's deliveries: only the test delivers events.
    ///
    /// # Panics
    /// On the shared stack, where other tests wait for deliveries.
    pub async fn hold_deliveries(&self) {
        if let Tokens::Host(host) = &self.tokens {
            assert!(!is_shared(host), "deliveries are paused on a stack of the test's own: use Host::fresh()");
        }
        let _ = self.stripe("/deliveries/pause", &json!({})).await;
    }

    /// The latest event of a kind about an object.
    pub async fn stripe_event(&self, kind: &str, object: &str) -> Value {
        let call = Call::get("/dev/stripe/events", &Who::Anonymous);
        let events = self.api.send(&call).await.good().json();
        let mut events = events["events"].as_array().expect("events").iter().rev();
        let of = |event: &&Value| event["type"] == kind && event["data"]["object"]["id"] == object;
        events.find(of).cloned().unwrap_or_else(|| panic!("no {kind} about {object}"))
    }

    /// Delivers the latest event of a kind about an object once; returns the webhook's status.
    pub async fn deliver(&self, kind: &str, object: &str) -> u64 {
        let event = self.stripe_event(kind, object).await;
        let path = format!("/events/{}/deliver", event["id"].as_str().expect("an id"));
        let attempts = self.stripe(&path, &json!({})).await;
        attempts["attempts"][0]["status"].as_u64().expect("the webhook answers")
    }

    /// The operator's view of a top-up.
    pub async fn topup_view(&self, id: &str) -> Value {
        let call = Call::get(&format!("/v1/admin/topups/{id}"), &self.operator.who);
        self.api.send(&call).await.good().json()
    }

    /// Waits until a top-up has a status.
    ///
    /// # Panics
    /// When it does not get the status in time.
    pub async fn until_topup(&self, id: &str, status: &str) {
        let path = format!("/v1/admin/topups/{id}");
        self.until(&path, status).await;
    }

    /// Waits until the operator's view at a path has a status.
    ///
    /// # Panics
    /// When it does not get the status in time.
    pub async fn until(&self, path: &str, status: &str) {
        let waiting = async {
            loop {
                let view = self.api.send(&Call::get(path, &self.operator.who)).await.good();
                if view.text("/status") == status {
                    return;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{path} did not get the status {status} in time");
    }

    /// A customer's balance of an asset in the customer API.
    pub async fn wallet(&self, customer: &Customer, asset: &str) -> Value {
        let balances = self.api.send(&Call::get("/v1/me/balances", &customer.who)).await.good().json();
        let mut all = balances["balances"].as_array().expect("balances").iter();
        all.find(|balance| balance["asset"] == asset).unwrap_or_else(|| panic!("no {asset} in {balances}")).clone()
    }

    /// The operator's list of what needs review.
    pub async fn attention(&self) -> Value {
        self.api.send(&Call::get("/v1/admin/attention", &self.operator.who)).await.good().json()
    }

    /// The number of PaymentIntents that Stripe has for the tenant's top-ups.
    pub async fn intents(&self) -> usize {
        let call = Call::get("/dev/stripe/events", &Who::Anonymous);
        let events = self.api.send(&call).await.good().json();
        let events = events["events"].as_array().expect("events").iter();
        let created = events.filter(|event| event["type"] == "payment_intent.created");
        created.filter(|event| event["data"]["object"]["metadata"]["ecopay_tenant"] == *self.tenant).count()
    }

    /// An event `payment_intent.succeeded` about a PaymentIntent of this ledger.
    #[must_use]
    pub fn paid_event(&self, topup: &str, intent: &str, yen: u64) -> Value {
        json!({
            "id": format!("evt_{}", new_id().replace('-', "")),
            "object": "event",
            "api_version": "2025-03-31.basil",
            "created": clock::epoch_s(),
            "livemode": false,
            "pending_webhooks": 1,
            "request": {"id": null, "idempotency_key": null},
            "type": "payment_intent.succeeded",
            "data": {"object": {
                "id": intent,
                "object": "payment_intent",
                "amount": yen,
                "amount_received": yen,
                "currency": "jpy",
                "status": "succeeded",
                "livemode": false,
                "client_secret": format!("{intent}_secret_x"),
                "metadata": {
                    "ecopay_ledger": self.table_name(), "ecopay_tenant": self.tenant, "ecopay_topup": topup,
                },
            }},
        })
    }

    /// Sends an event to the webhook as Stripe does.
    pub async fn webhook(&self, event: &Value) -> Answer {
        self.api.send(&signed(&event.to_string())).await
    }
}

/// A delivery of a body, signed now with the local stack's secret.
#[must_use]
pub fn signed(body: &str) -> Call {
    delivery(body, &signature(WEBHOOK_SECRET_DEFAULT, clock::epoch_s(), body))
}

/// A delivery of a body with this signature header.
#[must_use]
pub fn delivery(body: &str, signature: &str) -> Call {
    unsigned(body).header("stripe-signature", signature)
}

/// A delivery of a body without a signature.
#[must_use]
pub fn unsigned(body: &str) -> Call {
    Call::post(WEBHOOK, &Who::Anonymous, &json!({})).raw(body)
}

/// The `Stripe-Signature` header over a body.
///
/// # Panics
/// Never: HMAC takes keys of any length.
#[must_use]
pub fn signature(secret: &str, at_s: i64, body: &str) -> String {
    format!("t={at_s},v1={}", mac(secret, &format!("{at_s}.{body}")))
}

/// An HMAC-SHA256 in lower-case hexadecimal digits.
///
/// # Panics
/// Never: HMAC takes keys of any length.
#[must_use]
pub fn mac(secret: &str, text: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    let bytes = mac.chain_update(text.as_bytes()).finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
