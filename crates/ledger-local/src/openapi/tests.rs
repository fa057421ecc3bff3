//! Tests the document's structure. The HTTP suite compares its statements with the functions' responses.

use super::*;
use crate::faces;

fn document() -> Value {
    serde_json::from_str(&faces::openapi_json()).unwrap()
}

/// Every `$ref` with its place.
fn references(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            if let Some(to) = members.get("$ref").and_then(Value::as_str) {
                found.push((at.to_owned(), to.to_owned()));
            }
            members.iter().for_each(|(name, member)| references(member, &format!("{at}/{name}"), found));
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, at, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let document = document();
    let mut found = Vec::new();
    references(&document, "", &mut found);
    assert!(found.len() > 1000, "{}", found.len());
    for (at, to) in &found {
        let pointer = to.strip_prefix('#').unwrap_or_else(|| panic!("{at} refers to {to}"));
        assert!(document.pointer(pointer).is_some(), "{at} refers to {to}, which is not there");
    }
    for kind in ["schemas", "headers", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            let to = format!("#/components/{kind}/{name}");
            assert!(found.iter().any(|(_, used)| *used == to), "{to} is used by nothing");
        }
    }
}

#[test]
fn response_fields_are_never_null() {
    let document = document();
    let view = &document["components"]["schemas"]["HistoryView"]["properties"];
    assert_eq!(view["memo"]["type"], "string", "{view}");
    assert_eq!(
        document["components"]["schemas"]["Page_HistoryView"]["properties"]["items"]["items"]["$ref"],
        "#/components/schemas/HistoryView"
    );
    let body = &document["components"]["schemas"]["ProfileBody"]["properties"];
    assert_eq!(body["email"]["type"], json!(["string", "null"]), "null clears it: {body}");
}

#[test]
fn fields_of_the_same_name_have_the_same_format() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["PaymentView"]["properties"]["payment_id"]["format"], "uuid");
    assert_eq!(schemas["PaymentView"]["properties"]["created_at"]["format"], "date-time");
    assert_eq!(schemas["SettlementView"]["properties"]["pay_on"]["format"], "date");
    assert!(schemas["PaymentView"]["properties"]["amount"]["pattern"].is_string());
    assert!(schemas["TopupView"]["properties"]["payment_intent_id"].get("format").is_none());
}
