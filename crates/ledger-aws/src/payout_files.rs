//! Bank files, in an S3 bucket.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use futures::future::BoxFuture;
use ledger_core::bank::BankFile;
use ledger_core::ids::Tenant;
use ledger_runtime::settlement::{PayoutFiles, Stored};

/// An S3 bucket.
#[derive(Clone, Debug)]
pub(crate) struct S3Files {
    client: Client,
    bucket: String,
}

impl S3Files {
    /// Makes a client of a bucket with the SDK's shared configuration.
    #[must_use]
    pub(crate) fn new(sdk: &SdkConfig, bucket: &str) -> Self {
        Self { client: Client::new(sdk), bucket: bucket.to_owned() }
    }

    async fn compare(&self, key: &str, bytes: &[u8]) -> Stored {
        let Ok(object) = self.client.get_object().bucket(&self.bucket).key(key).send().await else {
            return Stored::Unknown("the stored file cannot be read");
        };
        let Ok(stored) = object.body.collect().await else { return Stored::Unknown("the stored file is incomplete") };
        if stored.into_bytes().as_ref() == bytes { Stored::Same } else { Stored::Other }
    }
}

impl PayoutFiles for S3Files {
    fn put<'a>(&'a self, tenant: &'a Tenant, file: &'a BankFile) -> BoxFuture<'a, Stored> {
        Box::pin(async move {
            let key = format!("{tenant}/{}", file.name);
            let put = self.client.put_object().bucket(&self.bucket).key(&key).if_none_match("*");
            let put = put.content_type("text/plain; charset=Shift_JIS").body(ByteStream::from(file.bytes.clone()));
            match put.send().await {
                Ok(_) => Stored::New,
                Err(error) => match error.code() {
                    Some("PreconditionFailed") => self.compare(&key, &file.bytes).await,
                    Some(_) | None => Stored::Unknown("the bucket did not store the file"),
                },
            }
        })
    }
}

#[cfg(test)]
mod tests;
