//! The workers of the local stack: what schedules, the table's stream and a state machine run on AWS.

use crate::backend::Backend;
use crate::engine::Activity;
use crate::events::LocalEvents;
use crate::legacy;
use crate::pace::Pace;
use crate::settlement::{CollectedSagas, LocalSagas};
use crate::worker_failures::WorkerFailures;
use ledger_core::ids::Tenant;
use ledger_core::keys::{DueKind, Work};
use ledger_core::registry::TenantState;
use ledger_runtime::announcer::Announcer;
use ledger_runtime::app::App;
use ledger_runtime::dynamo::Registry;
use ledger_runtime::figures;
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::Publisher;
use ledger_runtime::reconcile::{Outlets, Settings};
use ledger_runtime::settlement::{Sagas, Settler};
use ledger_runtime::worker::Due;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How often holds, bulk grants, settlements and sealing are run.
const JOBS_EVERY: Duration = Duration::from_millis(500);
/// How often journal entries are published: the local stack has no stream.
const PUBLISH_EVERY: Duration = Duration::from_millis(500);
/// How often operations in flight are recovered.
const RECOVER_EVERY: Duration = Duration::from_secs(5);
/// How often requested reconciliations and previews are run.
const RECONCILE_EVERY: Duration = Duration::from_secs(1);
/// How often passes of a migration are run.
const MIGRATE_EVERY: Duration = Duration::from_secs(2);
/// How often the registry is read for tenants that were opened.
const REGISTRY_READ_EVERY: Duration = Duration::from_secs(1);

/// The most rounds in which [`Workers::finish`] waits for an end of the work.
const ROUNDS_MAX: u32 = 50;

/// Why the workers did not come to the end of their work.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FinishError {
    /// A worker failed.
    #[error("the worker for {0} failed: {1}")]
    Worker(&'static str, String),
    /// They wrote something in each of the rounds.
    #[error("the workers wrote something in each of {ROUNDS_MAX} rounds")]
    Endless,
    /// The store is not the embedded one, whose writes are counted.
    #[error("only the embedded store counts its writes")]
    NotCounted,
}

/// The workers of a stack. They do nothing until they are started, or a caller runs them.
#[derive(Clone)]
pub struct Workers {
    app: App,
    registry: Registry,
    publisher: Publisher,
    settler: Settler,
    outlets: Outlets,
    events: LocalEvents,
    activity: Option<Activity>,
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("registry", &self.registry.table()).finish_non_exhaustive()
    }
}

impl Workers {
    /// The workers of the tenants of the table's registry.
    pub(crate) fn new(app: &App, backend: &Backend) -> Self {
        let kyc = Arc::new(backend.kyc.clone());
        Self {
            app: app.clone(),
            registry: Registry::of(app.ledger().dynamo()),
            publisher: Publisher::new(app, Arc::new(backend.events.clone())),
            settler: Settler::new(app, Some(kyc)),
            outlets: Outlets {
                reports: Some(Arc::new(backend.reports.clone())),
                announcer: Some(Arc::new(backend.events.clone())),
            },
            events: backend.events.clone(),
            activity: backend.activity.clone(),
        }
    }

    /// The functions' state.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// What runs the tasks of settlements.
    #[must_use]
    pub fn settler(&self) -> Settler {
        self.settler.clone()
    }

    /// Runs the workers of each open tenant of the registry in the background, each at its pace.
    pub fn start(&self) {
        tokio::spawn(self.clone().follow_registry());
    }

    /// Starts the workers of each tenant once the registry says that it is open.
    async fn follow_registry(self) {
        let mut ticks = tokio::time::interval(REGISTRY_READ_EVERY);
        let mut failures = WorkerFailures::of("reading the registry");
        let (mut started, mut read_at) = (BTreeSet::new(), None);
        loop {
            ticks.tick().await;
            // The writes to a store of another process are not counted.
            let writes = self.activity.as_ref().map(Activity::writes);
            if writes.is_some() && writes == read_at {
                continue;
            }
            let is_clean = failures
                .watch(async {
                    // An item of a later release is not this one's to work for.
                    let found = self.registry.tenants().await?.into_iter().filter_map(Result::ok);
                    for found in found.filter(|found| found.state == TenantState::Open) {
                        if started.insert(found.tenant.clone()) {
                            self.start_for(&found.tenant);
                        }
                    }
                    Ok::<_, Problem>(())
                })
                .await;
            read_at = writes.filter(|_| is_clean);
        }
    }

    /// Runs the workers of one tenant in the background.
    pub fn start_for(&self, tenant: &Tenant) {
        let pace = |every| Pace::of(every, self.activity.clone());
        // A phase of a migration settles with time, which the counts of requests do not show.
        let steady = |every| Pace::of(every, None);
        let migrating = if tenant.as_str() == legacy::TENANT { steady(MIGRATE_EVERY) } else { pace(MIGRATE_EVERY) };
        let announcer: Arc<dyn Announcer> = Arc::new(self.events.clone());
        let sagas: Arc<dyn Sagas> = Arc::new(LocalSagas::new(self.settler.clone()));
        let of = || (self.app.clone(), tenant.clone());
        tokio::spawn(run_jobs(of(), (sagas, announcer), pace(JOBS_EVERY)));
        tokio::spawn(recover(of(), pace(RECOVER_EVERY)));
        tokio::spawn(publish(of(), self.publisher.clone(), pace(PUBLISH_EVERY)));
        tokio::spawn(reconcile(of(), self.outlets.clone(), pace(RECONCILE_EVERY)));
        tokio::spawn(migrate(of(), migrating));
    }

    /// Runs every worker of a tenant, in turn and in this task, until they write nothing more. The nightly reconciliation
    /// is not among them.
    ///
    /// # Errors
    /// [`FinishError`] at the first failure of a worker, or if the work has no end.
    pub async fn finish(&self, tenant: &Tenant) -> Result<(), FinishError> {
        let activity = self.activity.as_ref().ok_or(FinishError::NotCounted)?;
        let due = Due::everything(tenant.clone());
        let sagas = CollectedSagas::default();
        for _ in 0..ROUNDS_MAX {
            let passed = outbox::pass_and_fold(&self.app, Some(&self.publisher), tenant).await;
            passed.map_err(failed("publishing, sealing and folding"))?;
            // A pass folds for a limited time.
            let _ = figures::run(&self.app, tenant, Duration::MAX).await.map_err(failed("folding"))?;
            // What the others write is published in the next round.
            let before = activity.writes();
            outbox::run_due(&self.app, tenant).await.map_err(failed("recovery"))?;
            jobs::run_due(&self.app, tenant).await.map_err(failed("jobs"))?;
            jobs::start_settlements(&self.app, &sagas, tenant).await.map_err(failed("settlements"))?;
            for at in sagas.take() {
                let _ = self.settler.walk(&at, tokio::time::sleep).await;
            }
            jobs::announce_notices(&self.app, &self.events, tenant).await.map_err(failed("notices"))?;
            let ran = reconcile::run_as((&self.app, &self.outlets), &due, &by_request(&self.app)).await;
            ran.map_err(failed("reconciliation and files"))?;
            if activity.writes() == before {
                return Ok(());
            }
        }
        Err(FinishError::Endless)
    }
}

fn failed(worker: &'static str) -> impl Fn(Problem) -> FinishError {
    move |problem| FinishError::Worker(worker, problem.detail().to_owned())
}

/// Nightly runs are off, because a local stack runs only for hours.
fn by_request(app: &App) -> Settings {
    Settings { nightly: false, ..Settings::of(app) }
}

/// Runs bulk grants, releases expired holds, starts settlements and announces changed addresses of a tenant. On AWS a
/// schedule does this.
async fn run_jobs(
    (app, tenant): (App, Tenant),
    (sagas, announcer): (Arc<dyn Sagas>, Arc<dyn Announcer>),
    mut pace: Pace,
) {
    let mut jobs_failures = WorkerFailures::of("holds and bulk grants");
    let mut settlement_failures = WorkerFailures::of("settlements");
    let mut notice_failures = WorkerFailures::of("announcing changed addresses");
    loop {
        pace.wait(&app).await;
        let ends = [
            jobs_failures.watch(jobs::run_due(&app, &tenant)).await,
            settlement_failures.watch(jobs::start_settlements(&app, sagas.as_ref(), &tenant)).await,
            notice_failures.watch(jobs::announce_notices(&app, announcer.as_ref(), &tenant)).await,
        ];
        let kinds = [Work::Hold, Work::Settlement].map(DueKind::Work);
        pace.ended(ends.iter().all(|is_clean| *is_clean), &app, &tenant, &kinds).await;
    }
}

/// Recovers a tenant's operations in flight. On AWS a schedule does this.
async fn recover((app, tenant): (App, Tenant), mut pace: Pace) {
    let mut failures = WorkerFailures::of("recovery");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(outbox::run_due(&app, &tenant)).await;
        pace.ended(is_clean, &app, &tenant, &[Work::Flight, Work::PspCheck].map(DueKind::Work)).await;
    }
}

/// Publishes a tenant's journal entries, seals its audit trail, and closes and folds its posting days. On AWS the stream
/// and a schedule do this.
async fn publish((app, tenant): (App, Tenant), publisher: Publisher, mut pace: Pace) {
    let mut failures = WorkerFailures::of("publishing, sealing and folding");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(outbox::pass_and_fold(&app, Some(&publisher), &tenant)).await;
        pace.ended(is_clean, &app, &tenant, &[]).await;
    }
}

/// Runs a tenant's requested reconciliations, previews and files. On AWS a schedule does this.
async fn reconcile((app, tenant): (App, Tenant), outlets: Outlets, mut pace: Pace) {
    let due = Due::everything(tenant.clone());
    let settings = by_request(&app);
    let mut failures = WorkerFailures::of("reconciliation");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(reconcile::run_as((&app, &outlets), &due, &settings)).await;
        pace.ended(is_clean, &app, &tenant, &[]).await;
    }
}

/// Runs the passes of a tenant that migrates from a legacy model. On AWS a schedule does this.
async fn migrate((app, tenant): (App, Tenant), mut pace: Pace) {
    let due = Due::everything(tenant.clone());
    let mut failures = WorkerFailures::of("migration");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(migrate::run(&app, &due)).await;
        pace.ended(is_clean, &app, &tenant, &[]).await;
    }
}
