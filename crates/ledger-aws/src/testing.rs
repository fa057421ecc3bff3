//! The scripted server as a service of AWS.

use crate::server::{Reply, Seen, Server};
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use serde_json::Value;

impl Reply {
    /// A whole answer of a service that speaks JSON.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::of(status, "content-type: application/x-amz-json-1.1\r\n", body.to_string())
    }
}

impl Seen {
    /// The request line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    /// The operation that an AWS service was asked for, and with what.
    pub(crate) fn asked(&self) -> (&str, Value) {
        (self.header("x-amz-target").unwrap(), serde_json::from_slice(&self.body).unwrap())
    }
}

impl Server {
    /// Every service of AWS is here, and each call is made once.
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
