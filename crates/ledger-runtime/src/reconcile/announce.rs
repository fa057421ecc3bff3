//! Announces breaks. A run with breaks stays due until they are announced: after a crash an event may be sent twice,
//! but none is lost.

use super::Reconciler;
use crate::problem::Problem;
use ledger_core::events::Announcement;
use ledger_core::reconcile::run::Run;

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
