//! The scripted server as an AWS service.

use crate::server::{Reply, Seen, Server};
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use serde_json::Value;

impl Reply {
    /// A complete response of a service with a JSON protocol.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::of(status, "content-type: application/x-amz-json-1.1\r\n", body.to_string())
    }
}

impl Seen {
    /// The request line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    /// The AWS operation of the request, and its body.
    pub(crate) fn received(&self) -> (&str, Value) {
        (self.header("x-amz-target").unwrap(), serde_json::from_slice(&self.body).unwrap())
    }
}

impl Server {
    /// A configuration whose services are all this server, without retries.
    pub(crate) fn sdk(&self) -> SdkConfig {
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("ap-northeast-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "tests")))
            .retry_config(RetryConfig::disabled())
            .endpoint_url(&self.origin)
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build()
    }
}
