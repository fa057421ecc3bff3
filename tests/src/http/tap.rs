//! A connection to the table that records every call, and cuts, holds, refuses or cancels the next ones as planned: it
//! makes the failures that the embedded engine never has.

use super::host;
use crate::cloud::gate;
use crate::costs::units::{Halves, Units};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::StripeConfig;
use ledger_runtime::dynamo;
use ledger_runtime::metrics::Counting;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

const WRITE: &str = "TransactWriteItems";
const SHORT_ATTEMPT: Duration = Duration::from_secs(1);

/// How a function's client waits for the store, and how often it tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// The retries of production, each attempt with the time that a busy machine needs.
    Retried,
    /// The retries and the timeouts of production: for tests of these.
    AsDeployed,
    /// One attempt, with the time that a busy machine needs.
    One,
    /// One attempt without a timeout, so that only the planned faults affect it.
    OneUnlimited,
    /// One attempt of a second at most: for tests of timeouts.
    OneShort,
}

/// A fault of a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection is refused: the call does not arrive.
    Refused,
    /// The call does not arrive, and never returns.
    Held,
    /// The call is answered with an error; nothing is written.
    Error(u16, &'static str),
    /// The call is done; its response never comes.
    AnswerLost,
    /// The call is done; the connection breaks before the response.
    AnswerCut,
    /// The transaction is cancelled with this code for the action at this position; nothing is written.
    Cancelled(usize, &'static str),
}

/// A recorded call.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The operation's name, such as `TransactWriteItems`.
    pub target: String,
    /// The request.
    pub body: Value,
    /// The capacity that the response states, if it was requested and the call succeeded.
    pub units: Option<Units>,
}

/// A connection. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Tap(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    /// Faults of the next writes, one each; `None` sends.
    writes: VecDeque<Option<Fault>>,
    /// The fault of every call while it is set.
    down: Option<Fault>,
    /// The fault of every write to a partition whose key has this text, while it is set.
    partition: Option<(String, Fault)>,
    /// Whether calls request their consumed capacity.
    metered: bool,
}

impl Seen {
    /// The write units that the response states; `None` for a read, and for a write that was not done.
    #[must_use]
    pub fn write_units(&self) -> Option<u64> {
        self.units.filter(|_| self.target == WRITE).map(|units| units.write)
    }

    /// Whether it is a write that was done, by a connection that requests capacities.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.write_units().is_some()
    }

    /// The partition and sort keys of a write's items, in their order.
    #[must_use]
    pub fn keys(&self) -> Vec<(String, String)> {
        let key = |item: &Value| {
            let of_key = ["Update", "ConditionCheck"].map(|action| &item[action]["Key"]);
            let key = of_key.into_iter().chain([&item["Put"]["Item"]]).find(|key| key.is_object());
            key_of(key.expect("an action has a key"))
        };
        self.actions().iter().map(key).collect()
    }

    /// The same of the items that it puts.
    #[must_use]
    pub fn created(&self) -> Vec<(String, String)> {
        self.actions().iter().map(|item| &item["Put"]["Item"]).filter(|item| item.is_object()).map(key_of).collect()
    }

    fn actions(&self) -> &[Value] {
        self.body["TransactItems"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

fn key_of(item: &Value) -> (String, String) {
    let text = |name: &str| item[name]["S"].as_str().expect("keys are strings").to_owned();
    (text("uuid"), text("type"))
}

impl Tap {
    /// Returns the calls recorded since the last time, and clears them.
    #[must_use]
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state().seen)
    }

    /// The operation names of the calls recorded since the last time; clears them.
    #[must_use]
    pub fn take_targets(&self) -> Vec<String> {
        self.take().into_iter().map(|seen| seen.target).collect()
    }

    /// Plans faults of the next writes, one each; `None` sends.
    pub fn next_writes(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.state().writes.extend(faults);
    }

    /// Sets the fault of every call; `None` ends it.
    pub fn every_call(&self, fault: Option<Fault>) {
        self.state().down = fault;
    }

    /// Sets the fault of every write to a partition whose key has a text; `None` ends it.
    pub fn writes_to(&self, partition: Option<(&str, Fault)>) {
        self.state().partition = partition.map(|(text, fault)| (text.to_owned(), fault));
    }

    /// Removes the planned faults.
    pub fn forget_faults(&self) {
        self.state().writes.clear();
    }

    /// The number of planned faults that are left.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        self.state().writes.len()
    }

    /// Makes calls request their consumed capacity from now on.
    pub fn meter(&self) {
        self.state().metered = true;
    }

    /// A function's client of the table at `url` over this connection.
    pub async fn client(&self, url: &str, attempts: Attempts) -> Client {
        self.client_over(url, attempts, gate::over(self.http())).await
    }

    /// The client of an operator, who opens tenants, over this connection. It makes one attempt.
    pub async fn operators_client(&self, url: &str) -> Client {
        self.client_over(url, Attempts::One, self.http()).await
    }

    fn http(&self) -> SharedHttpClient {
        let inner = aws_smithy_http_client::Builder::new().build_http();
        let tap = self.clone();
        http_client_fn(move |settings, components| {
            let connector = inner.http_connector(settings, components);
            SharedHttpConnector::new(Connector { inner: connector, tap: tap.clone() })
        })
    }

    async fn client_over(&self, url: &str, attempts: Attempts, http: SharedHttpClient) -> Client {
        let config = Builder::from(&dynamo::sdk_config(Some(url)).await).endpoint_url(url).http_client(http);
        let one = |timeouts| config.clone().retry_config(RetryConfig::disabled()).timeout_config(timeouts);
        let config = match attempts {
            Attempts::AsDeployed => config,
            Attempts::Retried => config.timeout_config(host::timeouts()),
            Attempts::One => one(host::timeouts()),
            Attempts::OneUnlimited => one(TimeoutConfig::disabled()),
            Attempts::OneShort => one(TimeoutConfig::builder().operation_attempt_timeout(SHORT_ATTEMPT).build()),
        };
        Client::from_conf(config.build())
    }

    /// The functions' state over this connection, with its counters.
    pub async fn app(
        &self,
        (url, table): (&str, &str),
        attempts: Attempts,
        clock: Clock,
        stripe: &StripeConfig,
    ) -> (App, Counting) {
        host::app((self.client(url, attempts).await, table), clock, stripe)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics while it holds the lock")
    }

    /// Records a call; returns its position in the list, its fault, and whether to request its capacity.
    fn note(&self, target: &str, body: Value) -> (usize, Option<Fault>, bool) {
        let mut state = self.state();
        let seen = Seen { target: target.to_owned(), body, units: None };
        let planned = if target == WRITE { state.writes.pop_front().flatten() } else { None };
        let of_partition = state.partition.as_ref().filter(|(text, _)| {
            target == WRITE && seen.keys().iter().any(|(partition, _)| partition.contains(text.as_str()))
        });
        let planned = planned.or_else(|| of_partition.map(|(_, fault)| fault.clone()));
        state.seen.push(seen);
        (state.seen.len() - 1, planned.or_else(|| state.down.clone()), state.metered)
    }
}

#[derive(Debug)]
struct Connector {
    inner: SharedHttpConnector,
    tap: Tap,
}

impl HttpConnector for Connector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let (target, body) = operation(&request);
        let actions = body["TransactItems"].as_array().map_or(0, Vec::len);
        let (at, fault, metered) = self.tap.note(&target, body.clone());
        if metered {
            ask_for_capacity(&mut request, body);
        }
        match fault {
            Some(Fault::Refused) => HttpConnectorFuture::ready(Err(ConnectorError::io("connection refused".into()))),
            Some(Fault::Held) => HttpConnectorFuture::new(std::future::pending()),
            Some(Fault::Error(status, code)) => HttpConnectorFuture::ready(Ok(error(status, code, Vec::new()))),
            Some(Fault::Cancelled(at, code)) => {
                let reasons = (0..actions).map(|action| json!({"Code": if action == at { code } else { "None" }}));
                HttpConnectorFuture::ready(Ok(error(400, "TransactionCanceledException", reasons.collect())))
            }
            Some(Fault::AnswerLost) => {
                let sent = self.inner.call(request);
                HttpConnectorFuture::new(async move {
                    let _ = sent.await;
                    std::future::pending().await
                })
            }
            Some(Fault::AnswerCut) => {
                let sent = self.inner.call(request);
                HttpConnectorFuture::new(async move {
                    let _ = sent.await;
                    Err(ConnectorError::io("connection reset".into()))
                })
            }
            None if metered => {
                let (sent, tap) = (self.inner.call(request), self.tap.clone());
                HttpConnectorFuture::new(async move { Ok(metered_answer(sent.await?, &tap, at).await) })
            }
            None => self.inner.call(request),
        }
    }
}

/// The operation of a call, and its JSON body.
pub(crate) fn operation(request: &HttpRequest) -> (String, Value) {
    let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit('.').next());
    let body = serde_json::from_slice(request.body().bytes().expect("a body")).expect("a JSON body");
    (target.expect("a call of DynamoDB names its operation").to_owned(), body)
}

fn ask_for_capacity(request: &mut HttpRequest, mut body: Value) {
    body["ReturnConsumedCapacity"] = json!("INDEXES");
    let text = body.to_string();
    request.headers_mut().insert("content-length", text.len().to_string());
    *request.body_mut() = SdkBody::from(text);
}

async fn metered_answer(mut response: HttpResponse, tap: &Tap, at: usize) -> HttpResponse {
    let body = std::mem::replace(response.body_mut(), SdkBody::taken());
    let bytes = ByteStream::new(body).collect().await.expect("an answer").into_bytes();
    let json: Value = serde_json::from_slice(&bytes).expect("a JSON answer");
    let mut state = tap.state();
    let is_write = state.seen[at].target == WRITE;
    state.seen[at].units = capacity(&json["ConsumedCapacity"], is_write);
    drop(state);
    *response.body_mut() = SdkBody::from(bytes.to_vec());
    response
}

/// What a response states, for one table: an object, or a list of one.
fn capacity(stated: &Value, is_write: bool) -> Option<Units> {
    let stated = stated.get(0).unwrap_or(stated);
    let halves = |of: &Value| of["CapacityUnits"].as_number().and_then(|number| Halves::parse(&number.to_string()));
    let all = halves(stated)?.0;
    if !is_write {
        return Some(Units { read_halves: all, ..Units::default() });
    }
    let indexes = stated["GlobalSecondaryIndexes"].as_object().into_iter().flat_map(serde_json::Map::values);
    let of_indexes: u64 = indexes.filter_map(halves).map(|halves| halves.0).sum();
    Some(Units { write: all / 2, index: of_indexes / 2, read_halves: 0 })
}

/// An error response.
pub(crate) fn error(status: u16, code: &str, reasons: Vec<Value>) -> HttpResponse {
    let mut body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "from the test"});
    if !reasons.is_empty() {
        body["CancellationReasons"] = Value::Array(reasons);
    }
    answer(status, &body)
}

/// A response with this body.
pub(crate) fn answer(status: u16, body: &Value) -> HttpResponse {
    let status = http::StatusCode::from_u16(status).expect("a status");
    HttpResponse::new(status.into(), SdkBody::from(body.to_string()))
}
