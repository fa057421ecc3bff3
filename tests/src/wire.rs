//! Converts values, items and actions of TransactWriteItems to and from DynamoDB's JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::Key;
use ledger_core::reads::Request;
use ledger_core::transaction::{Rendered, RenderedAction, TransactItem};
use serde_json::{Map, Value as Json, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// The table's name in requests.
pub const TABLE: &str = "ecopay";

/// An item as DynamoDB's JSON.
#[must_use]
pub fn item_to_json(item: &Item) -> Json {
    Json::Object(item.iter().map(|(name, value)| (name.clone(), value_to_json(value))).collect())
}

/// A value as DynamoDB's JSON.
#[must_use]
pub fn value_to_json(value: &Value) -> Json {
    match value {
        Value::S(text) => json!({ "S": text }),
        Value::N(number) => json!({ "N": number }),
        Value::Bool(flag) => json!({ "BOOL": flag }),
        Value::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
        Value::L(list) => json!({ "L": list.iter().map(value_to_json).collect::<Vec<_>>() }),
        Value::M(map) => json!({ "M": item_to_json(map) }),
    }
}

/// Reads an item; panics on anything that is not DynamoDB's JSON.
#[must_use]
pub fn item_from_json(json: &Json) -> Item {
    let map = json.as_object().unwrap_or_else(|| panic!("not an item: {json}"));
    map.iter().map(|(name, value)| (name.clone(), value_from_json(value))).collect()
}

/// An item as the runtime reads it: without values that the core cannot represent, which are nulls, sets, and lists or
/// maps with one.
#[must_use]
pub fn readable(json: &Json) -> Item {
    let map = json.as_object().unwrap_or_else(|| panic!("not an item: {json}"));
    let read = map.iter().filter(|(_, value)| is_readable(value));
    read.map(|(name, value)| (name.clone(), value_from_json(value))).collect()
}

/// Whether the core can represent a value.
#[must_use]
pub fn is_readable(value: &Json) -> bool {
    let map = value.as_object().unwrap_or_else(|| panic!("not a value: {value}"));
    map.iter().all(|(kind, inner)| match kind.as_str() {
        "NULL" | "SS" | "NS" | "BS" => false,
        "L" => inner.as_array().unwrap().iter().all(is_readable),
        "M" => inner.as_object().unwrap().values().all(is_readable),
        _ => true,
    })
}

/// Reads a value; panics on anything that is not DynamoDB's JSON.
#[must_use]
pub fn value_from_json(json: &Json) -> Value {
    let map = json.as_object().filter(|map| map.len() == 1).unwrap_or_else(|| panic!("not a value: {json}"));
    let (kind, inner) = map.iter().next().unwrap();
    let text = || inner.as_str().unwrap_or_else(|| panic!("not a value: {json}")).to_owned();
    match kind.as_str() {
        "S" => Value::S(text()),
        "N" => Value::N(text()),
        "BOOL" => Value::Bool(inner.as_bool().unwrap()),
        "B" => Value::B(STANDARD.decode(text()).unwrap()),
        "L" => Value::L(inner.as_array().unwrap().iter().map(value_from_json).collect()),
        "M" => Value::M(item_from_json(inner)),
        other => panic!("not a kind of value: {other}"),
    }
}

/// An action of a TransactWriteItems request. Every guarded action requests the old item.
#[must_use]
pub fn action(item: &TransactItem) -> Json {
    rendered(item.render().unwrap_or_else(|| panic!("two values claim one placeholder: {item:?}")))
}

/// The same for a rendered action.
#[must_use]
pub fn rendered(item: Rendered) -> Json {
    let Rendered { action, condition, names, values } = item;
    let mut map = Map::new();
    map.insert("TableName".to_owned(), json!(TABLE));
    let verb = match action {
        RenderedAction::Put(item) => {
            map.insert("Item".to_owned(), item_to_json(&item));
            "Put"
        }
        RenderedAction::Update(key, update) => {
            map.insert("Key".to_owned(), item_to_json(&key));
            map.insert("UpdateExpression".to_owned(), json!(update));
            "Update"
        }
        RenderedAction::ConditionCheck(key) => {
            map.insert("Key".to_owned(), item_to_json(&key));
            "ConditionCheck"
        }
    };
    if let Some(condition) = condition {
        map.insert("ConditionExpression".to_owned(), json!(condition));
    }
    if !names.is_empty() {
        map.insert("ExpressionAttributeNames".to_owned(), json!(names));
    }
    if !values.is_empty() {
        map.insert("ExpressionAttributeValues".to_owned(), item_to_json(&values));
    }
    map.insert("ReturnValuesOnConditionCheckFailure".to_owned(), json!("ALL_OLD"));
    json!({ verb: map })
}

/// The attribute with the token of the transaction that last wrote an item.
pub const TX: &str = "_tx";
/// The attribute with the number of puts and updates of that transaction.
pub const OF: &str = "_of";

/// A token that no other call returns.
#[must_use]
pub fn new_token() -> [u8; 16] {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, Ordering::Relaxed)).to_be_bytes()
}

/// The actions as they are sent: each put and update names its transaction, which vectors leave out.
///
/// # Panics
/// If an action is none of DynamoDB's.
#[must_use]
pub fn named(actions: &[Json], token: [u8; 16]) -> Vec<Json> {
    let written = actions.iter().filter(|action| action.get("Put").or(action.get("Update")).is_some()).count();
    let name = [(TX, value_to_json(&Value::B(token.to_vec()))), (OF, json!({ "N": written.to_string() }))];
    let mut actions = actions.to_vec();
    for action in &mut actions {
        if let Some(item) = action.pointer_mut("/Put/Item") {
            name.iter().for_each(|(name, value)| item[*name] = value.clone());
        }
        let Some(update) = action.get_mut("Update") else { continue };
        let text = update["UpdateExpression"].as_str().expect("an expression");
        update["UpdateExpression"] = json!(setting_name(text));
        for (name, value) in &name {
            update["ExpressionAttributeNames"][format!("#{name}")] = json!(name);
            update["ExpressionAttributeValues"][format!(":{name}")] = value.clone();
        }
    }
    actions
}

/// An update expression that also sets the name of its transaction.
fn setting_name(expression: &str) -> String {
    const NAME: &str = "SET #_tx = :_tx, #_of = :_of";
    match (expression.split_once("SET "), expression.split_once("REMOVE ")) {
        (Some((before, after)), _) => format!("{before}{NAME}, {after}"),
        (None, Some((before, after))) => format!("{before}{NAME} REMOVE {after}"),
        (None, None) => format!("{expression} {NAME}"),
    }
}

/// An item without the name of the transaction that wrote it.
#[must_use]
pub fn unnamed(mut item: Item) -> Item {
    item.retain(|name, _| ![TX, OF].contains(&name.as_str()));
    item
}

/// A read's request under the name of its operation.
#[must_use]
pub fn read_request(request: &Request) -> Json {
    let mut map = Map::new();
    let mut set = |name: &str, value: Json| {
        if !value.is_null() {
            map.insert(name.to_owned(), value);
        }
    };
    let key = |key: &Key| json!({ "uuid": { "S": key.pk() }, "type": { "S": key.sk() } });
    let verb = match request {
        Request::GetItem(of) => {
            set("TableName", json!(TABLE));
            set("Key", key(of));
            set("ConsistentRead", json!(true));
            "GetItem"
        }
        Request::BatchGetItem(of) => {
            let keys: Vec<Json> = of.iter().map(key).collect();
            set("RequestItems", json!({ TABLE: { "Keys": keys, "ConsistentRead": true } }));
            "BatchGetItem"
        }
        Request::TransactGetItems(of) => {
            let gets = of.iter().map(|of| json!({ "Get": { "TableName": TABLE, "Key": key(of) } }));
            set("TransactItems", gets.collect());
            "TransactGetItems"
        }
        Request::Query(query) => {
            set("TableName", json!(TABLE));
            set("IndexName", json!(query.index));
            set("ConsistentRead", json!(query.index.is_none()));
            set("KeyConditionExpression", json!(query.key_condition));
            set("ExpressionAttributeNames", json!(query.names));
            set("ExpressionAttributeValues", item_to_json(&query.values));
            set("ScanIndexForward", json!(query.forward));
            set("Limit", json!(query.limit));
            set("ExclusiveStartKey", json!(query.start.as_ref().map(item_to_json)));
            "Query"
        }
        Request::Scan(scan) => {
            set("TableName", json!(TABLE));
            set("ConsistentRead", json!(true));
            set("Segment", json!(scan.segment.map(|(number, _)| number)));
            set("TotalSegments", json!(scan.segment.map(|(_, of)| of)));
            set("FilterExpression", json!(scan.filter));
            set("ProjectionExpression", json!(scan.projection));
            set("ExpressionAttributeNames", json!(scan.names));
            set("ExpressionAttributeValues", item_to_json(&scan.values));
            set("Limit", json!(scan.limit));
            set("ExclusiveStartKey", json!(scan.start.as_ref().map(item_to_json)));
            set("ReturnConsumedCapacity", json!(scan.returns_capacity.then_some("TOTAL")));
            "Scan"
        }
    };
    json!({ verb: map })
}
