//! Scheduled work of a tenant: bulk grants, expired holds, bonuses on covered cash, batches of cards, the winding down of tenants,
//! settlements on schedule, texts to erase, settlements to start, and changed addresses to announce. Concurrent workers do nothing twice.

mod bonuses;
mod cards;
mod erasures;
mod grants;
mod holds;
mod notices;
mod settlement_runs;
mod wind_downs;

use ledger_core::ids::Tenant;
use ledger_core::keys::{DueKind, JobKind, Work};
use ledger_runtime::announcer::Announcer;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::problem::Problem;
use ledger_runtime::settlement::{self, Sagas, Started};
use serde::Serialize;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Customers of bulk grants who were processed.
    pub done: usize,
    /// The number of them who could not be granted to.
    pub failed: usize,
    /// Payments whose hold was released to the payer.
    pub expired: usize,
    /// Bonuses on cash that were granted.
    pub bonuses: usize,
    /// Cards of batches that were issued.
    pub cards: usize,
    /// Cards and customers that were closed because the tenant is wound down.
    pub closed: usize,
    /// Merchants whose periods were closed on schedule.
    pub settled: usize,
    /// Items from which texts of erased customers were erased.
    pub erased: usize,
}

/// What needs the ledger alone.
const OF_THE_LEDGER: [DueKind; 7] = [
    DueKind::Work(Work::Hold),
    DueKind::Work(Work::CoveredCash),
    DueKind::Job(JobKind::Grant),
    DueKind::Job(JobKind::CardBatch),
    DueKind::Job(JobKind::WindDown),
    DueKind::Job(JobKind::SettlementRun),
    DueKind::Job(JobKind::Erasure),
];

/// What is done by this function beside.
const WITH_OTHERS: [DueKind; 2] = [DueKind::Work(Work::Settlement), DueKind::Work(Work::Notice)];

async fn listed(app: &App, tenant: &Tenant, kinds: &[DueKind]) -> Result<DueList, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    Ok(DueList::read(app.dynamo(), (tenant, shards), app.now(), kinds).await?)
}

/// Does all that is due, from one list. A failure of one kind of work does not stop the others.
///
/// # Errors
/// As [`run_due`], [`start_settlements`] and [`announce_notices`].
pub async fn run(
    app: &App,
    (sagas, announcer): (Option<&dyn Sagas>, Option<&dyn Announcer>),
    tenant: &Tenant,
) -> Result<Progress, Problem> {
    let mut due = listed(app, tenant, &[&OF_THE_LEDGER[..], &WITH_OTHERS].concat()).await?;
    let started = match sagas {
        Some(sagas) => settlement::start_due(app, sagas, tenant, &mut due).await,
        None => Ok(Started::default()),
    };
    let progress = run_listed(app, tenant, &mut due).await;
    let announced = match announcer {
        Some(announcer) => notices::run(app, announcer, tenant, &mut due).await,
        None => Ok(0),
    };
    announced.and(started).and(progress)
}

/// Releases expired holds, grants bonuses on covered cash, issues batches of cards, closes the accounts of a tenant that is wound
/// down, closes merchants' periods on schedule, erases texts of erased customers, and processes slices of every due job of a tenant. A failure of one does not stop the others.
///
/// # Errors
/// 503 if the store did not answer; a later run continues.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Progress, Problem> {
    run_listed(app, tenant, &mut listed(app, tenant, &OF_THE_LEDGER).await?).await
}

async fn run_listed(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<Progress, Problem> {
    let terms = app.terms(tenant).await?;
    let expired = holds::run(app, tenant, due).await;
    let granted = grants::run(app, tenant, due).await;
    // Whatever the terms are: a bonus that was due under earlier ones stays due.
    let bonuses = bonuses::run(app, tenant, due).await;
    let cards = cards::run(app, tenant, due).await;
    let closed = wind_downs::run(app, tenant, due).await;
    let settled = settlement_runs::run(app, tenant, &terms, due).await;
    let erased = erasures::run(app, tenant, due).await;
    let (expired, granted, bonuses, cards, closed) = (expired?, granted?, bonuses?, cards?, closed?);
    let (settled, erased) = (settled?, erased?);
    Ok(Progress { done: granted.done, failed: granted.failed, expired, bonuses, cards, closed, settled, erased })
}

/// Starts the sagas of a tenant's settlements that are due.
///
/// # Errors
/// 503 if the store or the state machine did not answer; a later run continues.
pub async fn start_settlements(app: &App, sagas: &dyn Sagas, tenant: &Tenant) -> Result<Started, Problem> {
    settlement::start_due(app, sagas, tenant, &mut listed(app, tenant, &[Work::Settlement.into()]).await?).await
}

/// Announces the changed addresses of a tenant; returns their number.
///
/// # Errors
/// 503 if the store did not answer, or an announcement was not taken; a later run continues.
pub async fn announce_notices(app: &App, announcer: &dyn Announcer, tenant: &Tenant) -> Result<usize, Problem> {
    notices::run(app, announcer, tenant, &mut listed(app, tenant, &[Work::Notice.into()]).await?).await
}
