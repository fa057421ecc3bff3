//! Announces changed addresses: at least once each.

use ledger_core::events::Announcement;
use ledger_core::ids::{AuditId, Tenant};
use ledger_core::keys::{self, Work};
use ledger_core::notices::Notice;
use ledger_core::operation::Operation;
use ledger_runtime::announcer::Announcer;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::execute::ApplyError;
use ledger_runtime::problem::Problem;

/// Announces the notices that are due, oldest first, and returns their number. One that cannot be announced does not stop
/// the others.
pub(crate) async fn run(
    app: &App,
    announcer: &dyn Announcer,
    tenant: &Tenant,
    due: &mut DueList,
) -> Result<usize, Problem> {
    let (mut announced, mut fault) = (0_usize, None);
    for listed in due.next(Work::Notice).await? {
        match announce(app, announcer, tenant, listed.id(AuditId::parse)?).await {
            Ok(was_due) => announced = announced.saturating_add(usize::from(was_due)),
            Err(problem) => fault = Some(problem),
        }
    }
    fault.map_or(Ok(announced), Err)
}

/// Announces one notice; returns whether it was still due.
async fn announce(app: &App, announcer: &dyn Announcer, tenant: &Tenant, id: AuditId) -> Result<bool, Problem> {
    // The index may be behind, so the notice itself is read.
    let Some(item) = app.dynamo().get(&keys::notice(tenant, id)).await? else { return Ok(false) };
    let notice = Notice::read(&item)?;
    if !notice.is_due {
        return Ok(false);
    }
    let event = Announcement::of_notice(&app.config().ledger, tenant, &notice);
    if let Err(code) = announcer.announce(&event).await {
        tracing::error!(%tenant, notice = %id, code, "a changed address is not announced");
        return Err(Problem::unavailable());
    }
    let done = notice.announced(tenant, app.now()).map_err(|error| {
        tracing::error!(%error, "an announced notice cannot be recorded");
        Problem::internal()
    })?;
    match app.ledger().apply(tenant, Operation::Notice, &done).await {
        // It was removed by its time to live.
        Ok(()) | Err(ApplyError::Rejected(_)) => Ok(true),
        Err(ApplyError::Problem(problem)) => Err(problem),
    }
}
