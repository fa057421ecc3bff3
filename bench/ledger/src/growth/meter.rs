//! A connection to the table that counts what each call consumes.

use super::counts::Counts;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::{AggregatedBytes, ByteStream};
use ledger_runtime::dynamo;
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
        let sent = request.body().bytes().unwrap_or_default().to_vec();
        if let Some(asking) = asking_for_capacity(&sent) {
            request.headers_mut().insert("content-length", asking.len().to_string());
            *request.body_mut() = SdkBody::from(asking);
        }
        let (answered, meter) = (self.inner.call(request), self.meter.clone());
        HttpConnectorFuture::new(async move {
            let mut response = answered.await?;
            let body = std::mem::replace(response.body_mut(), SdkBody::taken());
            // An interrupted body is empty, which the SDK reports.
            let bytes = ByteStream::new(body).collect().await.map(AggregatedBytes::into_bytes).unwrap_or_default();
            meter.add(Counts::of_call(&operation, &sent, &bytes));
            *response.body_mut() = SdkBody::from(bytes);
            Ok(response)
        })
    }
}

/// The request with the wish for its consumed capacity; `None` if it has that wish, or is no JSON object.
fn asking_for_capacity(body: &[u8]) -> Option<Vec<u8>> {
    let name = b"\"ReturnConsumedCapacity\"";
    let has_it = body.windows(name.len()).any(|window| window == name);
    let rest = body.strip_prefix(b"{").filter(|_| !has_it)?;
    let comma: &[u8] = if rest.starts_with(b"}") { b"" } else { b"," };
    Some([b"{", name.as_slice(), b":\"TOTAL\"", comma, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_asks_once_for_its_capacity() {
        let asking = |body: &str| asking_for_capacity(body.as_bytes()).map(|asking| String::from_utf8(asking).unwrap());
        assert_eq!(asking("{\"a\":1}").unwrap(), "{\"ReturnConsumedCapacity\":\"TOTAL\",\"a\":1}");
        assert_eq!(asking("{}").unwrap(), "{\"ReturnConsumedCapacity\":\"TOTAL\"}");
        assert_eq!(asking("{\"ReturnConsumedCapacity\":\"TOTAL\",\"a\":1}"), None);
        assert_eq!(asking(""), None);
    }
}
