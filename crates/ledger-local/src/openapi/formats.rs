//! Formats of fields by their names: ids are UUIDs, times RFC 3339, amounts decimal strings. A field with a format, a
//! pattern or a list of words keeps it.

use serde_json::{Map, Value, json};

/// An amount in a response: canonical, negative for a debit.
const AMOUNT: &str = r"^-?(0|[1-9]\d*)(\.\d+)?$";
/// The addresses that `FreeText::email` accepts: more than the format `email`. Spaces around an address are dropped.
const EMAIL: &str = r"^\s*[^@\s]+@[^@\s.]+(\.[^@\s.]+)+\s*$";
const ASSET: &str = "^(ECOPAY|POINT|JCREDIT|REGIONAL#[a-z0-9-]{1,32})$";
const AMOUNTS: [&str; 35] = [
    "amount",
    "balance",
    "balance_short",
    "bonus",
    "carried_in",
    "credited",
    "deducted_for_spent_points",
    "delta",
    "exposure_delta",
    "fee",
    "held",
    "kept",
    "limit",
    "net",
    "owed",
    "paid",
    "paid_total",
    "payable",
    "payouts_returned",
    "points",
    "points_earned",
    "points_taken_back",
    "proposed",
    "proposed_exposure",
    "refundable",
    "refunded",
    "refunded_total",
    "remaining",
    "reserved",
    "taken",
    "tax",
    "total",
    "uncredited",
    "used",
    "authorized",
];
/// Maps of amounts by asset, in responses.
const AMOUNTS_BY_ASSET: [&str; 5] = ["authorized", "changes", "paid", "refundable", "refunded"];
/// Ids that others assign, which are not UUIDs.
const FOREIGN: [&str; 4] = ["event_id", "key_id", "object_id", "payment_intent_id"];
/// Fields that legacy records may have in another format.
const OF_LEGACY: [(&str, &str); 5] = [
    ("CustomerView", "email"),
    ("CustomerView", "phone"),
    ("HistoryView", "merchant_id"),
    ("HistoryView", "payment_id"),
    ("HistoryView", "topup_id"),
];
/// Free texts.
const NOTES: [&str; 4] = ["memo", "note", "reason", "reference"];

/// Adds the formats of all fields.
pub(super) fn apply(schemas: &mut Value) {
    let all = schemas.as_object_mut().into_iter().flat_map(Map::iter_mut);
    for (name, schema) in all {
        fields(name, schema);
    }
}

/// Adds the formats of the fields of an object, and of the objects in it.
fn fields(schema_name: &str, schema: &mut Value) {
    let is_request = schema_name.ends_with("Body");
    for member in ["allOf", "oneOf"] {
        let parts = schema.get_mut(member).and_then(Value::as_array_mut);
        parts.into_iter().flatten().for_each(|part| fields(schema_name, part));
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, field) in properties {
        let Some(field) = field.as_object_mut() else { continue };
        if OF_LEGACY.contains(&(schema_name, name)) {
            continue;
        }
        if is_map(field) && !is_request && AMOUNTS_BY_ASSET.contains(&name.as_str()) {
            field.insert("propertyNames".to_owned(), json!({"type": "string", "pattern": ASSET}));
            field.insert("additionalProperties".to_owned(), json!({"type": "string", "pattern": AMOUNT}));
            field.entry("examples").or_insert_with(|| json!([{"ECOPAY": "1240"}]));
        } else if is_text(field) {
            state(name, field, is_request);
        } else if let Some(items) = field.get_mut("items").and_then(Value::as_object_mut)
            && is_text(items)
        {
            state(name.trim_end_matches('s'), items, is_request);
        }
    }
}

/// Whether a field is text without a format, a pattern or words.
fn is_text(field: &Map<String, Value>) -> bool {
    let kind = field.get("type").unwrap_or(&Value::Null);
    let is_text = kind == "string" || *kind == json!(["string", "null"]);
    is_text && !["format", "pattern", "enum"].iter().any(|stated| field.contains_key(*stated))
}

fn is_map(field: &Map<String, Value>) -> bool {
    field.contains_key("additionalProperties")
}

fn state(name: &str, field: &mut Map<String, Value>, is_request: bool) {
    let stated = match name {
        _ if FOREIGN.contains(&name) => return,
        "bank_file_id" | "supersedes" | "superseded_by" => {
            json!({"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}$", "examples": ["2026-12-10-01"]})
        }
        "requested_by" => uuid(),
        _ if name.ends_with("_id") => uuid(),
        "since" | "stuck_since" | "accept_by" => time(),
        _ if name.ends_with("_at") => time(),
        "date" | "day" | "pay_on" | "transfer_on" => json!({"format": "date", "examples": ["2026-11-30"]}),
        "asset" => json!({"pattern": ASSET, "examples": ["ECOPAY"]}),
        "co2_kg" => json!({"pattern": AMOUNT, "examples": ["0.31"]}),
        "merchant_name" => json!({"examples": ["Aoba Coffee"]}),
        "programme" => json!({"examples": ["Aoba Town EcoPay"]}),
        _ if AMOUNTS.contains(&name) && !is_request => json!({"pattern": AMOUNT, "examples": ["1240"]}),
        _ if NOTES.contains(&name) && is_request => json!({"minLength": 1, "maxLength": 140}),
        "name" if is_request => json!({"minLength": 1, "maxLength": 80, "examples": ["Aoba Coffee"]}),
        "email" => json!({"pattern": EMAIL, "examples": ["hanako@example.com"]}),
        "phone" => json!({"examples": ["+81-90-1234-5678"]}),
        _ => return,
    };
    for (member, value) in stated.as_object().into_iter().flatten() {
        let has_example = member == "examples" && field.contains_key("example");
        if !has_example {
            field.entry(member.clone()).or_insert_with(|| value.clone());
        }
    }
}

fn uuid() -> Value {
    json!({"format": "uuid", "examples": ["019aa7fe-3c00-7000-8000-000000000001"]})
}

fn time() -> Value {
    json!({"format": "date-time", "examples": ["2026-11-21T09:30:00.000Z"]})
}
