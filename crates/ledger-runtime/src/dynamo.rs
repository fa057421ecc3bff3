//! The table: the only module that writes to DynamoDB, and only by `TransactWriteItems`.
//!
//! The result of each write says whether it was applied, was not applied, or has an unknown outcome.

mod ask;
mod connect;
mod convert;
mod customers;
mod histories;
mod reads;
mod registry;
mod scan;
mod sending;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use connect::scripted_client;
pub use connect::{client, sdk_config, sdk_loader};
pub use customers::CustomerMoveError;
pub use reads::{ReadError, Readable};
pub use registry::{Registry, RegistryWriteError};
pub use scan::{FoundRecords, Scanned, ScannedCustomers};

use crate::clock::Clock;
use crate::config::Config;
use crate::entropy::Entropy;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use customers::Layouts;
use ledger_core::dynamo::ItemError;
use ledger_core::migration::Unadoptable;
use ledger_core::transaction::{Reason, TransactItem, request_text};
use sending::{SendBody, Sending};
use std::sync::Arc;

/// The table. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Dynamo {
    client: Client,
    table: Arc<str>,
    entropy: Entropy,
    layouts: Layouts,
}

/// Why a write was not acknowledged. An error that is not listed in this module is [`WriteError::Indeterminate`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// DynamoDB cancelled the last attempt, which applied nothing.
    #[error("the transaction was cancelled")]
    Cancelled(Cancellation),
    /// Nothing was applied; DynamoDB throttled every attempt.
    #[error("the store is throttled")]
    Throttled,
    /// Nothing was applied: the request is invalid or not permitted.
    #[error("the store refused the request: {0}")]
    Determinate(String),
    /// Nothing was applied: a customer's God Record holds data that the ledger cannot keep.
    #[error(transparent)]
    Unadoptable(Unadoptable),
    /// Nothing was applied: the tenant's records have a form of a later release.
    #[error(transparent)]
    LaterForm(ItemError),
    /// The outcome is unknown.
    #[error("the outcome of the write is not known: {0}")]
    Indeterminate(String),
}

/// A transaction that DynamoDB cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// One reason per action, in the order of the actions.
    pub reasons: Vec<Reason>,
    /// Whether an earlier attempt under the same token has an unknown outcome: it may still be applied.
    pub after_unknown: bool,
}

impl Dynamo {
    /// Connects to the table of a configuration, with an SDK configuration made for it.
    pub async fn connect(config: &Config, entropy: Entropy) -> Self {
        Self::from_sdk_config(&sdk_config(config.endpoint_url.as_deref()).await, config, entropy)
    }

    /// Creates the table of a configuration, with a shared SDK configuration.
    #[must_use]
    pub fn from_sdk_config(sdk: &SdkConfig, config: &Config, entropy: Entropy) -> Self {
        Self::from_client(connect::client(sdk, config.endpoint_url.as_deref()), &config.table, entropy)
    }

    /// Creates the table from a client, so that tests can inject faults.
    #[must_use]
    pub fn from_client(client: Client, table: &str, entropy: Entropy) -> Self {
        let config = client.config().to_builder().interceptor(SendBody).build();
        let client = Client::from_conf(config);
        let layouts = Layouts::new(Clock::system());
        Self { client, table: Arc::from(table), entropy, layouts }
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Sends actions once. The SDK's retries share one token; each call here has a new one.
    ///
    /// The SDK signs and sends the core's text: its own way to the same text, over its types, takes a tenth of a
    /// payment's instructions more.
    #[expect(clippy::disallowed_methods, reason = "the wrapper for all other code")]
    async fn send(&self, items: &[TransactItem]) -> Result<(), WriteError> {
        let token: [u8; 16] = self.entropy.bytes().map_err(|_| WriteError::Determinate("NoRandomness".to_owned()))?;
        let body = request_text(items, &self.table, token);
        let sending = Sending::new(body.map_err(|error| WriteError::Determinate(error.to_string()))?);
        let request = self.client.transact_write_items().set_transact_items(Some(Vec::new()));
        let request = request.client_request_token(hex::encode(token));
        // Boxed, because the layout of the SDK's future is deep.
        match sending.around(Box::pin(request.send())).await {
            Ok(_) => Ok(()),
            Err(error) => Err(sending.settle(write_error(error))),
        }
    }
}

fn write_error<R>(error: SdkError<TransactWriteItemsError, R>) -> WriteError {
    match error {
        // Never sent.
        SdkError::ConstructionFailure(_) => WriteError::Determinate("ConstructionFailure".to_owned()),
        SdkError::TimeoutError(_) => WriteError::Indeterminate("Timeout".to_owned()),
        SdkError::DispatchFailure(_) => WriteError::Indeterminate("DispatchFailure".to_owned()),
        SdkError::ResponseError(_) => WriteError::Indeterminate("UnreadableResponse".to_owned()),
        SdkError::ServiceError(error) => service_error(error.into_err()),
        other => WriteError::Indeterminate(other.code().unwrap_or("Unlisted").to_owned()),
    }
}

fn service_error(error: TransactWriteItemsError) -> WriteError {
    match Answer::of(error.code()) {
        Answer::Cancelled => {
            let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else {
                return WriteError::Indeterminate("CancelledWithoutReasons".to_owned());
            };
            let reasons = cancelled.cancellation_reasons.unwrap_or_default();
            let reasons = reasons.into_iter().map(convert::reason).collect();
            WriteError::Cancelled(Cancellation { reasons, after_unknown: false })
        }
        Answer::Throttled => WriteError::Throttled,
        Answer::Refused => WriteError::Determinate(error.code().unwrap_or_default().to_owned()),
        Answer::Unlisted => WriteError::Indeterminate(error.code().unwrap_or("Unlisted").to_owned()),
    }
}

/// What an error response of DynamoDB proves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing was applied. The response holds the reasons.
    Cancelled,
    /// Nothing was applied: throttled.
    Throttled,
    /// Nothing was applied: the request is invalid or not permitted.
    Refused,
    /// The outcome is unknown: server errors, `TransactionInProgressException`, and every code that is not listed.
    Unlisted,
}

impl Answer {
    fn of(code: Option<&str>) -> Self {
        match code {
            Some("TransactionCanceledException") => Self::Cancelled,
            Some("ProvisionedThroughputExceededException" | "RequestLimitExceeded" | "ThrottlingException") => {
                Self::Throttled
            }
            Some(
                "ValidationException"
                | "ResourceNotFoundException"
                | "AccessDeniedException"
                | "UnrecognizedClientException"
                | "ExpiredTokenException"
                | "IncompleteSignatureException"
                | "InvalidSignatureException"
                | "MissingAuthenticationTokenException"
                | "SerializationException"
                | "IdempotentParameterMismatchException",
            ) => Self::Refused,
            Some(_) | None => Self::Unlisted,
        }
    }
}
