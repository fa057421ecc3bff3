//! Reconciliation reports, in an S3 bucket.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use futures::future::BoxFuture;
use ledger_runtime::reconcile::ReportFiles;

/// An S3 bucket.
#[derive(Clone, Debug)]
pub(crate) struct S3Reports {
    client: Client,
    bucket: String,
}

impl S3Reports {
    /// Makes a client of a bucket with the SDK's shared configuration.
    #[must_use]
    pub(crate) fn new(sdk: &SdkConfig, bucket: &str) -> Self {
        Self { client: Client::new(sdk), bucket: bucket.to_owned() }
    }
}

impl ReportFiles for S3Reports {
    fn put<'a>(&'a self, name: &'a str, lines: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let put = self.client.put_object().bucket(&self.bucket).key(name).content_type("application/x-ndjson");
            match put.body(ByteStream::from(lines)).send().await {
                Ok(_) => Ok(()),
                Err(error) => Err(error.code().unwrap_or("no answer").to_owned()),
            }
        })
    }
}

#[cfg(test)]
mod tests;
