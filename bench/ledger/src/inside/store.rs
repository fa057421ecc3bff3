//! The SDK's connection to a store: times each call, or answers at once without a store.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use ledger_runtime::dynamo;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A call of the store.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operation's name, such as `TransactWriteItems`.
    pub target: String,
    /// The request.
    pub body: String,
    /// The answer.
    pub answer: Canned,
    /// From the request to the whole answer; zero for a canned one.
    pub took: Duration,
}

/// An answer of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canned {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Canned {
    /// DynamoDB's answer to a transaction that it applied.
    #[must_use]
    pub fn applied() -> Self {
        Self { status: 200, body: b"{}".to_vec() }
    }
}

/// The connection. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct TimedStore(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    calls: Vec<Call>,
    canned: VecDeque<Canned>,
}

impl TimedStore {
    /// The calls since the last time.
    #[must_use]
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.state().calls)
    }

    /// Answers the next transaction at once. It does not arrive at the store.
    pub fn answer_next(&self, canned: Canned) {
        self.state().canned.push_back(canned);
    }

    pub(super) async fn client(&self, url: &str) -> Client {
        let inner = aws_smithy_http_client::Builder::new().build_http();
        let store = self.clone();
        let http = http_client_fn(move |settings, components| {
            let inner = inner.http_connector(settings, components);
            SharedHttpConnector::new(Connector { inner, store: store.clone() })
        });
        let config = Builder::from(&dynamo::sdk_config(Some(url)).await).endpoint_url(url).http_client(http);
        Client::from_conf(config.build())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while it is held")
    }
}

#[derive(Debug)]
struct Connector {
    inner: SharedHttpConnector,
    store: TimedStore,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit('.').next());
        let target = target.unwrap_or_default().to_owned();
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
        let canned = if target == "TransactWriteItems" { self.store.state().canned.pop_front() } else { None };
        if let Some(answer) = canned {
            let response = response(&answer);
            self.store.state().calls.push(Call { target, body, answer, took: Duration::ZERO });
            return HttpConnectorFuture::ready(Ok(response));
        }
        let (store, began) = (self.store.clone(), Instant::now());
        let sent = self.inner.call(request);
        HttpConnectorFuture::new(async move {
            let mut response = sent.await?;
            let body_of_answer = std::mem::replace(response.body_mut(), SdkBody::taken());
            let bytes = ByteStream::new(body_of_answer).collect().await;
            let took = began.elapsed();
            let bytes = bytes.map_err(|error| {
                aws_smithy_runtime_api::client::result::ConnectorError::io(error.to_string().into())
            })?;
            let answer = Canned { status: response.status().as_u16(), body: bytes.into_bytes().to_vec() };
            *response.body_mut() = SdkBody::from(answer.body.clone());
            store.state().calls.push(Call { target, body, answer, took });
            Ok(response)
        })
    }
}

fn response(canned: &Canned) -> HttpResponse {
    let status = http::StatusCode::from_u16(canned.status).expect("a status");
    HttpResponse::new(status.into(), SdkBody::from(canned.body.clone()))
}
