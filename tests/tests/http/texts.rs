//! Free text: normalised, without hidden characters and card numbers, in every field; and a stored response to a
//! text that is refused.

use ledger_core::dynamo::Value as Attribute;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::{CustomerId, Principal, Tenant};
use ledger_core::money::{Asset, RequestedAmount};
use ledger_tests::cloud::gate;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, World, contract};
use serde_json::{Value, json};

/// The names of the fields that hold free text.
const TEXT_FIELDS: [&str; 7] = ["memo", "reason", "note", "reference", "name", "email", "phone"];
/// The endpoints that have such a field.
const ENDPOINTS_WITH_TEXT: usize = 67;

/// The text fields of an operation's request body in the OpenAPI document.
fn text_fields(document: &Value, operation_id: &str) -> Vec<&'static str> {
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.values().flat_map(|path| path.as_object().expect("operations").values());
    let found = operations.into_iter().find(|operation| operation["operationId"] == operation_id);
    let schema = found.map(|found| &found["requestBody"]["content"]["application/json"]["schema"]["$ref"]);
    let Some(reference) = schema.and_then(Value::as_str) else { return Vec::new() };
    let properties = &document.pointer(reference.trim_start_matches('#')).expect("the schema")["properties"];
    TEXT_FIELDS.into_iter().filter(|field| properties.get(field).is_some()).collect()
}

#[tokio::test]
async fn hidden_characters_and_card_numbers_are_refused_in_every_text_field() {
    let stage = Stage::new(World::alone("texts").await).await;
    let document = contract::document();
    let mut with_text = 0;
    for endpoint in Endpoint::ALL {
        let fields = text_fields(&document, endpoint.operation_id());
        if fields.is_empty() {
            continue;
        }
        with_text += 1;
        let call = endpoint.prepare(&stage).await.call;
        let before = stage.world.books().await;
        for field in fields {
            for text in ["lu\u{200b}nch", "lunch\u{202e}", "4242/4242\u{30fb}4242 4242", "3782 822463 10005"] {
                let text =
                    if field == "email" { format!("{}@example.jp", text.replace(' ', "-")) } else { text.into() };
                let answer = stage.world.api.send(&call.clone().field(field, text.as_str())).await;
                let answer = answer.problem(400, "invalid_request");
                assert_eq!(answer.json()["field"], field, "{endpoint:?} {text}: {answer:?}");
            }
        }
        stage.world.books().await.unchanged_since(&before, "a request with an invalid text changed something");
    }
    assert_eq!(with_text, ENDPOINTS_WITH_TEXT);
}

#[tokio::test]
async fn text_is_stored_composed_and_bound_to_its_key_as_sent() {
    let world = World::new("composed-texts").await;
    let (customer, shop) = (world.customer_with("1000").await, world.merchant().await);
    let body = json!({"merchant_id": shop.id, "amount": "100", "memo": "\u{304b}\u{3099}"});
    let call = Call::post("/v1/me/payments", &customer.who, &body).key(new_key());
    let first = world.api.send(&call).await.good();
    let path = format!("/v1/merchant/payments/{}", first.text("/payment_id"));
    let shown = world.api.send(&Call::get(&path, &shop.who)).await.good().json();
    assert_eq!((&shown["memo"], &first.json()["memo"]), (&json!("\u{304c}"), &json!(null)));
    let again = world.api.send(&call).await;
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    let composed = call.field("memo", "\u{304c}");
    let _ = world.api.send(&composed).await.problem(422, "idempotency_key_fingerprint_mismatch");
}

/// Writes into the marker of a transfer the fingerprint of the same transfer with another memo.
async fn rebind(world: &World, customer: &str, to: &str, key: &str, memo: &str) {
    let amount = RequestedAmount::parse(Asset::Ecopay, "100").expect("an amount");
    let fields = Fields::new().with("to_customer_id", to).with_requested("amount", &amount).with("memo", memo);
    let request = CanonicalRequest { method: "POST", path: "/v1/me/transfers".to_owned(), fields };
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let principal = Principal::Customer(CustomerId::parse(customer).expect("an id"));
    let keys = gate::as_test(world.app.ledger().marker_keys()).await.expect("keys");
    let fingerprint = request.fingerprint(&tenant, principal, &keys, keys.current()).expect("a current key");
    let rows = world.books().await.rows;
    let marker = rows.into_iter().find(|((_, sk), _)| sk.starts_with("card_op_idem#") && sk.ends_with(key));
    let (_, mut row) = marker.expect("a marker");
    let _ = row.insert("fp".to_owned(), Attribute::S(fingerprint.digest));
    world.plant(row).await;
}

#[tokio::test]
async fn stored_response_to_a_text_that_is_refused_is_replayed() {
    let world = World::new("stored-texts").await;
    let (customer, other) = (world.customer_with("1000").await, world.customer().await);
    let key = new_key();
    let body = json!({"to_customer_id": other.id, "amount": "100", "memo": "lunch"});
    let call = Call::post("/v1/me/transfers", &customer.who, &body).key(key.clone());
    let first = world.api.send(&call).await.good();
    let hidden = "lun\u{200d}ch";
    rebind(&world, &customer.id, &other.id, &key, hidden).await;
    let retry = call.field("memo", hidden);
    let again: Answer = world.api.send(&retry).await;
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    let _ = world.api.send(&retry.key(new_key())).await.problem(400, "invalid_request");
    world.check_books().await;
}

#[tokio::test]
async fn key_with_a_card_number_is_refused_and_nothing_is_stored() {
    let world = World::alone("card-number-keys").await;
    let (customer, shop) = (world.customer_with("1000").await, world.merchant().await);
    let call = Call::post("/v1/me/payments", &customer.who, &json!({"merchant_id": shop.id, "amount": "100"}));
    let before = world.books().await;
    for key in ["4242424242424242", "card-4242-4242-4242-4242"] {
        let answer = world.api.send(&call.clone().key(key)).await;
        let _ = answer.problem(400, "idempotency_key_invalid");
    }
    world.books().await.unchanged_since(&before, "a refused key changed something");
    let _ = world.api.send(&call.key("1764028800009")).await.good();
}
