//! Lambda's Runtime API on the loopback, as AWS documents it, for one function: hands out events and takes responses.
//! Of the Extensions API it has what the runtime's shutdown handler calls.

use super::Reply;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use ledger_local::clock;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

const RUNTIME: &str = "/2018-06-01/runtime";
const EXTENSIONS: &str = "/2020-01-01/extension";
/// API Gateway's timeout, which is also the functions' configured timeout.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running Runtime API. It ends when it is dropped.
#[derive(Debug)]
pub struct RuntimeApi {
    address: String,
    events: mpsc::UnboundedSender<Event>,
    state: Arc<ApiState>,
    server: JoinHandle<io::Result<()>>,
}

#[derive(Debug)]
struct Event {
    id: String,
    payload: Bytes,
}

/// The handlers' shared state.
#[derive(Debug)]
struct ApiState {
    function: String,
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Event>>,
    open: Mutex<HashMap<String, oneshot::Sender<Reply>>>,
    /// When the function asked for its first event; `None` before.
    ready: watch::Sender<Option<Instant>>,
    /// The function's error of initialization.
    init_error: Mutex<Option<Value>>,
}

impl RuntimeApi {
    /// Starts the API for a function of this name.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(function: &str) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let state = Arc::new(ApiState {
            function: function.to_owned(),
            events: tokio::sync::Mutex::new(events),
            open: Mutex::default(),
            ready: watch::Sender::new(None),
            init_error: Mutex::default(),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let serving = axum::serve(listener, router(Arc::clone(&state)));
        Self { address, events: sender, state, server: tokio::spawn(async { serving.await }) }
    }

    /// Host and port, as in `AWS_LAMBDA_RUNTIME_API`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until the function asks for its first event; returns when it did.
    ///
    /// # Panics
    /// Never: the sender lives as long as `self`.
    pub async fn ready(&self) -> Instant {
        let mut ready = self.state.ready.subscribe();
        let ready = ready.wait_for(Option::is_some).await.expect("it lives");
        ready.expect("it is there")
    }

    /// The function's error of initialization, if it reported one.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    #[must_use]
    pub fn init_error(&self) -> Option<Value> {
        self.state.init_error.lock().expect("no panic").clone()
    }

    /// Hands an event to the function; the receiver gets its reply.
    ///
    /// # Panics
    /// Never: the receiver lives as long as `self`.
    pub fn hand_out(&self, payload: impl Into<Bytes>) -> oneshot::Receiver<Reply> {
        let id = crate::http::world::new_id();
        let (sender, reply) = oneshot::channel();
        self.state.open.lock().expect("no panic").insert(id.clone(), sender);
        self.events.send(Event { id, payload: payload.into() }).expect("it lives");
        reply
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn router(state: Arc<ApiState>) -> Router {
    Router::new()
        .route(&format!("{RUNTIME}/invocation/next"), get(next))
        .route(&format!("{RUNTIME}/invocation/{{id}}/response"), post(response))
        .route(&format!("{RUNTIME}/invocation/{{id}}/error"), post(error))
        .route(&format!("{RUNTIME}/init/error"), post(init_error))
        .route(&format!("{EXTENSIONS}/register"), post(register))
        .route(&format!("{EXTENSIONS}/event/next"), get(extension_next))
        .with_state(state)
}

/// Waits for an event without a timeout: Lambda freezes an idle environment here.
async fn next(State(state): State<Arc<ApiState>>) -> Response<Body> {
    state.ready.send_if_modified(|ready| ready.is_none() && ready.replace(Instant::now()).is_none());
    let Some(event) = state.events.lock().await.recv().await else {
        return answer(StatusCode::INTERNAL_SERVER_ERROR, &json!({"errorMessage": "no more events"}));
    };
    let deadline = clock::since_epoch() + TIMEOUT;
    Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-aws-request-id", &event.id)
        .header("lambda-runtime-deadline-ms", deadline.as_millis().to_string())
        .header("lambda-runtime-invoked-function-arn", arn(&state.function))
        .header("lambda-runtime-trace-id", "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0")
        .body(Body::from(event.payload))
        .expect("an answer")
}

async fn response(State(state): State<Arc<ApiState>>, Path(id): Path<String>, body: Bytes) -> Response<Body> {
    state.close(&id, Reply::Response(json_of(&body)))
}

async fn error(State(state): State<Arc<ApiState>>, Path(id): Path<String>, body: Bytes) -> Response<Body> {
    state.close(&id, Reply::Error(json_of(&body)))
}

async fn init_error(State(state): State<Arc<ApiState>>, body: Bytes) -> Response<Body> {
    *state.init_error.lock().expect("no panic") = Some(json_of(&body));
    answer(StatusCode::ACCEPTED, &json!({"status": "OK"}))
}

/// Lambda registers extensions until the function asks for its first event.
async fn register(State(state): State<Arc<ApiState>>, headers: HeaderMap) -> Response<Body> {
    if !headers.contains_key("lambda-extension-name") {
        return answer(StatusCode::BAD_REQUEST, &json!({"errorType": "InvalidRequestFormat"}));
    }
    if state.ready.borrow().is_some() {
        return answer(StatusCode::FORBIDDEN, &json!({"errorType": "Extension.RegistrationClosed"}));
    }
    let known = json!({"functionName": state.function, "functionVersion": "$LATEST", "handler": "bootstrap"});
    let mut response = answer(StatusCode::OK, &known);
    let id = crate::http::world::new_id().parse().expect("an id is a header's value");
    response.headers_mut().insert("lambda-extension-identifier", id);
    response
}

/// An extension that registered for no events never gets one.
async fn extension_next() -> Response<Body> {
    std::future::pending().await
}

impl ApiState {
    fn close(&self, id: &str, reply: Reply) -> Response<Body> {
        let Some(waiting) = self.open.lock().expect("no panic").remove(id) else {
            return answer(StatusCode::BAD_REQUEST, &json!({"errorType": "InvalidRequestID"}));
        };
        // The caller may no longer be waiting.
        let _ = waiting.send(reply);
        answer(StatusCode::ACCEPTED, &json!({"status": "OK"}))
    }
}

fn arn(function: &str) -> String {
    format!("arn:aws:lambda:ap-northeast-1:123456789012:function:{function}")
}

/// The body as JSON; a body that is not JSON becomes a string.
fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into())
}

fn answer(status: StatusCode, body: &Value) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).expect("an answer")
}
