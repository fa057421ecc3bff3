//! Another engine than the embedded one, called over the network through the AWS SDK: the one that `LEDGER_ENGINE_URL`
//! names, or an embedded one behind a listener. A request's JSON is sent unchanged, except for the table's name.

use super::{Engine, Refused, create_request};
use crate::wire::{self, TABLE};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::{
    AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::body::SdkBody;
use ledger_local::engine::{Data, EngineConfig};
use ledger_runtime::clock::Clock;
use ledger_runtime::dynamo;
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The URL of the DynamoDB that tests use instead of the embedded engine; `aws` is AWS itself.
pub const URL_VARIABLE: &str = "LEDGER_ENGINE_URL";
/// The prefix of test tables' names. No other table of the account may have it.
pub const TEST_TABLE_PREFIX: &str = "ecopay-test-";
/// AWS itself, with the SDK's settings.
const AWS: &str = "aws";
const TARGET_PREFIX: &str = "DynamoDB_20120810.";
/// DynamoDB's limit of items in one BatchWriteItem.
const BATCH_MAX: usize = 25;
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const ACTIVE_POLL: Duration = Duration::from_millis(200);
const ACTIVE_POLLS_MAX: u32 = 300;

/// The URL of the engine that the environment names, if any.
#[must_use]
pub fn given_url() -> Option<String> {
    std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty())
}

/// A new, unique table name.
#[must_use]
pub fn new_table_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = Clock::system().now();
    let next = NEXT.fetch_add(1, Ordering::SeqCst);
    format!("{TEST_TABLE_PREFIX}{}-{}-{next}", now.millis(), std::process::id())
}

/// A new table at an endpoint, deleted when it is dropped.
pub struct OtherEngine {
    runtime: Runtime,
    client: Client,
    table: String,
    /// The embedded engine, if it is the one behind the listener. It is dropped after its table.
    embedded: Option<ledger_local::engine::Engine>,
}

impl OtherEngine {
    /// The engine that the environment names, or the embedded one behind a listener.
    ///
    /// # Panics
    /// When the engine does not answer.
    #[must_use]
    pub fn judged() -> Self {
        let Some(url) = given_url() else {
            let embedded = EngineConfig { data: Data::Memory, port: None };
            let embedded = ledger_local::engine::Engine::start(&embedded).expect("it starts");
            let mut engine = Self::at(&embedded.url());
            engine.embedded = Some(embedded);
            return engine;
        };
        Self::at(&url)
    }

    /// Whether it is the embedded engine behind a listener.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Creates a table at an endpoint, and waits until it is active.
    ///
    /// # Panics
    /// When the endpoint does not answer or rejects the request.
    #[must_use]
    pub fn at(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let endpoint = (url != AWS).then_some(url);
        let client = runtime.block_on(async { dynamo::client(&dynamo::sdk_config(endpoint).await, endpoint) });
        // An emulator on a busy machine is slow, and only its responses are compared.
        let timeouts =
            TimeoutConfig::builder().operation_timeout(CALL_TIMEOUT).operation_attempt_timeout(CALL_TIMEOUT).build();
        let config = client.config().to_builder().timeout_config(timeouts).retry_config(RetryConfig::standard());
        let engine =
            Self { runtime, client: Client::from_conf(config.build()), table: new_table_name(), embedded: None };
        println!("engine: {url}; table {}, deleted at the end", engine.table);
        let _ = engine.call("CreateTable", &create_request()).expect("the table is made");
        for _ in 0..ACTIVE_POLLS_MAX {
            let described = engine.call("DescribeTable", &json!({ "TableName": TABLE })).expect("it is there");
            if described["Table"]["TableStatus"] == "ACTIVE" {
                return engine;
            }
            std::thread::sleep(ACTIVE_POLL);
        }
        panic!("the table is not active after a minute");
    }

    /// Sends a request with [`TABLE`] replaced by this engine's table.
    fn call(&self, operation: &str, request: &Json) -> Result<Json, Refused> {
        let body = renamed(request, TABLE, &self.table);
        let exchange = Exchange { operation: operation.to_owned(), body, answer: Arc::default() };
        // The operation does not matter: the interceptor replaces the request.
        let sent = self.client.list_tables().customize().interceptor(exchange.clone()).send();
        let ended = self.runtime.block_on(sent).map(drop);
        let Some((status, answer)) = exchange.answer.lock().expect("no panic while it is held").take() else {
            return Err(Refused { code: "no answer".to_owned(), message: format!("{ended:?}"), reasons: None });
        };
        let answer: Json = serde_json::from_slice(&answer).unwrap_or(Json::Null);
        if status == 200 { Ok(renamed(&answer, &self.table, TABLE)) } else { Err(Refused::read(status, answer)) }
    }

    fn batch(&self, requests: &[Json]) {
        for chunk in requests.chunks(BATCH_MAX) {
            let mut left = json!({ TABLE: chunk });
            while left.as_object().is_some_and(|tables| !tables.is_empty()) {
                let done = self.call("BatchWriteItem", &json!({ "RequestItems": left })).expect("it is written");
                left = done["UnprocessedItems"].clone();
            }
        }
    }
}

impl Engine for OtherEngine {
    fn hold(&self, items: &[Json]) {
        let key = |item: &Json| json!({ "uuid": item["uuid"], "type": item["type"] });
        let deletes =
            self.stored().iter().map(|item| json!({ "DeleteRequest": { "Key": key(item) } })).collect::<Vec<_>>();
        self.batch(&deletes);
        let puts = items.iter().map(|item| json!({ "PutRequest": { "Item": item } })).collect::<Vec<_>>();
        self.batch(&puts);
    }

    fn write(&self, actions: &[Json]) -> Result<(), Refused> {
        let actions = wire::named(actions, wire::new_token());
        self.call("TransactWriteItems", &json!({ "TransactItems": actions })).map(drop)
    }

    fn stored(&self) -> Vec<Json> {
        let mut stored = Vec::new();
        let mut request = json!({ "TableName": TABLE, "ConsistentRead": true });
        loop {
            let page = self.call("Scan", &request).expect("a page");
            stored.extend(page["Items"].as_array().expect("items").iter().cloned());
            match page.get("LastEvaluatedKey") {
                Some(next) if !next.is_null() => request["ExclusiveStartKey"] = next.clone(),
                Some(_) | None => return stored,
            }
        }
    }

    fn read(&self, operation: &str, request: &Json) -> Result<Json, Refused> {
        self.call(operation, request)
    }
}

impl Drop for OtherEngine {
    fn drop(&mut self) {
        if let Err(refused) = self.call("DeleteTable", &json!({ "TableName": TABLE })) {
            eprintln!("table {} is left behind: {}", self.table, refused.code);
        }
    }
}

/// JSON with a table's name replaced.
fn renamed(json: &Json, from: &str, to: &str) -> Json {
    match json {
        Json::Object(map) => {
            let member = |(name, value): (&String, &Json)| match (name.as_str(), value.as_str()) {
                ("TableName", Some(table)) if table == from => (name.clone(), Json::from(to)),
                (table, None) if table == from => (to.to_owned(), renamed(value, from, to)),
                (_, _) => (name.clone(), renamed(value, from, to)),
            };
            Json::Object(map.iter().map(member).collect())
        }
        Json::Array(list) => Json::Array(list.iter().map(|value| renamed(value, from, to)).collect()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.clone(),
    }
}

/// A response's status and body.
type RawAnswer = (u16, Vec<u8>);

/// Replaces the SDK's request before it is signed, and keeps the response.
#[derive(Clone, Debug)]
struct Exchange {
    operation: String,
    body: Json,
    answer: Arc<Mutex<Option<RawAnswer>>>,
}

impl Intercept for Exchange {
    fn name(&self) -> &'static str {
        "Exchange"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (request, body) = (context.request_mut(), self.body.to_string());
        request.headers_mut().insert("x-amz-target", format!("{TARGET_PREFIX}{}", self.operation));
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        let body = response.body().bytes().unwrap_or_default().to_vec();
        *self.answer.lock().expect("no panic while it is held") = Some((response.status().as_u16(), body));
        Ok(())
    }
}
