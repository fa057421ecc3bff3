//! Amazon SQS on the loopback, as far as the functions use it: takes messages and records them.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

const ACCOUNT: &str = "123456789012";

/// The queues. Clones share their messages.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    url: String,
    taken: Arc<Mutex<Vec<Value>>>,
}

impl Queue {
    /// Starts the server on a free port; it runs until the process ends.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let queue = Self { url, taken: Arc::default() };
        let router = Router::new().route("/", post(take)).with_state(queue.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        queue
    }

    /// The environment variables with the queues for a function.
    #[must_use]
    pub fn variables(&self) -> [(String, String); 3] {
        let queue = |name: &str| format!("{}/{ACCOUNT}/{name}", self.url);
        [
            ("AWS_ENDPOINT_URL_SQS", self.url.clone()),
            ("EVENTS_QUEUE_URL", queue("ecopay-events.fifo")),
            ("EVENTS_DEAD_LETTERS_URL", queue("ecopay-put-aside")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }

    /// The messages of the FIFO queue in order, each with its group, id and body.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        self.taken.lock().expect("nobody panics with it").clone()
    }
}

async fn take(State(queue): State<Queue>, headers: HeaderMap, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let answer = match target {
        Some("AmazonSQS.SendMessageBatch") => {
            let entries = request["Entries"].as_array().cloned().unwrap_or_default();
            let taken = |entry: &Value| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "x"});
            let successful: Vec<Value> = entries.iter().map(taken).collect();
            queue.taken.lock().expect("nobody panics with it").extend(entries);
            json!({"Successful": successful, "Failed": []})
        }
        Some(_) | None => return axum::http::StatusCode::NOT_FOUND.into_response(),
    };
    Json(answer).into_response()
}
