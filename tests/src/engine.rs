//! The embedded DynamoDB-compatible engine in process, in memory: a table that takes requests as
//! DynamoDB's JSON and gives cancellation reasons back.

use crate::wire::{self, TABLE};
use dynoxide::{Database, DynoxideError};
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::Key;
use ledger_core::transaction::{Reason, ReasonCode, TransactItem};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// An item's primary key: `uuid` and `type`.
pub type PrimaryKey = (String, String);

/// Everything in a table.
pub type Contents = BTreeMap<PrimaryKey, Item>;

/// What a read answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadAnswer {
    /// The items as DynamoDB's JSON; `None` is a key without an item.
    pub items: Vec<Option<Json>>,
    /// Where the next page begins.
    pub next: Option<Json>,
}

impl ReadAnswer {
    /// Of an operation's answer as DynamoDB's JSON.
    #[must_use]
    pub fn of(verb: &str, answer: &Json) -> Self {
        let present = |item: &Json| Some(item.clone()).filter(|item| item.is_object());
        let list = |items: &Json| items.as_array().into_iter().flatten().map(present).collect();
        let items = match verb {
            "GetItem" => vec![present(&answer["Item"])],
            "BatchGetItem" => list(&answer["Responses"][TABLE]),
            "TransactGetItems" => {
                answer["Responses"].as_array().into_iter().flatten().map(|got| present(&got["Item"])).collect()
            }
            _ => list(&answer["Items"]),
        };
        Self { items, next: present(&answer["LastEvaluatedKey"]) }
    }
}

/// A table in memory.
pub struct Table {
    database: Database,
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    /// An empty table with both indexes.
    #[must_use]
    pub fn new() -> Self {
        let database = Database::memory().unwrap();
        let key = |pk: &str, sk: &str| json!([{ "AttributeName": pk, "KeyType": "HASH" }, { "AttributeName": sk, "KeyType": "RANGE" }]);
        let index = |name: &str, pk: &str, sk: &str| json!({ "IndexName": name, "KeySchema": key(pk, sk), "Projection": { "ProjectionType": "ALL" } });
        let attributes = ["uuid", "type", "owner_pk", "owner_sk", "due_pk", "due_sk"];
        let request = json!({
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": key("uuid", "type"),
            "AttributeDefinitions":
                attributes.map(|name| json!({ "AttributeName": name, "AttributeType": "S" })),
            "GlobalSecondaryIndexes": [index("by_owner", "owner_pk", "owner_sk"), index("due", "due_pk", "due_sk")],
        });
        database.create_table(serde_json::from_value(request).unwrap()).unwrap();
        Self { database }
    }

    /// Writes an item as it stands, over what was there.
    pub fn put(&self, item: &Json) {
        let request = json!({ "TableName": TABLE, "Item": item });
        self.database.put_item(serde_json::from_value(request).unwrap()).unwrap();
    }

    /// Executes actions given as DynamoDB's JSON.
    ///
    /// # Errors
    /// The positional reasons if it was cancelled. Nothing is applied then.
    pub fn write(&self, actions: &[Json]) -> Result<(), Vec<Reason>> {
        let request = serde_json::from_value(json!({ "TransactItems": actions })).unwrap();
        match self.database.transact_write_items(request) {
            Ok(_) => Ok(()),
            Err(error) => match reasons(&error) {
                Some(reasons) => Err(reasons),
                None => panic!("the engine refuses the request: {error}\n{actions:#?}"),
            },
        }
    }

    /// Executes actions of the core.
    ///
    /// # Errors
    /// The positional reasons if it was cancelled.
    pub fn execute(&self, items: &[TransactItem]) -> Result<(), Vec<Reason>> {
        self.write(&items.iter().map(wire::action).collect::<Vec<_>>())
    }

    /// An item.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Json> {
        let key = json!({ "uuid": { "S": key.pk() }, "type": { "S": key.sk() } });
        let request = json!({ "TableName": TABLE, "ConsistentRead": true, "Key": key });
        let found = self.database.get_item(serde_json::from_value(request).unwrap()).unwrap();
        serde_json::to_value(found).unwrap().get("Item").filter(|item| item.is_object()).cloned()
    }

    /// Executes a read given as DynamoDB's JSON, under the name of its operation.
    #[must_use]
    pub fn read(&self, request: &Json) -> ReadAnswer {
        let (verb, request) = request.as_object().unwrap().iter().next().unwrap();
        let request = request.clone();
        let database = &self.database;
        let answer = match verb.as_str() {
            "GetItem" => serde_json::to_value(database.get_item(serde_json::from_value(request).unwrap()).unwrap()),
            "BatchGetItem" => {
                serde_json::to_value(database.batch_get_item(serde_json::from_value(request).unwrap()).unwrap())
            }
            "TransactGetItems" => {
                serde_json::to_value(database.transact_get_items(serde_json::from_value(request).unwrap()).unwrap())
            }
            "Query" => serde_json::to_value(database.query(serde_json::from_value(request).unwrap()).unwrap()),
            "Scan" => serde_json::to_value(database.scan(serde_json::from_value(request).unwrap()).unwrap()),
            other => panic!("no read: {other}"),
        };
        ReadAnswer::of(verb, &answer.unwrap())
    }

    /// Everything that stands in the table.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let items = self.stored().into_iter().map(|item| wire::item_from_json(&item));
        items.map(|item| (primary_key(&item), item)).collect()
    }

    /// Everything that stands in the table, of every kind that there is.
    #[must_use]
    pub fn stored(&self) -> Vec<Json> {
        let mut stored = Vec::new();
        let mut start = Json::Null;
        loop {
            let request = json!({ "TableName": TABLE, "ConsistentRead": true, "ExclusiveStartKey": start });
            let page = self.database.scan(serde_json::from_value(request).unwrap()).unwrap();
            let page = serde_json::to_value(page).unwrap();
            stored.extend(page["Items"].as_array().unwrap().iter().cloned());
            match page.get("LastEvaluatedKey") {
                Some(next) if !next.is_null() => start = next.clone(),
                Some(_) | None => return stored,
            }
        }
    }
}

/// The primary key of an item; panics if it has none.
#[must_use]
pub fn primary_key(item: &Item) -> PrimaryKey {
    let text = |name: &str| match item.get(name) {
        Some(Value::S(text)) => text.clone(),
        Some(Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => {
            panic!("an item without {name}: {item:?}")
        }
    };
    (text("uuid"), text("type"))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors are not ours")]
fn reasons(error: &DynoxideError) -> Option<Vec<Reason>> {
    match error {
        DynoxideError::TransactionCanceledException(_, reasons) => Some(
            reasons
                .iter()
                .map(|reason| Reason {
                    code: ReasonCode::parse(&reason.code),
                    item: reason.item.as_ref().map(|item| wire::readable(&serde_json::to_value(item).unwrap())),
                })
                .collect(),
        ),
        _ => None,
    }
}
