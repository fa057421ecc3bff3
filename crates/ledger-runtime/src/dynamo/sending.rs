//! What one write tells the AWS SDK, and learns from it: the body of the request, and whether an attempt had an unknown
//! outcome.
//!
//! The interceptor belongs to the client, because one that is added to a single call has the SDK make its whole
//! configuration again. So the write itself is found by the task that sends it.

use super::{Answer, WriteError};
use crate::dynamo::Cancellation;
use aws_sdk_dynamodb::config::interceptors::{BeforeTransmitInterceptorContextMut, FinalizerInterceptorContextRef};
use aws_sdk_dynamodb::error::{BoxError, ProvideErrorMetadata};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

tokio::task_local! {
    /// The write that this task sends.
    static SENDING: Sending;
}

/// One write. All attempts of the SDK send the same body.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    body: Bytes,
    /// The SDK returns only its last attempt's error: a throttled retry does not show that an earlier attempt timed out.
    is_ambiguous: Arc<AtomicBool>,
}

impl Sending {
    pub(super) fn new(body: String) -> Self {
        Self { body: Bytes::from(body), is_ambiguous: Arc::default() }
    }

    /// Runs the SDK's call for this write.
    pub(super) async fn around<T>(&self, call: impl Future<Output = T>) -> T {
        SENDING.scope(self.clone(), call).await
    }

    /// The error of the write, from that of the last attempt.
    pub(super) fn settle(&self, last: WriteError) -> WriteError {
        let is_ambiguous = self.is_ambiguous.load(Ordering::SeqCst);
        match last {
            // A cancellation proves that no earlier attempt under this token had been applied by then. An attempt still
            // on its way may be applied later.
            WriteError::Cancelled(cancellation) => {
                WriteError::Cancelled(Cancellation { after_unknown: is_ambiguous, ..cancellation })
            }
            WriteError::Indeterminate(_) => last,
            WriteError::Throttled if is_ambiguous => WriteError::Indeterminate("ThrottledAfterAmbiguity".to_owned()),
            WriteError::Determinate(code) if is_ambiguous => {
                WriteError::Indeterminate(format!("{code} after ambiguity"))
            }
            WriteError::Throttled
            | WriteError::Determinate(_)
            | WriteError::Unadoptable(_)
            | WriteError::LaterForm(_) => last,
        }
    }
}

/// Sends the body of the task's write, and records what its attempts prove. Leaves other requests as they are.
#[derive(Debug)]
pub(super) struct SendBody;

#[dyn_dispatch_hint]
impl Intercept for SendBody {
    fn name(&self) -> &'static str {
        "SendBody"
    }

    /// Before the SDK keeps the request for its retries.
    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Ok(body) = SENDING.try_with(|sending| sending.body.clone()) else { return Ok(()) };
        let request = context.request_mut();
        request.headers_mut().try_insert("content-length", body.len().to_string())?;
        *request.body_mut() = SdkBody::from(body);
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let is_proved = match context.output_or_error() {
            Some(Ok(_)) => true,
            Some(Err(error)) => error
                .as_operation_error()
                .and_then(|error| error.downcast_ref::<TransactWriteItemsError>())
                .is_some_and(|error| Answer::of(error.code()) != Answer::Unlisted),
            None => false,
        };
        if !is_proved {
            // Fails for a read, which nothing waits for.
            let _ = SENDING.try_with(|sending| sending.is_ambiguous.store(true, Ordering::SeqCst));
        }
        Ok(())
    }
}
