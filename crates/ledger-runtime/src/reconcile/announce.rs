//! Telling somebody of breaks. A run that found some is over, and stays due until they are told: so an event may
//! be sent twice, by whoever comes after a crash, and none is lost.

use super::Reconciler;
use crate::problem::Problem;
use futures::future::BoxFuture;
use ledger_core::events::Announcement;
use ledger_core::reconcile::run::Run;

/// Somebody who is to be told.
pub trait Announcer: Send + Sync {
    /// Tells it. A failure, by a code, means that it is not known to be taken: telling it again is safe.
    fn announce<'a>(&'a self, event: &'a Announcement) -> BoxFuture<'a, Result<(), String>>;
}

impl Reconciler<'_> {
    /// Tells somebody of the breaks of a run that is over, and writes down that it did.
    pub(super) async fn announce(&self, run: &Run) -> Result<(), Problem> {
        if let Some(announcer) = &self.outlets.announcer {
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
