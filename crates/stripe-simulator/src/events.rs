//! Events, each with its object as it was at that moment. They are listed like other objects, and delivered to the
//! webhook.

use crate::objects::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The API version of the events' JSON, which at Stripe each webhook endpoint has.
pub(crate) const API_VERSION: &str = "2026-10-28.endive";

/// An event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) created: i64,
    /// The connected account on which it happened.
    pub(crate) account: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) object: Value,
    pub(crate) previous: Option<Value>,
}

impl Event {
    /// Stripe's JSON of the event, where `pending_webhooks` endpoints have not accepted it yet.
    pub(crate) fn json_with(&self, pending_webhooks: u32) -> Value {
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

/// One delivery of an event to the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The event's id.
    pub event_id: String,
    /// The event's type.
    pub event_type: String,
    /// The status of the webhook's response; `None` without one.
    pub status: Option<u16>,
}

impl Attempt {
    /// Whether the webhook accepted it: a status of 2xx.
    #[must_use]
    pub fn taken(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
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
