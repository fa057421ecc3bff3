//! Amazon S3 on the loopback, as far as the functions use it: objects by name, among them an export of a table with one
//! balance that has no posting.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

const EXPORT: &str = "exports/night/AWSDynamoDB/01693685827463-2d8752fd";

/// The buckets. Clones share their objects.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    url: String,
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Bucket {
    /// Starts the server on a free port; it runs until the process ends.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let bucket = Self { url, objects: Arc::new(Mutex::new(export())) };
        let router = Router::new().fallback(serve).with_state(bucket.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        bucket
    }

    /// The environment variables with the buckets for a function.
    #[must_use]
    pub fn variables(&self) -> [(String, String); 3] {
        [("AWS_ENDPOINT_URL_S3", self.url.as_str()), ("EXPORT_BUCKET", "exports"), ("RECONCILIATION_BUCKET", "reports")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }

    /// Every object by its path: bucket and name.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    #[must_use]
    pub fn kept(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects.lock().expect("nobody panics with it").clone()
    }
}

fn export() -> BTreeMap<String, Vec<u8>> {
    let item = json!({"uuid": {"S": "demo#customer#00000000-0000-7000-8000-00000000000a"}, "type": {"S": "BALANCE#ECOPAY"},
        "asset": {"S": "ECOPAY"}, "balance": {"N": "5"}, "held": {"N": "0"}, "exposure": {"N": "5"},
        "updated_at": {"S": "2026-11-20T00:00:00.000Z"}});
    let mut data = GzEncoder::new(Vec::new(), Compression::fast());
    writeln!(data, "{}", json!({"Item": item})).expect("memory");
    let file = json!({"itemCount": 1, "dataFileS3Key": format!("{EXPORT}/data/a.json.gz")});
    let summary = json!({"version": "2020-06-30", "exportTime": "2026-11-21T03:00:00.000Z", "itemCount": 1});
    [
        ("data/a.json.gz", data.finish().expect("memory")),
        ("manifest-files.json", format!("{file}\n").into_bytes()),
        ("manifest-summary.json", summary.to_string().into_bytes()),
    ]
    .map(|(name, bytes)| (format!("/exports/{EXPORT}/{name}"), bytes))
    .into()
}

async fn serve(State(bucket): State<Bucket>, method: Method, uri: Uri, body: Bytes) -> Response {
    let mut objects = bucket.objects.lock().expect("nobody panics with it");
    match method {
        Method::GET => match objects.get(uri.path()) {
            Some(bytes) => bytes.clone().into_response(),
            None => (StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>").into_response(),
        },
        Method::PUT => {
            objects.insert(uri.path().to_owned(), body.to_vec());
            StatusCode::OK.into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}
