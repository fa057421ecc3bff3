//! Announcements on an event bus of Amazon EventBridge.

use aws_config::SdkConfig;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::error::ProvideErrorMetadata;
use aws_sdk_eventbridge::operation::put_events::PutEventsOutput;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use futures::future::BoxFuture;
use ledger_core::events::{Announcement, SOURCE};
use ledger_runtime::announcer::Announcer;

const NO_ANSWER: &str = "no answer";

/// An event bus of Amazon EventBridge.
#[derive(Clone, Debug)]
pub(crate) struct EventBus {
    client: Client,
    name: String,
}

impl EventBus {
    /// Makes a client of a bus with the SDK's shared configuration.
    #[must_use]
    pub(crate) fn new(sdk: &SdkConfig, name: &str) -> Self {
        Self { client: Client::new(sdk), name: name.to_owned() }
    }
}

impl Announcer for EventBus {
    fn announce<'a>(&'a self, event: &'a Announcement) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let entry = PutEventsRequestEntry::builder()
                .event_bus_name(&self.name)
                .source(SOURCE)
                .detail_type(event.detail_type)
                .detail(&event.detail)
                .build();
            match self.client.put_events().entries(entry).send().await {
                Ok(answer) => taken(&answer),
                Err(error) => Err(error.code().unwrap_or(NO_ANSWER).to_owned()),
            }
        })
    }
}

/// Whether the bus accepted the event. A successful call may still report its event as failed; an event that the
/// response does not mention counts as failed.
fn taken(answer: &PutEventsOutput) -> Result<(), String> {
    match answer.entries() {
        [entry] if answer.failed_entry_count() == 0 && entry.event_id().is_some() => Ok(()),
        [entry] => Err(entry.error_code().unwrap_or(NO_ANSWER).to_owned()),
        _ => Err(NO_ANSWER.to_owned()),
    }
}

#[cfg(test)]
mod tests;
