//! Announces breaks. A run with breaks stays due until they are announced: after a crash an event may be sent twice,
//! but none is lost.

use super::Reconciler;
use crate::problem::Problem;
use futures::future::BoxFuture;
use ledger_core::events::Announcement;
use ledger_core::reconcile::run::Run;

/// A receiver of events about breaks.
pub trait Announcer: Send + Sync {
    /// Sends the event. An error code means that it may not have arrived: sending it again is safe.
    fn announce<'a>(&'a self, event: &'a Announcement) -> BoxFuture<'a, Result<(), String>>;
}

impl Reconciler<'_> {
    /// Announces the breaks of a run that has ended, and records that it did.
    pub(super) async fn announce(&self, run: &Run) -> Result<(), Problem> {
        if let Some(announcer) = &self.outlets.announcer {
            let event = Announcement::of_breaks(&self.app.config().ledger, self.tenant, run);
            if let Err(code) = announcer.announce(&event).await {
                tracing::error!(tenant = %self.tenant, run = %run.id, code, "breaks not announced");
                return Err(Problem::unavailable());
            }
        }
        let announced = run.mark_announced(self.tenant, self.app.now()).map_err(|error| self.unbuilt(&error))?;
        self.write(&announced).await.map(drop)
    }
}
