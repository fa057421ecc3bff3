//! openapi.json equals the generated document, and states every operation completely.
//! `ledger_tests::http::contract` compares it with actual answers.
#![cfg(feature = "stack")]

use ledger_runtime::endpoint::Permission;
use ledger_runtime::problem::Code;
use ledger_tests::http::contract::document;
use ledger_tests::http::endpoints::Endpoint;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The error statuses that every keyed operation states.
const KEYED: [&str; 10] = ["400", "401", "409", "410", "413", "415", "422", "429", "500", "503"];

/// Every operation with its method and path.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let items = document["paths"].as_object().unwrap().iter();
    let all = items.flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(|(method, operation)| (method.clone(), path.clone(), operation))
    });
    all.collect()
}

/// A response of an operation; a reference is resolved.
fn response<'d>(document: &'d Value, operation: &'d Value, status: &str) -> &'d Value {
    let response = &operation["responses"][status];
    match response["$ref"].as_str() {
        Some(to) => document.pointer(to.trim_start_matches('#')).unwrap_or_else(|| panic!("{to}")),
        None => response,
    }
}

#[test]
fn openapi_json_equals_the_generated_document() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json");
    let kept = std::fs::read_to_string(path).expect("openapi.json is in the repository");
    let ours = ledger_local::faces::openapi_json();
    assert!(kept == ours, "openapi.json is out of date: run `cargo run -- openapi > openapi.json`");
}

#[test]
fn operations_and_schemas_are_distinct() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path}"));
        assert!(ids.insert(id.to_owned()), "{method} {path}: {id} is not unique");
        assert!(!operation["tags"].as_array().unwrap().is_empty(), "{method} {path} has no tag");
    }
    assert!(ids.len() > 40, "{} operations", ids.len());
    // The generator names a schema by its type alone: of two types with one name, one would be lost.
    let mut types = BTreeSet::new();
    for file in ledger_tests::sources(&["functions", "crates/ledger-runtime/src"]) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("ToSchema)]") {
            let mut words = text[at..].split_whitespace().skip_while(|word| !["struct", "enum"].contains(word));
            let name = words.nth(1).and_then(|rest| rest.split(['<', '{']).next()).unwrap();
            assert!(types.insert(name.to_owned()), "{name} is the name of two schemas ({})", file.display());
        }
    }
    assert!(types.len() > 30, "{} schemas", types.len());
}

#[test]
fn every_operation_states_its_refusals() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let statuses = operation["responses"].as_object().unwrap();
        let is_keyed = operation.get("x-operation").is_some();
        let wanted: &[&str] = if is_keyed { &KEYED } else { &["500", "503"] };
        for status in wanted {
            assert!(statuses.contains_key(*status), "{method} {path} does not state {status}");
        }
        assert!(statuses.contains_key("429"), "{method} {path}: every request is limited");
        assert_eq!(statuses.contains_key("404"), path.contains('{') || statuses.contains_key("404"), "{method} {path}");
        for status in statuses.keys() {
            let response = response(&document, operation, status);
            assert!(response["headers"]["Request-Id"].is_object(), "{method} {path} {status}: no request id");
            let is_problem = response["content"]["application/problem+json"].is_object();
            assert_eq!(is_problem, !status.starts_with('2'), "{method} {path} {status}");
            for content in response["content"].as_object().unwrap().values() {
                assert!(content.get("example").is_some(), "{method} {path} {status}: no example");
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"];
        assert!(body.is_null() || body.get("example").is_some(), "{method} {path}: no example of a request");
        // Customers, terminals, and members who accept an invitation or declare accounts, act on what is their own.
        let is_staff = ["/v1/admin/", "/v1/merchant"].iter().any(|prefix| path.starts_with(prefix));
        let is_own = ["/staff/accept", "/staff/me/beneficiaries"].iter().any(|end| path.ends_with(end));
        let needs_permission = is_staff && !is_own;
        assert_eq!(operation.get("x-permission").is_some(), needs_permission, "{method} {path}");
        let refused = serde_json::to_string(response(&document, operation, "403")).unwrap();
        let denied = serde_json::to_string(&document["components"]["schemas"]["StaffNotPermittedProblem"]).unwrap();
        assert!(denied.contains("\"permission_missing\""));
        let states = refused.contains("StaffNotPermitted") || refused.contains("\"permission_missing\"");
        assert_eq!(states, needs_permission, "{method} {path}: {refused}");
    }
}

/// The names of the fields of a schema, and of those within it.
fn fields(document: &Value, schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(to) = members.get("$ref").and_then(Value::as_str) {
                fields(document, document.pointer(to.trim_start_matches('#')).expect("a schema"), found);
            }
            let own = members.get("properties").and_then(Value::as_object);
            found.extend(own.into_iter().flat_map(|own| own.keys().cloned()));
            members.values().for_each(|inner| fields(document, inner, found));
        }
        Value::Array(all) => all.iter().for_each(|inner| fields(document, inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The response to a keyed operation is stored, and is not erased.
#[test]
fn stored_response_has_no_text_that_a_person_typed_and_no_address() {
    let document = document();
    let fields_of = |operation: &Value, status: &str| {
        let mut found = BTreeSet::new();
        let content = &response(&document, operation, status)["content"]["application/json"];
        fields(&document, &content["schema"], &mut found);
        found
    };
    let (mut stored, mut shown) = (0, BTreeSet::new());
    for (method, path, operation) in operations(&document) {
        for status in operation["responses"].as_object().unwrap().keys().filter(|status| status.starts_with('2')) {
            let typed: BTreeSet<String> = fields_of(operation, status)
                .into_iter()
                .filter(|name| ["memo", "reason", "note", "email", "phone"].contains(&name.as_str()))
                .collect();
            if operation.get("x-operation").is_some() {
                assert!(typed.is_empty(), "{method} {path} {status}: {typed:?}");
                stored += 1;
            } else {
                shown.extend(typed);
            }
        }
    }
    assert!(stored > 60 && shown.contains("memo") && shown.contains("reason"), "{stored} {shown:?}");
}

/// Each keyed operation has an endpoint in the tests, by which its promises are tested.
#[test]
fn every_keyed_operation_is_tested() {
    let document = document();
    let keyed = operations(&document).into_iter().filter(|(_, _, operation)| operation.get("x-operation").is_some());
    let declared: BTreeSet<&str> = keyed.filter_map(|(_, _, operation)| operation["operationId"].as_str()).collect();
    let tested: BTreeSet<&str> = Endpoint::ALL.into_iter().map(Endpoint::operation_id).collect();
    assert_eq!(tested, declared);
}

/// Every code and permission is stated by some operation, except codes that no operation has.
#[test]
fn every_code_and_permission_is_stated() {
    let document = document();
    let codes = document["components"]["schemas"]["ProblemCode"]["enum"].as_array().unwrap();
    let text = serde_json::to_string(&document["paths"]).unwrap()
        + &serde_json::to_string(&document["components"]["schemas"]).unwrap().replace(&json!(codes).to_string(), "");
    let of_none = [Code::MethodNotAllowed, Code::Forbidden].map(Code::name);
    for code in Code::ALL.iter().map(|code| code.name()).filter(|name| !of_none.contains(name)) {
        assert!(text.contains(&format!("\"{code}\"")), "no operation states {code}");
    }
    // A merchant's change needs this one in addition to its own, for a payout destination.
    let in_addition = Permission::DestinationsChange;
    for permission in Permission::ALL.iter().filter(|permission| **permission != in_addition) {
        let stated = format!("\"x-permission\":\"{}\"", permission.name());
        assert!(text.contains(&stated), "no operation needs {}", permission.name());
    }
}

/// Stripe and terminals sign their requests instead of sending a token.
#[test]
fn every_operation_states_its_authentication() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let wanted = match path.as_str() {
            "/v1/webhooks/stripe" => json!([{"stripe": []}]),
            "/v1/terminal/enrolments" => json!([{}]),
            path if path.starts_with("/v1/terminal/") => json!([{"terminal": []}]),
            _ => Value::Null,
        };
        assert_eq!(operation.get("security").unwrap_or(&Value::Null), &wanted, "{method} {path}");
    }
    assert_eq!(document["security"], json!([{"bearer": []}]));
    assert_eq!(document["components"]["securitySchemes"]["terminal"]["name"], "Signature");
}
