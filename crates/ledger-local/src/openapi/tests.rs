//! The document's own make-up; what it says of the functions is held against their answers by the HTTP suite.

use super::*;
use crate::faces;

fn document() -> Value {
    serde_json::from_str(&faces::openapi_json()).unwrap()
}

/// Every `$ref` with where it is.
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
fn every_reference_leads_somewhere_and_every_component_is_used() {
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
fn answers_have_no_null() {
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
fn fields_of_a_name_have_one_format() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["PaymentView"]["properties"]["payment_id"]["format"], "uuid");
    assert_eq!(schemas["PaymentView"]["properties"]["created_at"]["format"], "date-time");
    assert_eq!(schemas["SettlementView"]["properties"]["pay_on"]["format"], "date");
    assert!(schemas["PaymentView"]["properties"]["amount"]["pattern"].is_string());
    assert!(schemas["TopupView"]["properties"]["payment_intent_id"].get("format").is_none());
}
