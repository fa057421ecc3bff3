//! A request that is prepared for an endpoint, and how one is made.

use super::world::new_key;
use super::{Call, World};
use serde_json::{Value, json};

/// A request that succeeds once.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The request, with a fresh key.
    pub call: Call,
    /// Another request to the same endpoint; `None` if its requests cannot differ.
    pub other: Option<Call>,
    /// The status of success.
    pub status: u16,
    /// The number of journal entries that it writes.
    pub entries: usize,
}

/// A POST of the operator that creates something.
pub(super) fn make(world: &World, path: &str, body: &Value) -> Prepared {
    prepared(Call::post(path, &world.operator.who, body).key(new_key()), 201, 0)
}

/// A PATCH of the operator.
pub(super) fn change(world: &World, path: &str, body: &Value) -> Prepared {
    prepared(Call::patch(path, &world.operator.who, body).key(new_key()), 200, 0)
}

pub(super) fn frozen() -> Value {
    json!({"status": "frozen", "reason": "lost"})
}

/// A request to grant points to these customers.
pub(super) fn grant(field: &str, customers: Value) -> Value {
    let mut body = json!({"asset": "POINT", "amount": "300", "reason": "thanks"});
    body[field] = customers;
    body
}

pub(super) fn prepared(call: Call, status: u16, entries: usize) -> Prepared {
    Prepared { call, other: None, status, entries }
}

impl Prepared {
    /// Sets the other request: the same one with another value of a field.
    pub(super) fn with_other(mut self, field: &str, value: impl Into<Value>) -> Self {
        let mut body: Value = serde_json::from_str(self.call.body.as_deref().unwrap_or("{}")).expect("a JSON body");
        body[field] = value.into();
        self.other = Some(self.call.clone().json(&body));
        self
    }

    /// Sets the other request: the same one at another path.
    pub(super) fn with_other_path(mut self, path: String) -> Self {
        self.other = Some(self.call.clone().at(path));
        self
    }
}
