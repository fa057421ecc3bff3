//! A listener between a process and its store: it forwards what DynamoDB would execute and refuses the rest with
//! DynamoDB's error, or it forwards and counts every call.

use super::gate;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// The largest request that DynamoDB accepts, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug)]
struct Store {
    url: String,
    http: reqwest::Client,
    check: Check,
}

/// What the listener does with each call before it forwards it.
#[derive(Clone, Debug)]
enum Check {
    /// Refuses it if DynamoDB would.
    Rules,
    /// Counts it.
    Count(Calls),
}

impl Check {
    /// The error that the call is answered with; `None` forwards it.
    fn refusal(&self, operation: &str, body: &[u8]) -> Option<String> {
        match self {
            Self::Rules => {
                let json = serde_json::from_slice(body).expect("a JSON body");
                gate::invalid(operation, &json).map(|answer| answer.to_string())
            }
            Self::Count(calls) => {
                calls.count(operation);
                None
            }
        }
    }
}

/// The number of calls by operation. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Mutex<BTreeMap<String, u64>>>);

impl Calls {
    /// Returns the counts since the last time, and clears them.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    #[must_use]
    pub fn take(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }

    fn count(&self, operation: &str) {
        *self.0.lock().expect("no panic").entry(operation.to_owned()).or_default() += 1;
    }
}

/// Listens on a free port in front of the store at a URL while the runtime lives; returns its own URL.
///
/// # Panics
/// When no port is free.
pub async fn listen(store: &str) -> String {
    start(store, Check::Rules).await
}

/// Listens in the same way, and counts the calls. The table need not be the ledger's, so no rule is checked.
///
/// # Panics
/// When no port is free.
pub async fn counting(store: &str) -> (String, Calls) {
    let calls = Calls::default();
    (start(store, Check::Count(calls.clone())).await, calls)
}

async fn start(store: &str, check: Check) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let store = Store { url: store.to_owned(), http: reqwest::Client::new(), check };
    let limit = axum::extract::DefaultBodyLimit::max(BODY_BYTES_MAX);
    let router = Router::new().fallback(serve).layer(limit).with_state(store);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn serve(State(store): State<Store>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let operation =
        target.and_then(|target| target.rsplit('.').next()).expect("a call of DynamoDB names its operation");
    if let Some(refusal) = store.check.refusal(operation, &body) {
        return (StatusCode::BAD_REQUEST, refusal).into_response();
    }
    let mut headers = headers;
    headers.remove(header::HOST);
    headers.remove(header::CONTENT_LENGTH);
    let sent = store.http.post(&store.url).headers(headers).body(body).send().await;
    let Ok(answer) = sent else { return StatusCode::BAD_GATEWAY.into_response() };
    let status = answer.status();
    match answer.bytes().await {
        Ok(bytes) => (status, bytes).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
