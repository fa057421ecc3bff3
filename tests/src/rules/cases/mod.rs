//! For each rule of the table a request that it refuses, and a similar request that is allowed.

mod expressions;
mod key_conditions;
mod members;
mod operands;
mod reads;
mod updates;
mod values;
mod writes;

use super::Rule;
use crate::wire::TABLE;
use serde_json::{Value as Json, json};

/// A request to DynamoDB.
#[derive(Clone, Debug)]
pub struct Request {
    /// The operation, such as `Query`.
    pub operation: &'static str,
    /// The JSON body.
    pub body: Json,
}

/// A rule's case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The rule.
    pub rule: Rule,
    /// A request that the rule refuses.
    pub refused: Request,
    /// The similar request that is allowed.
    pub allowed: Request,
}

/// Every case.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        members::cases(),
        expressions::cases(),
        operands::cases(),
        key_conditions::cases(),
        reads::cases(),
        values::cases(),
        updates::cases(),
        writes::cases(),
    ]
    .concat()
}

/// A read of three workers before their bound was corrected: work that is due until an instant.
#[must_use]
pub fn due_from_an_empty_bound() -> Request {
    query(json!({
        "IndexName": "due",
        "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :low AND :high",
        "ExpressionAttributeNames": {"#pk": "_due_pk", "#sk": "_due_sk"},
        "ExpressionAttributeValues": {":low": {"S": ""}, ":high": {"S": "2026-11-22T00:00:00.000Z"}},
    }))
}

fn case(rule: Rule, refused: Request, allowed: Request) -> Case {
    Case { rule, refused, allowed }
}

/// A put of an item with only its key, with these changes.
fn put(changes: Json) -> Request {
    request("PutItem", json!({"Item": key()}), changes)
}

/// A put with this condition.
fn put_if(condition: &str, values: Json) -> Request {
    let values = if values.as_object().is_some_and(serde_json::Map::is_empty) { Json::Null } else { values };
    put(json!({"ConditionExpression": condition, "ExpressionAttributeValues": values}))
}

/// A read of an item, with these changes.
fn get(changes: Json) -> Request {
    request("GetItem", json!({"Key": key()}), changes)
}

/// An update of an item, with these changes.
fn update(expression: &str, values: Json) -> Request {
    let values = if values.as_object().is_some_and(serde_json::Map::is_empty) { Json::Null } else { values };
    request(
        "UpdateItem",
        json!({"Key": key(), "UpdateExpression": expression}),
        json!({"ExpressionAttributeValues": values}),
    )
}

/// A query of a partition, with these changes.
fn query(changes: Json) -> Request {
    let base = json!({
        "KeyConditionExpression": "#pk = :pk",
        "ExpressionAttributeNames": {"#pk": "uuid"},
        "ExpressionAttributeValues": {":pk": {"S": "demo#customer#1"}},
    });
    request("Query", base, changes)
}

/// A query of a partition with a condition on the sort key.
fn query_sort_keys(condition: &str, values: Json) -> Request {
    query(json!({
        "KeyConditionExpression": format!("#pk = :pk AND {condition}"),
        "ExpressionAttributeNames": {"#sk": "type"},
        "ExpressionAttributeValues": values,
    }))
}

/// A scan, with these changes.
fn scan(changes: Json) -> Request {
    request("Scan", json!({}), changes)
}

/// A transaction of these actions.
fn transaction(actions: Vec<Json>) -> Request {
    Request { operation: "TransactWriteItems", body: json!({"TransactItems": actions}) }
}

/// A put in a transaction, of the item with this sort key and these attributes.
fn put_action(sort: &str, attributes: Json) -> Json {
    let mut item = json!({"uuid": {"S": "demo#customer#1"}, "type": {"S": sort}});
    merge(&mut item, attributes);
    json!({"Put": {"TableName": TABLE, "Item": item}})
}

fn key() -> Json {
    key_of("PROFILE")
}

fn key_of(sort: &str) -> Json {
    json!({"uuid": {"S": "demo#customer#1"}, "type": {"S": sort}})
}

fn request(operation: &'static str, mut body: Json, changes: Json) -> Request {
    merge(&mut body, json!({"TableName": TABLE}));
    merge(&mut body, changes);
    Request { operation, body }
}

/// Merges members into a document; null removes one.
fn merge(document: &mut Json, changes: Json) {
    let Json::Object(changes) = changes else {
        *document = changes;
        return;
    };
    if !document.is_object() {
        *document = json!({});
    }
    for (name, change) in changes {
        // An attribute value is replaced as a whole, because it has exactly one type.
        if change.is_null() {
            document.as_object_mut().expect("an object").remove(&name);
        } else if is_value(&change) {
            document[name] = change;
        } else {
            merge(&mut document[name], change);
        }
    }
}

fn is_value(json: &Json) -> bool {
    const TYPES: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"];
    json.as_object().is_some_and(|value| value.keys().any(|name| TYPES.contains(&name.as_str())))
}
