//! Objects of an export, in an S3 bucket.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use ledger_runtime::reconcile::{Body, ObjectError, Objects};
use std::time::Duration;

/// The timeout of one attempt of a call, without the time to read a body.
const ATTEMPT: Duration = Duration::from_secs(60);
/// The timeout of a call with all of its attempts.
const CALL: Duration = Duration::from_secs(180);

/// An S3 bucket.
#[derive(Clone, Debug)]
pub(crate) struct S3Objects {
    client: Client,
    bucket: String,
}

impl S3Objects {
    /// Makes a client of a bucket with the SDK's shared configuration. Its timeouts are longer, because objects of
    /// several megabytes are put.
    #[must_use]
    pub(crate) fn new(sdk: &SdkConfig, bucket: &str) -> Self {
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).operation_timeout(CALL).build();
        let config = aws_sdk_s3::config::Builder::from(sdk).timeout_config(timeouts).build();
        Self { client: Client::from_conf(config), bucket: bucket.to_owned() }
    }
}

impl Objects for S3Objects {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Body, ObjectError>> {
        Box::pin(async move {
            let got = self.client.get_object().bucket(&self.bucket).key(name).send().await;
            let body = got.map_err(|error| failed(name, &error))?.body;
            let chunks = stream::try_unfold((body, name.to_owned()), |(mut body, name)| async move {
                match body.try_next().await {
                    Ok(chunk) => Ok(chunk.map(|chunk| (chunk, (body, name)))),
                    Err(_) => Err(ObjectError::Unavailable { name, why: "the object is incomplete".to_owned() }),
                }
            });
            Ok(chunks.boxed())
        })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ObjectError>> {
        Box::pin(async move {
            let put = self.client.put_object().bucket(&self.bucket).key(name).body(ByteStream::from(bytes));
            put.send().await.map(|_| ()).map_err(|error| failed(name, &error))
        })
    }
}

fn failed<E: ProvideErrorMetadata>(name: &str, error: &SdkError<E>) -> ObjectError {
    let status = error.raw_response().map(|response| response.status().as_u16());
    let (name, why) = (name.to_owned(), error.code().unwrap_or("no answer").to_owned());
    match (why.as_str(), status) {
        ("NoSuchKey", _) => ObjectError::Missing(name),
        // May pass: throttled, too slow, or a clock that is off.
        ("RequestTimeout" | "RequestTimeTooSkewed" | "ExpiredToken", _) | (_, Some(408 | 429)) => {
            ObjectError::Unavailable { name, why }
        }
        (_, Some(400..=499)) => ObjectError::Refused { name, why },
        (_, Some(_) | None) => ObjectError::Unavailable { name, why },
    }
}

#[cfg(test)]
mod tests;
