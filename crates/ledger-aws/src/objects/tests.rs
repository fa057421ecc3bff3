use super::*;
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use futures::stream::TryStreamExt;
use std::sync::{Arc, Mutex};

type ReceivedRequest = (String, String, Vec<u8>);

/// A stand-in for S3 with one response, which records requests. Without a status the connection fails.
#[derive(Clone, Debug)]
struct Service {
    status: Option<u16>,
    answer: &'static str,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Service {
    fn answering(status: impl Into<Option<u16>>, answer: &'static str) -> Self {
        Self { status: status.into(), answer, received: Arc::default() }
    }

    fn objects(&self) -> S3Objects {
        let service = self.clone();
        let sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("ap-northeast-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "tests")))
            .retry_config(RetryConfig::disabled())
            .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(service.clone())))
            .build();
        S3Objects::new(&sdk, "ecopay-exports")
    }

    async fn get(&self) -> Result<Vec<u8>, ObjectError> {
        let body = self.objects().get("runs/r/facts/0000/a.json.gz").await?;
        Ok(body.try_collect::<Vec<_>>().await?.concat())
    }

    async fn put(&self) -> Result<(), ObjectError> {
        self.objects().put("runs/r/facts/0000/a.json.gz", b"facts".to_vec()).await
    }
}

impl HttpConnector for Service {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().map(<[u8]>::to_vec).unwrap_or_default();
        self.received.lock().unwrap().push((request.method().to_owned(), request.uri().to_owned(), body));
        HttpConnectorFuture::ready(match self.status {
            Some(status) => {
                let status = http::StatusCode::from_u16(status).unwrap();
                Ok(HttpResponse::new(status.into(), SdkBody::from(self.answer)))
            }
            None => Err(ConnectorError::io("the connection is broken".into())),
        })
    }
}

#[tokio::test]
async fn object_is_read_and_written_by_name() {
    let service = Service::answering(200, "facts");
    assert_eq!(service.get().await.unwrap(), b"facts");
    service.put().await.unwrap();
    let received = service.received.lock().unwrap();
    let url = "https://ecopay-exports.s3.ap-northeast-1.amazonaws.com/runs/r/facts/0000/a.json.gz";
    for (at, method) in ["GET", "PUT"].into_iter().enumerate() {
        assert_eq!(received[at].0, method);
        assert_eq!(received[at].1.split('?').next(), Some(url));
    }
    assert!(received[1].2.windows(5).any(|bytes| bytes == b"facts"), "{received:?}");
}

#[tokio::test]
async fn missing_and_refused_are_distinguished_from_unavailable() {
    let name = || "runs/r/facts/0000/a.json.gz".to_owned();
    let refused = |why: &str| ObjectError::Refused { name: name(), why: why.to_owned() };
    let unavailable = |why: &str| ObjectError::Unavailable { name: name(), why: why.to_owned() };
    for (status, answer, want) in [
        (Some(404), "<Error><Code>NoSuchKey</Code></Error>", ObjectError::Missing(name())),
        (Some(404), "<Error><Code>NoSuchBucket</Code></Error>", refused("NoSuchBucket")),
        (Some(403), "<Error><Code>AccessDenied</Code></Error>", refused("AccessDenied")),
        (Some(400), "<Error><Code>RequestTimeout</Code></Error>", unavailable("RequestTimeout")),
        (Some(503), "<Error><Code>SlowDown</Code></Error>", unavailable("SlowDown")),
        (Some(500), "", unavailable("no answer")),
        (None, "", unavailable("no answer")),
    ] {
        let service = Service::answering(status, answer);
        assert_eq!(service.get().await, Err(want.clone()), "{status:?} {answer}");
        assert_eq!(service.put().await, Err(want), "{status:?} {answer}");
    }
}
