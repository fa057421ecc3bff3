//! Publishes journal entries as events, and recovers operations in flight at the PSP.
//!
//! Recovery covers operations whose lease has ended, top-ups that were not paid, and refunds whose events were lost. A
//! schedule calls this worker for a tenant, the table's stream calls it for new entries, and it may be called by hand.
//! Concurrent runs do nothing twice, and keep each account's events in order.

use ledger_core::ids::Tenant;
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::{self, Published, Publisher};
use ledger_runtime::topups::{self, Recovered};
use ledger_runtime::worker::Due;
use serde::Serialize;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Operations in flight.
    pub recovered: Recovered,
    /// Events of journal entries.
    pub events: Published,
}

/// Publishes and recovers what is due for a tenant. A failure of one does not stop the other.
///
/// # Errors
/// 503 if the store did not answer, or events were not accepted; a later run continues. 500 if there is work, but no
/// queue or no PSP is configured.
pub async fn run(app: &App, publisher: Option<&Publisher>, due: &Due) -> Result<Done, Problem> {
    // The stream and calls by hand name entries. Operations in flight are recovered by schedule only.
    if !due.changed.is_empty() || !due.named.is_empty() {
        return Ok(Done { events: publish_due(app, publisher, due).await?, ..Done::default() });
    }
    let (events, recovered) = tokio::join!(publish_due(app, publisher, due), run_due(app, &due.tenant));
    Ok(Done { events: events?, recovered: recovered? })
}

/// Publishes the journal entries that are due: those of the accounts in a stream batch, those named by hand, or all of
/// them.
///
/// # Errors
/// 503 if the store did not answer, or an event was not accepted. 500 if there are events and no queue.
pub async fn publish_due(app: &App, publisher: Option<&Publisher>, due: &Due) -> Result<Published, Problem> {
    let shards = app.terms(&due.tenant).await?.due_shards;
    let Some(publisher) = publisher else {
        let waits = publishing::any_waits(app.dynamo(), &due.tenant, shards).await?;
        return if waits { Err(no_queue(&due.tenant)) } else { Ok(Published::default()) };
    };
    let mut done = Published::default();
    for key in &due.named {
        done.add(publisher.again(&due.tenant, shards, key).await?);
    }
    if !due.changed.is_empty() {
        done.add(publisher.changed(&due.tenant, shards, &due.changed).await?);
    } else if due.named.is_empty() {
        done.add(publisher.sweep(&due.tenant, shards).await?);
    }
    // Reported as a failure, so that the run is retried soon and an alarm is raised if it persists.
    if done.waiting > 0 { Err(Problem::unavailable()) } else { Ok(done) }
}

/// Recovers the operations in flight of a tenant.
///
/// # Errors
/// 503 if the store did not answer; a later run continues. 500 if there are operations in flight and no PSP is
/// configured.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Recovered, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    match app.provider_if_any().await {
        Some(provider) => provider.psp_executor().recover(tenant, shards).await,
        // A deployment may precede its Stripe account. But removing the account while operations are in flight is an
        // error.
        None if topups::any_waits(app.dynamo(), tenant, shards).await? => Err(no_provider(tenant)),
        None => Ok(Recovered::default()),
    }
}

fn no_provider(tenant: &Tenant) -> Problem {
    tracing::error!(%tenant, "claims wait for Stripe, which is not set up: put its secret back");
    Problem::internal()
}

fn no_queue(tenant: &Tenant) -> Problem {
    tracing::error!(%tenant, "journal entries wait for a queue: set EVENTS_QUEUE_URL and EVENTS_DEAD_LETTERS_URL");
    Problem::internal()
}
