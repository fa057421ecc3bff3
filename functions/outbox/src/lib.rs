//! Publishes journal entries as events, seals the audit trail, and recovers operations in flight at the PSP.
//!
//! Recovery covers operations whose lease has ended, top-ups that were not paid, and refunds whose events were lost. A
//! schedule calls this worker for a tenant, the table's stream calls it for new entries, and it may be called by hand.
//! Concurrent runs do nothing twice, and keep each account's events in order.

use ledger_core::crediting::VolumeLimits;
use ledger_core::ids::Tenant;
use ledger_core::keys::{DueKind, Work};
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::figures::{self, Folded};
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::{self, Published, Publisher};
use ledger_runtime::sealing::{self, Pass, Passed, RUN_TIME_MAX, Sealed};
use ledger_runtime::topups::Recovered;
use ledger_runtime::worker::Due;
use serde::Serialize;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The time after which a run folds no further batch.
const FOLD_TIME_MAX: Duration = Duration::from_secs(20);
/// The pause between the passes beside that.
const PASS_PAUSE: Duration = Duration::from_secs(1);

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Operations in flight.
    pub recovered: Recovered,
    /// Events of journal entries.
    pub events: Published,
    /// Records of the audit trail.
    pub sealed: Sealed,
    /// Posting days, and the totals of days.
    pub figures: Folded,
}

/// Publishes, seals and recovers what is due for a tenant. A failure of one does not stop the other.
///
/// # Errors
/// 503 if the store did not answer, or events were not accepted; a later run continues. 500 if there is work, but no
/// queue or no PSP is configured, or if a record could not be sealed.
pub async fn run(app: &App, publisher: Option<&Publisher>, due: &Due) -> Result<Done, Problem> {
    // The stream and calls by hand name entries. Everything else is done by schedule only.
    if !due.changed.is_empty() || !due.named.is_empty() {
        return Ok(Done { events: publish_due(app, publisher, due).await?, ..Done::default() });
    }
    let (passed, recovered) =
        tokio::join!(Box::pin(pass_and_fold(app, publisher, &due.tenant)), run_due(app, &due.tenant));
    let ((Passed { events, sealed }, figures), recovered) = (passed?, recovered?);
    Ok(Done { recovered, events, sealed, figures })
}

/// Publishes the journal entries that are due: those of the accounts in a stream batch, those named by hand, or all of
/// them, which are then sealed.
///
/// # Errors
/// 503 if the store did not answer, or an event was not accepted. 500 if there are events and no queue.
pub async fn publish_due(app: &App, publisher: Option<&Publisher>, due: &Due) -> Result<Published, Problem> {
    if due.changed.is_empty() && due.named.is_empty() {
        return pass_due(app, publisher, &due.tenant).await.map(|passed| passed.events);
    }
    let shards = app.terms(&due.tenant).await?.due_shards;
    let publisher = publisher.ok_or_else(|| no_queue(&due.tenant))?;
    let mut done = Published::default();
    for key in &due.named {
        done.add(publisher.again(&due.tenant, shards, key).await?);
    }
    if !due.changed.is_empty() {
        done.add(publisher.changed(&due.tenant, shards, &due.changed).await?);
    }
    ended(done).map(|()| done)
}

/// Publishes every journal entry that is due, and seals what is due in a tenant's audit trail.
///
/// # Errors
/// 503 if the store did not answer, or an event was not accepted. 500 if there are events and no queue, or if a record
/// could not be sealed, or the chain was changed.
pub async fn pass_due(app: &App, publisher: Option<&Publisher>, tenant: &Tenant) -> Result<Passed, Problem> {
    pass_within(app, publisher, tenant, RUN_TIME_MAX).await
}

async fn pass_within(
    app: &App,
    publisher: Option<&Publisher>,
    tenant: &Tenant,
    time_max: Duration,
) -> Result<Passed, Problem> {
    let terms = app.terms(tenant).await?;
    let shards = terms.due_shards;
    let entries = publisher.map(|publisher| publisher.sweep(tenant, shards));
    let has_no_queue = entries.is_none();
    let volumes = VolumeLimits::of(terms.limits.as_ref());
    let pass = Pass { shards, entries, volumes, time_max };
    let passed = sealing::run(app, tenant, pass).await?;
    if has_no_queue && publishing::any_waits(app.dynamo(), tenant, shards).await? {
        return Err(no_queue(tenant));
    }
    ended(passed.events).map(|()| passed)
}

/// Publishes and seals as [`pass_due`] does, and closes and folds the posting days that are over. While that goes on, since days
/// were missed or many entries wait, it publishes and seals beside it what comes meanwhile.
///
/// # Errors
/// As [`pass_due`].
pub async fn pass_and_fold(
    app: &App,
    publisher: Option<&Publisher>,
    tenant: &Tenant,
) -> Result<(Passed, Folded), Problem> {
    let mut passed = pass_due(app, publisher, tenant).await?;
    // After a pass without a failure: a posting day is closed once its entries are sealed.
    let (began, is_folded) = (Instant::now(), Notify::new());
    let folds = async {
        let folded = figures::run(app, tenant, FOLD_TIME_MAX).await;
        is_folded.notify_one();
        folded
    };
    let passes = async {
        loop {
            tokio::select! {
                () = is_folded.notified() => return Ok::<(), Problem>(()),
                () = tokio::time::sleep(PASS_PAUSE) => {}
            }
            passed.add(pass_within(app, publisher, tenant, FOLD_TIME_MAX.saturating_sub(began.elapsed())).await?);
        }
    };
    let (folded, passes) = tokio::join!(folds, passes);
    passes.and(folded).map(|folded| (passed, folded))
}

/// A run that leaves events waiting is reported as a failure, so that it is retried soon and an alarm is raised if it
/// persists.
fn ended(events: Published) -> Result<(), Problem> {
    if events.waiting > 0 { Err(Problem::unavailable()) } else { Ok(()) }
}

/// Recovers the operations in flight of a tenant.
///
/// # Errors
/// 503 if the store did not answer, or operations in flight are due and the PSP's secret has not been read; a later run
/// continues. 500 if operations in flight are due and no PSP is configured.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Recovered, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    let kinds = [Work::Flight, Work::PspCheck].map(DueKind::Work);
    let mut due = DueList::read(app.dynamo(), (tenant, shards), app.now(), &kinds).await?;
    match app.provider_if_any().await {
        Ok(Some(provider)) => provider.psp_executor().recover(tenant, &mut due).await,
        // A deployment may precede its Stripe account. But removing the account while operations are in flight is an
        // error.
        absent if due.has(Work::Flight) => absent.and_then(|_| Err(no_provider(tenant))),
        Ok(None) | Err(_) => Ok(Recovered::default()),
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
