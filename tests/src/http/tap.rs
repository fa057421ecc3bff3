//! The wire between the ledger and its store: counts and keeps every call, and cuts, delays, refuses
//! or cancels the next ones as a test says. What the embedded engine never does is done here.

use super::host;
use crate::cloud::gate;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
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
const QUICK_ATTEMPT: Duration = Duration::from_secs(1);

/// What happens to a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Nobody is there: the call never arrives.
    Refused,
    /// The call never arrives, and nobody says so.
    Held,
    /// An error answer; nothing is done.
    Error(u16, &'static str),
    /// It is done, and the answer never comes.
    AnswerLost,
    /// It is done, and the connection breaks before the answer.
    AnswerCut,
    /// The transaction is cancelled, with this code at this position; nothing is done.
    Cancelled(usize, &'static str),
}

/// A call as the store's wire saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The operation's name, such as `TransactWriteItems`.
    pub target: String,
    /// The request.
    pub body: Value,
    /// The write capacity that the answer tells, where it was asked for.
    pub write_units: Option<String>,
}

/// A wire. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Tap(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    /// The next writes' faults, one each; `None` lets one pass.
    writes: VecDeque<Option<Fault>>,
    /// Every call's fault, while it is set.
    down: Option<Fault>,
    /// Whether writes ask for their capacity.
    metered: bool,
}

impl Seen {
    /// The partition and sort keys of a write's items, in their order.
    #[must_use]
    pub fn keys(&self) -> Vec<(String, String)> {
        let items = self.body["TransactItems"].as_array().map(Vec::as_slice).unwrap_or_default();
        let key = |item: &Value| {
            let key = [&item["Put"]["Item"], &item["Update"]["Key"], &item["ConditionCheck"]["Key"]];
            let key = key.into_iter().find(|key| key.is_object()).expect("an action has a key");
            let text = |name: &str| key[name]["S"].as_str().expect("keys are strings").to_owned();
            (text("uuid"), text("type"))
        };
        items.iter().map(key).collect()
    }
}

impl Tap {
    /// What has been seen since the last time.
    #[must_use]
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state().seen)
    }

    /// The names of the operations that have been seen since the last time.
    #[must_use]
    pub fn take_targets(&self) -> Vec<String> {
        self.take().into_iter().map(|seen| seen.target).collect()
    }

    /// The next writes meet these faults, one each; `None` lets one pass.
    pub fn next_writes(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.state().writes.extend(faults);
    }

    /// Every call meets this fault, until it is set to none.
    pub fn every_call(&self, fault: Option<Fault>) {
        self.state().down = fault;
    }

    /// Faults that have not been met are not met any more.
    pub fn forget_faults(&self) {
        self.state().writes.clear();
    }

    /// How many planned faults have not been met.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        self.state().writes.len()
    }

    /// Writes ask for their capacity from now on.
    pub fn meter(&self) {
        self.state().metered = true;
    }

    /// A function's client of the table at `url` through this wire, with the timeouts and retries of the
    /// real one; `hasty` has one short attempt instead, so that a test need not wait for all of them.
    pub async fn client(&self, url: &str, hasty: bool) -> Client {
        let inner = aws_smithy_http_client::Builder::new().build_http();
        let tap = self.clone();
        let http = http_client_fn(move |settings, components| {
            let connector = inner.http_connector(settings, components);
            SharedHttpConnector::new(Connector { inner: connector, tap: tap.clone() })
        });
        let mut config =
            Builder::from(&dynamo::sdk_config(Some(url)).await).endpoint_url(url).http_client(gate::over(http));
        if hasty {
            let timeouts = TimeoutConfig::builder().operation_attempt_timeout(QUICK_ATTEMPT);
            config = config.retry_config(RetryConfig::disabled()).timeout_config(timeouts.build());
        }
        Client::from_conf(config.build())
    }

    /// The functions' state behind this wire, and its counters.
    pub async fn app(
        &self,
        (url, table): (&str, &str),
        hasty: bool,
        clock: Clock,
        stripe: &StripeConfig,
    ) -> (App, Counting) {
        host::app((self.client(url, hasty).await, table), clock, stripe)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics with the wire in its hand")
    }

    /// Takes note of a call: its place in the list, its fault, and whether it is metered.
    fn note(&self, target: &str, body: Value) -> (usize, Option<Fault>, bool) {
        let mut state = self.state();
        state.seen.push(Seen { target: target.to_owned(), body, write_units: None });
        let planned = if target == WRITE { state.writes.pop_front().flatten() } else { None };
        (state.seen.len() - 1, planned.or_else(|| state.down.clone()), state.metered && target == WRITE)
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

/// The operation that a call asks for, and its JSON.
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
    let units = json["ConsumedCapacity"][0]["CapacityUnits"].as_number().map(ToString::to_string);
    tap.state().seen[at].write_units = units;
    *response.body_mut() = SdkBody::from(bytes.to_vec());
    response
}

/// An error answer.
pub(crate) fn error(status: u16, code: &str, reasons: Vec<Value>) -> HttpResponse {
    let mut body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "from the test"});
    if !reasons.is_empty() {
        body["CancellationReasons"] = Value::Array(reasons);
    }
    answer(status, &body)
}

/// An answer with this body.
pub(crate) fn answer(status: u16, body: &Value) -> HttpResponse {
    let status = http::StatusCode::from_u16(status).expect("a status");
    HttpResponse::new(status.into(), SdkBody::from(body.to_string()))
}
