//! A connection to the table that counts what each call consumes.

use super::counts::Counts;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use ledger_runtime::dynamo;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longer than the functions wait, so that a busy machine causes no retries, which would be counted.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// The counts of a connection. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Counts>>);

impl Meter {
    /// Returns the counts since the last time, and clears them.
    #[must_use]
    pub fn take(&self) -> Counts {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, counts: Counts) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += counts;
    }

    /// A client of the table at `url` whose calls are counted.
    pub async fn client(&self, url: &str) -> Client {
        let inner = aws_smithy_http_client::Builder::new().build_http();
        let meter = self.clone();
        let http = http_client_fn(move |settings, components| {
            let connector = inner.http_connector(settings, components);
            SharedHttpConnector::new(Counted { inner: connector, meter: meter.clone() })
        });
        Client::from_conf(patient(url).await.http_client(http).build())
    }
}

/// A client of the table at `url` whose calls are not counted.
pub async fn plain_client(url: &str) -> Client {
    let http = aws_smithy_http_client::Builder::new().build_http();
    Client::from_conf(patient(url).await.http_client(http).build())
}

async fn patient(url: &str) -> Builder {
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build();
    Builder::from(&dynamo::sdk_config(Some(url)).await).endpoint_url(url).timeout_config(timeouts)
}

#[derive(Debug)]
struct Counted {
    inner: SharedHttpConnector,
    meter: Meter,
}

impl HttpConnector for Counted {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit('.').next());
        let operation = target.unwrap_or_default().to_owned();
        let bytes = request.body().bytes().unwrap_or_default();
        let bytes_sent = bytes.len() as u64;
        let mut body: Value = serde_json::from_slice(bytes).unwrap_or_default();
        if body.is_object() {
            body["ReturnConsumedCapacity"] = json!("TOTAL");
            let text = body.to_string();
            request.headers_mut().insert("content-length", text.len().to_string());
            *request.body_mut() = SdkBody::from(text);
        }
        let (sent, meter) = (self.inner.call(request), self.meter.clone());
        HttpConnectorFuture::new(async move {
            let (response, bytes) = read(sent.await?).await;
            let answer = serde_json::from_slice(&bytes).unwrap_or_default();
            let bytes_received = bytes.len() as u64;
            meter.add(Counts { bytes_sent, bytes_received, ..Counts::of_call(&operation, &body, &answer) });
            Ok(response)
        })
    }
}

/// A response with its whole body, and the body's bytes. An interrupted body is empty, which the SDK reports.
async fn read(mut response: HttpResponse) -> (HttpResponse, Vec<u8>) {
    let body = std::mem::replace(response.body_mut(), SdkBody::taken());
    let bytes = ByteStream::new(body).collect().await.map(|data| data.to_vec()).unwrap_or_default();
    *response.body_mut() = SdkBody::from(bytes.clone());
    (response, bytes)
}
