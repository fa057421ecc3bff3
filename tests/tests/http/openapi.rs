//! The OpenAPI document in the repository is the one that the code gives, and every operation in it
//! has a name of its own.

use std::collections::BTreeSet;

#[test]
fn the_document_has_not_drifted() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json");
    let kept = std::fs::read_to_string(path).expect("openapi.json stands in the repository");
    let ours = ledger_local::faces::openapi_json();
    assert!(kept == ours, "openapi.json is behind the code: cargo run -- openapi > openapi.json");
}

#[test]
fn operations_and_schemas_are_distinct() {
    let document: serde_json::Value = serde_json::from_str(&ledger_local::faces::openapi_json()).unwrap();
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(id) = operation["operationId"].as_str() else { continue };
            assert!(ids.insert(id.to_owned()), "{method} {path}: {id} is taken");
            assert!(!operation["tags"].as_array().unwrap().is_empty(), "{method} {path} has no face");
        }
    }
    assert!(ids.len() > 40, "{} operations", ids.len());
    // The generator names a schema by its type alone: two types of one name would hide each other.
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

/// A tenant's requests are limited wherever it is known who asks before the handler is.
#[test]
fn whoever_is_verified_may_be_told_to_come_again() {
    let document: serde_json::Value = serde_json::from_str(&ledger_local::faces::openapi_json()).unwrap();
    let mut unlimited = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values().filter(|operation| operation["operationId"].is_string()) {
            let limited = &operation["responses"]["429"];
            if limited.is_null() {
                unlimited.insert(path.as_str());
            } else {
                assert_eq!(limited["$ref"], "#/components/responses/RateLimited", "{path}");
            }
        }
    }
    assert_eq!(unlimited.into_iter().collect::<Vec<_>>(), ["/v1/terminal/enrolments", "/v1/webhooks/stripe"]);
    assert!(document["components"]["responses"]["RateLimited"]["headers"]["Retry-After"].is_object());
}

/// Stripe sends no token: it signs, and so the document asks nothing else of it.
#[test]
fn the_webhook_takes_a_signature_and_no_token() {
    let document: serde_json::Value = serde_json::from_str(&ledger_local::faces::openapi_json()).unwrap();
    let webhook = &document["paths"]["/v1/webhooks/stripe"]["post"];
    assert_eq!(webhook["security"], serde_json::json!([{}]), "{webhook}");
    let header = &webhook["parameters"][0];
    assert_eq!((&header["name"], &header["in"]), (&"Stripe-Signature".into(), &"header".into()), "{webhook}");
    assert_eq!(header["required"], true, "{webhook}");
    assert_eq!(document["security"], serde_json::json!([{"bearer": []}]));
}
