//! Events in a FIFO queue, and dead letters in a queue of their own.
//!
//! The group keeps the order of an account's events. The transaction's id is the deduplication id, which the queue
//! recognizes for five minutes.

use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::{BatchResultErrorEntry, SendMessageBatchRequestEntry};
use futures::future::{BoxFuture, FutureExt};
use ledger_core::events::{DeadLetter, Event};
use ledger_runtime::config::EventQueues;
use ledger_runtime::publishing::{EventSink, Sent, SinkError};
use std::collections::BTreeMap;

/// Error codes of a message that the queue will never accept. All other errors may pass: an outage, a missing
/// permission, throttling.
const PERMANENT_ERRORS: [&str; 4] =
    ["BatchEntryTooLarge", "InvalidMessageContents", "InvalidParameterValue", "MessageTooLong"];
const NO_ANSWER: &str = "no answer";

/// Two queues of Amazon SQS.
#[derive(Clone, Debug)]
pub(crate) struct SqsSink {
    client: Client,
    queues: EventQueues,
}

impl SqsSink {
    /// Makes a client of these queues with the SDK's shared configuration.
    #[must_use]
    pub(crate) fn new(sdk: &SdkConfig, queues: EventQueues) -> Self {
        Self { client: Client::new(sdk), queues }
    }

    async fn send_batch(&self, events: &[Event]) -> Result<SendMessageBatchOutput, String> {
        let entry = |(at, event): (usize, &Event)| {
            SendMessageBatchRequestEntry::builder()
                .id(at.to_string())
                .message_group_id(&event.group)
                .message_deduplication_id(event.id.to_string())
                .message_body(&event.body)
                .build()
        };
        let entries = events.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>();
        let entries = entries.map_err(|_| "IncompleteEntry".to_owned())?;
        let request = self.client.send_message_batch().queue_url(&self.queues.events).set_entries(Some(entries));
        request.send().await.map_err(|error| code(error.code()))
    }
}

impl EventSink for SqsSink {
    fn send<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Vec<Sent>> {
        async move {
            let answer = match self.send_batch(events).await {
                Ok(answer) => answer,
                Err(code) => return vec![Sent::Later(code); events.len()],
            };
            let taken = answer.successful.into_iter().map(|taken| (taken.id, Sent::Taken));
            let failed = answer.failed.into_iter().map(|failed| (failed.id.clone(), refused(&failed)));
            let mut results: BTreeMap<String, Sent> = taken.chain(failed).collect();
            let result =
                |at: usize| results.remove(&at.to_string()).unwrap_or_else(|| Sent::Later(NO_ANSWER.to_owned()));
            (0..events.len()).map(result).collect()
        }
        .boxed()
    }

    fn keep<'a>(&'a self, letter: &'a DeadLetter) -> BoxFuture<'a, Result<(), SinkError>> {
        async move {
            let request = self.client.send_message().queue_url(&self.queues.dead_letters).message_body(letter.text());
            request.send().await.map(drop).map_err(|error| SinkError(code(error.code())))
        }
        .boxed()
    }
}

fn refused(failed: &BatchResultErrorEntry) -> Sent {
    if failed.sender_fault && PERMANENT_ERRORS.contains(&failed.code.as_str()) {
        Sent::Never(failed.code.clone())
    } else {
        Sent::Later(failed.code.clone())
    }
}

fn code(code: Option<&str>) -> String {
    code.unwrap_or(NO_ANSWER).to_owned()
}

#[cfg(test)]
mod tests;
