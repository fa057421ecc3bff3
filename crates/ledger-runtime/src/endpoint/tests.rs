//! What is derived from a declaration.

use super::*;
use serde_json::{Value, json};

const PATCH: Keyed = Endpoint::patch("/v1/me/cards/{card_id}")
    .summary("Changes a card.")
    .open()
    .id("card_id", "The card.")
    .body::<String>()
    .ok::<String>("Changed")
    .problems(&[Code::AccountFrozen])
    .when(Code::WrongState, "the operator froze it")
    .keyed(Operation::CardPatch);

fn document(endpoint: &Endpoint, operation: Option<Operation>) -> Value {
    serde_json::to_value(endpoint.document(operation)).unwrap()
}

#[test]
fn key_is_bound_to_method_and_path_of_the_declaration() {
    let request = PATCH.request(&[&"019389d2"], Fields::new().with("status", "frozen"));
    assert_eq!((request.method, request.path.as_str()), ("PATCH", "/v1/me/cards/019389d2"));
    assert_eq!(PATCH.operation(), Operation::CardPatch);
}

#[test]
fn variable_segments_are_filled_in_their_order() {
    let endpoint = Endpoint::get("/v1/admin/topups/{id}/refunds/{refund_id}").open();
    assert_eq!(endpoint.path(&[&1, &2]), "/v1/admin/topups/1/refunds/2");
    assert_eq!(Endpoint::get("/v1/me").open().path(&[]), "/v1/me");
}

#[test]
#[should_panic(expected = "other variable segments")]
fn segment_without_a_value_panics() {
    let _ = PATCH.path(&[]);
}

#[test]
fn keyed_operation_states_every_status_and_code() {
    let operation = document(&PATCH.endpoint, Some(PATCH.operation));
    let statuses: Vec<&str> = operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(statuses, ["200", "400", "401", "403", "404", "409", "410", "413", "415", "422", "429", "500", "503"]);
    let refused = &operation["responses"]["400"];
    let codes = &refused["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"]["code"]["enum"];
    let expected =
        ["account_frozen", "idempotency_key_invalid", "idempotency_key_missing", "invalid_request", "wrong_state"];
    assert_eq!(codes, &json!(expected));
    assert!(refused["description"].as_str().unwrap().contains("`wrong_state`: the operator froze it."), "{refused}");
    assert_eq!(operation["responses"]["422"]["$ref"], "#/components/responses/KeyOfAnotherRequest");
    assert_eq!(operation["x-operation"], "card_patch");
    assert!(operation.get("x-permission").is_none());
    assert_eq!(operation["operationId"], "patch_me_cards_card_id");
    assert_eq!(operation["parameters"][1]["name"], "Idempotency-Key");
}

#[test]
fn reading_states_no_code_of_keys() {
    let endpoint = Endpoint::get("/v1/admin/audit")
        .summary("Lists.")
        .permission(Permission::AuditRead)
        .paged()
        .ok::<String>("A page");
    let operation = document(&endpoint, None);
    let statuses: Vec<&str> = operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(statuses, ["200", "400", "401", "403", "429", "500", "503"]);
    assert_eq!(operation["responses"]["503"]["$ref"], "#/components/responses/Unavailable");
    assert!(operation.get("x-operation").is_none());
    assert_eq!(operation["x-permission"], "audit.read");
    assert_eq!(operation["responses"]["403"]["$ref"], "#/components/responses/StaffNotPermitted");
}

#[test]
fn groups_are_distinct_and_sorted() {
    let mut names = std::collections::BTreeSet::new();
    for group in Group::ALL {
        assert!(names.insert(group.name()), "{} is there twice", group.name());
        assert!(group.codes().is_sorted(), "{}: codes are compared in their order", group.name());
        let status = group.codes()[0].status();
        assert!(group.codes().iter().all(|code| code.status() == status), "{} has one status", group.name());
    }
}
