//! Scheduled work of a tenant: expired holds, bonuses on covered cash, jobs that go through lists, settlements to start, changed
//! addresses to announce, and commands that no member may decide on. Concurrent workers do nothing twice.

mod bank_files;
mod bonuses;
mod cards;
mod erasures;
mod grants;
mod holds;
mod notices;
mod ring;
mod settlement_runs;
mod slices;
mod subjects;
mod wind_downs;

pub use ring::JobsTime;

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
    /// Payments whose hold was released to the payer.
    pub expired: usize,
    /// Bonuses on cash that were granted.
    pub bonuses: usize,
    /// Subjects of jobs that were dealt with: customers who were granted to, cards that were issued, accounts and merchants that were
    /// closed, items without their texts, and those of which a line says why not.
    pub subjects: usize,
}

/// What needs the ledger alone.
const OF_THE_LEDGER: [DueKind; 10] = [
    DueKind::Work(Work::Hold),
    DueKind::Work(Work::CoveredCash),
    DueKind::Work(Work::BankTransfer),
    DueKind::Work(Work::BankFile),
    DueKind::Job(JobKind::Grant),
    DueKind::Job(JobKind::CardBatch),
    DueKind::Job(JobKind::WindDown),
    DueKind::Job(JobKind::SettlementRun),
    DueKind::Job(JobKind::BankFile),
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
    let progress = run_listed(app, tenant, (&mut due, JobsTime::OF_A_CALL)).await;
    let announced = match announcer {
        Some(announcer) => notices::run(app, announcer, tenant, &mut due).await,
        None => Ok(0),
    };
    announced.and(started).and(progress)
}

/// Releases expired holds, grants bonuses on covered cash, starts the runs of closing days that are over, begins bank
/// files whose cut has come, goes on with every due job of a tenant, and once an hour looks for commands that no member may decide on. A failure of one does not stop the others.
///
/// # Errors
/// 503 if the store did not answer; a later run continues.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Progress, Problem> {
    run_due_within(app, tenant, JobsTime::OF_A_CALL).await
}

/// As [`run_due`], with another time than a function has.
///
/// # Errors
/// As [`run_due`].
pub async fn run_due_within(app: &App, tenant: &Tenant, time: JobsTime) -> Result<Progress, Problem> {
    run_listed(app, tenant, (&mut listed(app, tenant, &OF_THE_LEDGER).await?, time)).await
}

async fn run_listed(app: &App, tenant: &Tenant, (due, time): (&mut DueList, JobsTime)) -> Result<Progress, Problem> {
    let terms = app.terms(tenant).await?;
    let expired = holds::run(app, tenant, due).await;
    // Whatever the terms are: a bonus that was due under earlier ones stays due.
    let bonuses = bonuses::run(app, tenant, due).await;
    let started = settlement_runs::start_ended_days(app, tenant, &terms).await;
    let begun = bank_files::begin_due(app, tenant, (&terms, due)).await;
    let reported = bank_files::report_overdue(app, tenant, due).await;
    let subjects = ring::run(app, tenant, (due, time)).await;
    let looked = app.look_for_deciders(tenant).await;
    let (expired, bonuses, subjects) = (expired?, bonuses?, subjects?);
    started.and(begun).and(reported).and(looked).map(|()| Progress { expired, bonuses, subjects })
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
