//! The store of the files that staff fetch: an S3 bucket, with links that it signs.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use futures::future::BoxFuture;
use ledger_runtime::file_store::{FileStore, StoredFile};
use std::time::Duration;

/// An S3 bucket.
#[derive(Clone, Debug)]
pub(crate) struct S3FileStore {
    client: Client,
    bucket: String,
}

impl S3FileStore {
    /// Makes a client of a bucket with the SDK's shared configuration.
    #[must_use]
    pub(crate) fn new(sdk: &SdkConfig, bucket: &str) -> Self {
        Self { client: Client::new(sdk), bucket: bucket.to_owned() }
    }
}

impl FileStore for S3FileStore {
    fn put(&self, file: StoredFile) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let put = self.client.put_object().bucket(&self.bucket).key(&file.object).content_type(file.media_type);
            let put = put.content_disposition(format!("attachment; filename=\"{}\"", file.name));
            let sent = put.body(ByteStream::from(file.bytes)).send().await;
            sent.map(|_| ()).map_err(|error| error.code().unwrap_or("no answer").to_owned())
        })
    }

    fn link<'a>(&'a self, object: &'a str, valid: Duration) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let valid = PresigningConfig::expires_in(valid).map_err(|error| error.to_string())?;
            let signed = self.client.get_object().bucket(&self.bucket).key(object).presigned(valid).await;
            let signed = signed.map_err(|error| error.code().unwrap_or("the link could not be signed").to_owned())?;
            Ok(signed.uri().to_owned())
        })
    }
}

#[cfg(test)]
mod tests;
