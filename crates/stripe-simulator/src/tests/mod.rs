//! The simulator over HTTP, as a client sees it. Each test serves its own simulator on a free port.

mod calls;
mod events;
mod faults;
mod idempotency;
mod restart;

use crate::{Simulator, SimulatorConfig};
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use std::sync::atomic::{AtomicI64, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

const START_S: i64 = 1_800_000_000;

/// A served simulator, with a clock that tests control.
struct Served {
    simulator: Simulator,
    url: String,
    now_s: Arc<AtomicI64>,
    http: reqwest::Client,
}

/// A response.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The status, and the error's type, code and parameter.
    fn error(&self) -> (u16, String, String, String) {
        let error = self.json()["error"].clone();
        let text = |name: &str| error[name].as_str().unwrap_or("-").to_owned();
        (self.status, text("type"), text("code"), text("param"))
    }

    fn id(&self) -> String {
        self.json()["id"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

impl Served {
    async fn start() -> Self {
        Self::start_with(SimulatorConfig::default()).await
    }

    async fn start_with(config: SimulatorConfig) -> Self {
        let now_s = Arc::new(AtomicI64::new(START_S));
        let clock = Arc::clone(&now_s);
        let simulator = Simulator::start_with_clock(config, move || clock.load(Ordering::SeqCst)).unwrap();
        let url = serve(simulator.router()).await;
        Self { simulator, url, now_s, http: reqwest::Client::new() }
    }

    fn advance_s(&self, seconds: i64) {
        self.now_s.fetch_add(seconds, Ordering::SeqCst);
    }

    fn request(&self, method: &str, path: &str, body: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method.parse().unwrap(), format!("{}/stripe{path}", self.url))
            .bearer_auth("sk_test_local")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.to_owned())
    }

    async fn get(&self, path: &str) -> Answer {
        sent(self.request("GET", path, "")).await
    }

    async fn post(&self, path: &str, body: &str) -> Answer {
        sent(self.request("POST", path, body)).await
    }

    async fn post_with_key(&self, path: &str, body: &str, key: &str) -> Answer {
        sent(self.request("POST", path, body).header("idempotency-key", key)).await
    }

    async fn dev(&self, path: &str, body: &str) -> Answer {
        sent(self.http.post(format!("{}/dev/stripe{path}", self.url)).body(body.to_owned())).await
    }

    /// Creates a PaymentIntent of an amount in yen; returns its id.
    async fn intent(&self, amount: i64) -> String {
        self.post("/v1/payment_intents", &format!("amount={amount}&currency=jpy&metadata[order]=7")).await.id()
    }

    /// Creates a paid PaymentIntent of an amount in yen; returns its id.
    async fn paid(&self, amount: i64) -> String {
        let id = self.intent(amount).await;
        self.simulator.succeed_payment(&id).unwrap();
        id
    }

    fn event_types(&self) -> Vec<String> {
        self.simulator.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }
}

async fn sent(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, text: response.text().await.unwrap() }
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, router).await });
    url
}

/// A webhook that records the deliveries.
#[derive(Clone, Default)]
struct Webhook {
    got: Arc<Mutex<Vec<(String, Value)>>>,
    /// The status that it answers; 0 means 200.
    status: Arc<AtomicU16>,
}

impl Webhook {
    async fn serve(&self) -> String {
        let webhook = self.clone();
        let handler = async move |headers: HeaderMap, body: Bytes| {
            let signature = headers["stripe-signature"].to_str().unwrap().to_owned();
            webhook.got.lock().unwrap().push((signature, serde_json::from_slice(&body).unwrap()));
            StatusCode::from_u16(webhook.status.load(Ordering::SeqCst)).unwrap_or(StatusCode::OK)
        };
        serve(Router::new().route("/hook", post(handler))).await + "/hook"
    }

    fn answer(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    fn types(&self) -> Vec<String> {
        self.got.lock().unwrap().iter().map(|(_, event)| event["type"].as_str().unwrap().to_owned()).collect()
    }

    fn ids(&self) -> Vec<String> {
        self.got.lock().unwrap().iter().map(|(_, event)| event["id"].as_str().unwrap().to_owned()).collect()
    }
}
