//! The events in `tests/events`, and the parts that are renewed before one is sent: time, idempotency key, and
//! signature.

use super::reply::decoded;
use crate::http::stripe::signature;
use crate::http::world::{new_id, new_key};
use crate::http::{Call, Terminal, World};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ledger_local::clock;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use stripe_simulator::WEBHOOK_SECRET_DEFAULT;

/// The variables with the clients that the tokens of the events were issued to.
pub const CLIENTS: [(&str, &str); 3] = [
    ("CUSTOMER_CLIENTS", "4hkc7b0o9p8q1r2s3t4u5v6w7x"),
    ("MERCHANT_CLIENTS", "5jmd8c1p0q9r2s3t4u5v6w7x8y"),
    ("ADMIN_CLIENTS", "6kne9d2q1r0s3t4u5v6w7x8y9z"),
];

/// Every event by its file's name.
///
/// # Panics
/// When a file is not JSON.
#[must_use]
pub fn all() -> BTreeMap<String, Value> {
    let files = std::fs::read_dir(folder()).expect("tests/events").flatten();
    let named = files.map(|file| file.path().file_stem().expect("a name").to_string_lossy().into_owned());
    named.map(|name| (name.clone(), kept(&name))).collect()
}

/// An event as stored in its file.
///
/// # Panics
/// When the file does not exist or is not JSON.
#[must_use]
pub fn kept(name: &str) -> Value {
    let file = folder().join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// An event with renewed parts; one that is not from API Gateway is unchanged.
#[must_use]
pub fn fresh(mut event: Value, world: &World, terminal: &Terminal) -> Value {
    if event["requestContext"].is_null() {
        return event;
    }
    event["requestContext"]["requestId"] = new_id().into();
    event["requestContext"]["timeEpoch"] = clock::epoch_ms().into();
    if !event["headers"]["stripe-signature"].is_null() {
        let signed = signature(WEBHOOK_SECRET_DEFAULT, clock::epoch_s(), &body(&event));
        event["headers"]["stripe-signature"] = signed.into();
    } else if !event["headers"]["signature"].is_null() {
        sign_as_terminal(&mut event, world, terminal);
    } else if !event["headers"]["idempotency-key"].is_null() {
        event["headers"]["idempotency-key"] = new_key().into();
    }
    event
}

/// The event with its JSON body edited.
///
/// # Panics
/// When the body is not JSON.
#[must_use]
pub fn edited(event: Value, edit: impl FnOnce(&mut Value)) -> Value {
    let mut json = serde_json::from_str(&body(&event)).expect("a JSON body");
    edit(&mut json);
    with_body(event, &json.to_string())
}

/// The event with another method and path.
#[must_use]
pub fn at(mut event: Value, method: &str, path: &str) -> Value {
    event["rawPath"] = path.into();
    event["requestContext"]["http"]["path"] = path.into();
    event["requestContext"]["http"]["method"] = method.into();
    event
}

/// The event with its body in base64.
#[must_use]
pub fn in_base64(mut event: Value) -> Value {
    let text = body(&event);
    event["isBase64Encoded"] = true.into();
    with_body(event, &text)
}

fn sign_as_terminal(event: &mut Value, world: &World, terminal: &Terminal) {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let method = text(&event["requestContext"]["http"]["method"]).parse().expect("a method");
    let call = Call::new(method, &text(&event["rawPath"]), &terminal.who).raw(body(event)).key(terminal.next_key());
    for (name, value) in world.api.headers(&call) {
        event["headers"][name] = value.into();
    }
}

fn body(event: &Value) -> String {
    let text = event["body"].as_str().unwrap_or_default();
    if event["isBase64Encoded"] == true { decoded(text) } else { text.to_owned() }
}

fn with_body(mut event: Value, text: &str) -> Value {
    event["headers"]["content-length"] = text.len().to_string().into();
    event["body"] = if event["isBase64Encoded"] == true { STANDARD.encode(text) } else { text.to_owned() }.into();
    event
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/events"))
}
