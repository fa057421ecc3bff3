//! The table: the only module that writes to DynamoDB, and only by `TransactWriteItems`.
//!
//! The result of each write says whether it was applied, was not applied, or has an unknown outcome.

mod ask;
mod connect;
mod convert;
mod customers;
mod histories;
mod reads;
mod scan;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use connect::scripted_client;
pub use connect::{client, sdk_config, sdk_loader};
pub use customers::CustomerMoveError;
pub use reads::{ReadError, Readable};
pub use scan::{Scanned, ScannedCustomers};

use crate::clock::Clock;
use crate::config::Config;
use crate::entropy::Entropy;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::FinalizerInterceptorContextRef;
use aws_sdk_dynamodb::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    ConditionCheck, Put, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem, Update,
};
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use customers::Layouts;
use ledger_core::migration::Unadoptable;
use ledger_core::transaction::{Reason, Rendered, RenderedAction, TransactItem};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
        Self { client, table: Arc::from(table), entropy, layouts: Layouts::new(Clock::system()) }
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Sends actions once. The SDK's retries share one token; each call here has a new one.
    #[expect(clippy::disallowed_methods, reason = "the wrapper for all other code")]
    async fn send(&self, items: &[TransactItem]) -> Result<(), WriteError> {
        let mut actions = Vec::with_capacity(items.len());
        for item in items {
            let rendered = item.render().ok_or_else(|| WriteError::Determinate("ClashingPlaceholders".to_owned()))?;
            actions.push(self.action(rendered)?);
        }
        let token: [u8; 16] = self.entropy.bytes().map_err(|_| WriteError::Determinate("NoRandomness".to_owned()))?;
        let watch = Watch::default();
        let sent = self
            .client
            .transact_write_items()
            .set_transact_items(Some(actions))
            .client_request_token(hex::encode(token))
            .customize()
            .interceptor(watch.clone())
            .send()
            .await;
        match sent {
            Ok(_) => Ok(()),
            Err(error) => Err(watch.settle(write_error(error))),
        }
    }

    fn action(&self, rendered: Rendered) -> Result<TransactWriteItem, WriteError> {
        let names = (!rendered.names.is_empty()).then(|| rendered.names.into_iter().collect());
        let values = (!rendered.values.is_empty())
            .then(|| rendered.values.into_iter().map(|(name, value)| (name, convert::to_sdk(value))).collect());
        let action = TransactWriteItem::builder();
        let action = match rendered.action {
            RenderedAction::Put(item) => action.put(
                Put::builder()
                    .table_name(&*self.table)
                    .set_item(Some(convert::item_to_sdk(item)))
                    .set_condition_expression(rendered.condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(OnFailure::AllOld)
                    .build()
                    .map_err(not_built)?,
            ),
            RenderedAction::Update(key, update) => action.update(
                Update::builder()
                    .table_name(&*self.table)
                    .set_key(Some(convert::item_to_sdk(key)))
                    .update_expression(update)
                    .set_condition_expression(rendered.condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(OnFailure::AllOld)
                    .build()
                    .map_err(not_built)?,
            ),
            RenderedAction::ConditionCheck(key) => action.condition_check(
                ConditionCheck::builder()
                    .table_name(&*self.table)
                    .set_key(Some(convert::item_to_sdk(key)))
                    .set_condition_expression(rendered.condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(OnFailure::AllOld)
                    .build()
                    .map_err(not_built)?,
            ),
        };
        Ok(action.build())
    }
}

fn not_built(_: aws_sdk_dynamodb::error::BuildError) -> WriteError {
    WriteError::Determinate("IncompleteAction".to_owned())
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

/// Records whether any attempt of one call had an unknown outcome.
///
/// The SDK returns only its last attempt's error: a throttled retry does not show that an earlier attempt timed out.
#[derive(Clone, Debug, Default)]
struct Watch {
    ambiguous: Arc<AtomicBool>,
}

impl Watch {
    fn settle(&self, last: WriteError) -> WriteError {
        match last {
            // A cancellation proves that no earlier attempt under this token had been applied by then. An attempt still
            // on its way may be applied later.
            WriteError::Cancelled(cancellation) => {
                let after_unknown = self.ambiguous.load(Ordering::SeqCst);
                WriteError::Cancelled(Cancellation { after_unknown, ..cancellation })
            }
            WriteError::Indeterminate(_) => last,
            WriteError::Throttled if self.ambiguous.load(Ordering::SeqCst) => {
                WriteError::Indeterminate("ThrottledAfterAmbiguity".to_owned())
            }
            WriteError::Determinate(code) if self.ambiguous.load(Ordering::SeqCst) => {
                WriteError::Indeterminate(format!("{code} after ambiguity"))
            }
            WriteError::Throttled | WriteError::Determinate(_) | WriteError::Unadoptable(_) => last,
        }
    }
}

impl Intercept for Watch {
    fn name(&self) -> &'static str {
        "Watch"
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let proved = match context.output_or_error() {
            Some(Ok(_)) => true,
            Some(Err(error)) => error
                .as_operation_error()
                .and_then(|error| error.downcast_ref::<TransactWriteItemsError>())
                .is_some_and(|error| Answer::of(error.code()) != Answer::Unlisted),
            None => false,
        };
        if !proved {
            self.ambiguous.store(true, Ordering::SeqCst);
        }
        Ok(())
    }
}
