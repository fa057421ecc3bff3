//! DynamoDB-compatible engines that take requests as DynamoDB's JSON and return cancellation reasons: the embedded one
//! in process, in memory, and any other by its endpoint.

pub mod deviations;
#[cfg(feature = "stack")]
pub mod other;

use crate::rules::{self, CODE};
use crate::wire::{self, TABLE};
use dynoxide::{Database, DynoxideError};
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::Key;
use ledger_core::transaction::{Reason, ReasonCode, TransactItem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;

/// The operations that golden vectors need of an engine.
pub trait Engine {
    /// Replaces the table's items with these.
    fn hold(&self, items: &[Json]);

    /// Executes actions given as DynamoDB's JSON, under a new name of their transaction.
    ///
    /// # Errors
    /// [`Refused`], with a reason per action if the transaction was cancelled. Nothing is applied then.
    fn write(&self, actions: &[Json]) -> Result<(), Refused>;

    /// Every item of the table.
    fn stored(&self) -> Vec<Json>;

    /// As [`Engine::write`], where the only expected error is a cancellation.
    ///
    /// # Errors
    /// One reason per action.
    fn execute(&self, actions: &[Json]) -> Result<(), Vec<Reason>> {
        match self.write(actions) {
            Ok(()) => Ok(()),
            Err(Refused { reasons: Some(reasons), .. }) => Err(reasons.iter().map(reason).collect()),
            Err(Refused { code, message, .. }) => {
                panic!("the engine refuses the request: {code}: {message}\n{actions:#?}")
            }
        }
    }

    /// Executes a read given as DynamoDB's JSON, such as `Query`.
    ///
    /// # Errors
    /// [`Refused`] if the engine rejects the request.
    fn read(&self, operation: &str, request: &Json) -> Result<Json, Refused>;

    /// Every item of the table by its key, without the name of the transaction that wrote it.
    fn contents(&self) -> Contents {
        let items = self.stored().into_iter().map(|item| wire::unnamed(wire::item_from_json(&item)));
        items.map(|item| (primary_key(&item), item)).collect()
    }
}

/// A request that an engine rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The error's code, such as `ValidationException`.
    pub code: String,
    /// The error's message, which differs between engines.
    pub message: String,
    /// The reasons of a cancelled transaction.
    pub reasons: Option<Vec<Json>>,
}

/// The embedded engine, with a new table for each state; none before the first.
#[derive(Default)]
pub struct Embedded(RefCell<Option<Table>>);

impl Embedded {
    fn table(&self) -> Ref<'_, Table> {
        Ref::map(self.0.borrow(), |table| table.as_ref().expect("a state is held"))
    }
}

/// An item's primary key: `uuid` and `type`.
pub type PrimaryKey = (String, String);

/// Every item of a table by its key.
pub type Contents = BTreeMap<PrimaryKey, Item>;

/// The result of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadAnswer {
    /// The items as DynamoDB's JSON; `None` is a key without an item.
    pub items: Vec<Option<Json>>,
    /// The key that the next page starts after; `None` on the last page.
    pub next: Option<Json>,
}

impl ReadAnswer {
    /// Decodes an operation's response from DynamoDB's JSON.
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
    /// An empty table with its indexes.
    #[must_use]
    pub fn new() -> Self {
        let database = Database::memory().unwrap();
        database.create_table(serde_json::from_value(create_request()).unwrap()).unwrap();
        Self { database }
    }

    /// Writes an item, replacing an existing one.
    ///
    /// # Panics
    /// If DynamoDB would reject the request.
    pub fn put(&self, item: &Json) {
        let request = json!({ "TableName": TABLE, "Item": item });
        assert_eq!(rules::check("PutItem", &request), Ok(()), "{item}");
        self.database.put_item(serde_json::from_value(request).unwrap()).unwrap();
    }

    /// Executes actions given as DynamoDB's JSON, under a new name of their transaction.
    ///
    /// # Errors
    /// One reason per action if the transaction was cancelled. Nothing is applied then.
    ///
    /// # Panics
    /// If DynamoDB would reject the request.
    pub fn write(&self, actions: &[Json]) -> Result<(), Vec<Reason>> {
        let request = json!({ "TransactItems": wire::named(actions, wire::new_token()) });
        assert_eq!(rules::check("TransactWriteItems", &request), Ok(()), "{actions:#?}");
        let request = serde_json::from_value(request).unwrap();
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
    /// One reason per action if the transaction was cancelled.
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

    /// Executes a read given as DynamoDB's JSON under the name of its operation.
    ///
    /// # Panics
    /// If DynamoDB would reject the request.
    #[must_use]
    pub fn read(&self, request: &Json) -> ReadAnswer {
        let (verb, body) = request.as_object().unwrap().iter().next().unwrap();
        assert_eq!(rules::check(verb, body), Ok(()), "{request}");
        let answer = self.request(verb, body);
        ReadAnswer::of(verb, &answer.unwrap_or_else(|refused| panic!("the engine refuses {request}: {refused:?}")))
    }

    /// Executes an operation on items.
    ///
    /// # Errors
    /// [`Refused`], as the engine returned it.
    ///
    /// # Panics
    /// On any other operation.
    pub fn request(&self, operation: &str, body: &Json) -> Result<Json, Refused> {
        let database = &self.database;
        match operation {
            "GetItem" => answer(body, |request| database.get_item(request)),
            "PutItem" => answer(body, |request| database.put_item(request)),
            "UpdateItem" => answer(body, |request| database.update_item(request)),
            "DeleteItem" => answer(body, |request| database.delete_item(request)),
            "Query" => answer(body, |request| database.query(request)),
            "Scan" => answer(body, |request| database.scan(request)),
            "BatchGetItem" => answer(body, |request| database.batch_get_item(request)),
            "BatchWriteItem" => answer(body, |request| database.batch_write_item(request)),
            "TransactGetItems" => answer(body, |request| database.transact_get_items(request)),
            "TransactWriteItems" => answer(body, |request| database.transact_write_items(request)),
            other => panic!("not an operation of items: {other}"),
        }
    }

    /// Every item of the table by its key, without the name of the transaction that wrote it.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let items = self.stored().into_iter().map(|item| wire::unnamed(wire::item_from_json(&item)));
        items.map(|item| (primary_key(&item), item)).collect()
    }

    /// Every item of the table, with values of all kinds of DynamoDB.
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

/// The request that creates the table with its indexes.
#[must_use]
pub fn create_request() -> Json {
    let key = |pk: &str, sk: &str| json!([{ "AttributeName": pk, "KeyType": "HASH" }, { "AttributeName": sk, "KeyType": "RANGE" }]);
    let index = |name: &str, [pk, sk]: [&str; 2], projection: &str| json!({ "IndexName": name, "KeySchema": key(pk, sk), "Projection": { "ProjectionType": projection } });
    let (owner, due) = (["owner_pk", "owner_sk"], ["_due_pk", "_due_sk"]);
    let attributes = ["uuid", "type", "owner_pk", "owner_sk", "_due_pk", "_due_sk"];
    json!({
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": key("uuid", "type"),
        "AttributeDefinitions": attributes.map(|name| json!({ "AttributeName": name, "AttributeType": "S" })),
        "GlobalSecondaryIndexes": [
            index("by_owner", owner, "KEYS_ONLY"), index("due", due, "KEYS_ONLY"),
        ],
    })
}

impl Engine for Embedded {
    fn hold(&self, items: &[Json]) {
        let table = Table::new();
        for item in items {
            table.put(item);
        }
        self.0.replace(Some(table));
    }

    fn write(&self, actions: &[Json]) -> Result<(), Refused> {
        let actions = wire::named(actions, wire::new_token());
        self.table().request("TransactWriteItems", &json!({ "TransactItems": actions })).map(drop)
    }

    fn stored(&self) -> Vec<Json> {
        self.table().stored()
    }

    fn read(&self, operation: &str, request: &Json) -> Result<Json, Refused> {
        self.table().request(operation, request)
    }
}

impl Refused {
    /// Decodes an error response.
    #[must_use]
    pub fn read(status: u16, answer: Json) -> Self {
        let text = |name: &str| answer.get(name).and_then(Json::as_str);
        let code = text("__type").and_then(|code| code.rsplit('#').next()).map(str::to_owned);
        let message = text("message").or_else(|| text("Message")).unwrap_or_default().to_owned();
        let reasons = answer.get("CancellationReasons").and_then(Json::as_array).cloned();
        Self { code: code.unwrap_or_else(|| format!("status {status}")), message, reasons }
    }
}

fn answer<Q: DeserializeOwned, A: Serialize>(
    body: &Json,
    execute: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<Json, Refused> {
    let invalid =
        |error: serde_json::Error| Refused { code: CODE.to_owned(), message: error.to_string(), reasons: None };
    let request = serde_json::from_value(body.clone()).map_err(invalid)?;
    let answer = execute(request).map_err(|error| refused(&error))?;
    Ok(serde_json::to_value(answer).unwrap())
}

fn refused(error: &DynoxideError) -> Refused {
    Refused::read(400, serde_json::from_str(&error.to_json()).unwrap_or_default())
}

/// A cancellation reason as the runtime reads it.
#[must_use]
pub fn reason(json: &Json) -> Reason {
    let item = json.get("Item").filter(|item| item.as_object().is_some_and(|item| !item.is_empty()));
    Reason { code: ReasonCode::parse(json["Code"].as_str().unwrap_or("None")), item: item.map(wire::readable) }
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
