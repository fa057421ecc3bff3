//! Events: what happened, with the object as it was at that moment.
//! They are listed like other objects, and delivered to the webhook.

use super::objects::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The API version that events are rendered in, as an account's webhook endpoint has one.
pub(super) const API_VERSION: &str = "2026-10-28.endive";

/// Something that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) created: i64,
    /// The connected account that it happened on.
    pub(super) account: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) idempotency_key: Option<String>,
    pub(super) object: Value,
    pub(super) previous: Option<Value>,
}

impl Event {
    /// Stripe's JSON of it while `pending_webhooks` endpoints have not taken it.
    pub(super) fn json_with(&self, pending_webhooks: u32) -> Value {
        let mut data = json!({"object": self.object});
        if let (Some(members), Some(previous)) = (data.as_object_mut(), &self.previous) {
            members.insert("previous_attributes".to_owned(), previous.clone());
        }
        let mut event = json!({
            "id": self.id,
            "object": "event",
            "api_version": API_VERSION,
            "created": self.created,
            "data": data,
            "livemode": false,
            "pending_webhooks": pending_webhooks,
            "request": {"id": self.request_id, "idempotency_key": self.idempotency_key},
            "type": self.kind,
        });
        if let (Some(members), Some(account)) = (event.as_object_mut(), &self.account) {
            members.insert("account".to_owned(), json!(account));
        }
        event
    }
}

impl Object for Event {
    const NOUN: &'static str = "event";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn json(&self) -> Value {
        self.json_with(0)
    }
}
