//! Telling somebody of breaks. A run that found some is over, and stays due until they are told: so an event may
//! be sent twice, by whoever comes after a crash, and none is lost.

use super::Reconciler;
use crate::problem::Problem;
use aws_config::SdkConfig;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::error::ProvideErrorMetadata;
use aws_sdk_eventbridge::operation::put_events::PutEventsOutput;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use futures::future::BoxFuture;
use ledger_core::events::{Announcement, SOURCE};
use ledger_core::reconcile::run::Run;

const NO_ANSWER: &str = "no answer";

/// Somebody who is to be told.
pub trait Announcer: Send + Sync {
    /// Tells it. A failure, by a code, means that it is not known to be taken: telling it again is safe.
    fn announce<'a>(&'a self, event: &'a Announcement) -> BoxFuture<'a, Result<(), String>>;
}

/// A bus of Amazon EventBridge.
#[derive(Clone, Debug)]
pub struct EventBus {
    client: Client,
    name: String,
}

impl EventBus {
    /// A bus, by the SDK's shared configuration.
    #[must_use]
    pub fn new(sdk: &SdkConfig, name: &str) -> Self {
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

/// A call may succeed and its one event fail all the same. What is not spoken of is not known to be taken.
fn taken(answer: &PutEventsOutput) -> Result<(), String> {
    match answer.entries() {
        [entry] if answer.failed_entry_count() == 0 && entry.event_id().is_some() => Ok(()),
        [entry] => Err(entry.error_code().unwrap_or(NO_ANSWER).to_owned()),
        _ => Err(NO_ANSWER.to_owned()),
    }
}

impl Reconciler<'_> {
    /// Tells somebody of the breaks of a run that is over, and writes down that it did.
    pub(super) async fn announce(&self, run: &Run) -> Result<(), Problem> {
        if let Some(announcer) = self.app.announcer() {
            let event = Announcement::of_breaks(&self.app.config().ledger, self.tenant, run);
            if let Err(code) = announcer.announce(&event).await {
                tracing::error!(tenant = %self.tenant, run = %run.id, code, "nobody could be told of breaks");
                return Err(Problem::unavailable());
            }
        }
        let told = run.told(self.tenant, self.app.now()).map_err(|error| self.unbuilt(&error))?;
        self.write(&told).await.map(drop)
    }
}

#[cfg(test)]
mod tests;
