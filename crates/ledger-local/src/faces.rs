//! Mounts the functions on a running store: the same routers that Lambda runs. Seeds the demo data before the first
//! request.

use crate::demo::Demo;
use crate::downloads::LocalDownloads;
use crate::engine::Activity;
use crate::events::LocalEvents;
use crate::legacy::{self, Legacy};
use crate::marker_keys;
use crate::openapi;
use crate::pace::Pace;
use crate::reports::LocalReports;
use crate::seed::{self, SeedError};
use crate::settlement::{self, LocalFiles, LocalKyc, LocalSagas};
use crate::worker_failures::{self, WorkerFailures};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::BehaviorVersion;
use axum::Router;
use ledger_core::ids::Tenant;
use ledger_core::personal::Masked;
use ledger_core::rate::RequestRate;
use ledger_core::reads;
use ledger_runtime::announcer::Announcer;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{CallerConfig, Config, STRIPE_URL_DEFAULT, StripeConfig};
use ledger_runtime::dynamo::Dynamo;
use ledger_runtime::endpoint::{Declarations, Routes};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::psp::{Stripe, StripeError};
use ledger_runtime::publishing::Publisher;
use ledger_runtime::readback::MetricSource;
use ledger_runtime::reconcile::{Outlets, Settings};
use ledger_runtime::routing;
use ledger_runtime::settlement::{Sagas, Settler};
use ledger_runtime::worker::Due;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often holds, bulk grants, settlements and sealing are run.
const JOBS_EVERY: Duration = Duration::from_millis(500);
/// How often merchants are credited.
const CREDIT_EVERY: Duration = Duration::from_millis(500);
/// How often journal entries are published: the local stack has no stream.
const PUBLISH_EVERY: Duration = Duration::from_millis(500);
/// How often operations in flight are recovered.
const RECOVER_EVERY: Duration = Duration::from_secs(5);
/// How often requested reconciliations and previews are run.
const RECONCILE_EVERY: Duration = Duration::from_secs(1);
/// How often passes of a migration are run.
const MIGRATE_EVERY: Duration = Duration::from_secs(2);

/// Builds a function's routes from its state and the metrics that it reads back.
pub type Face = fn(&App, &Arc<dyn MetricSource>) -> Routes;

/// The functions of the API by the names of their folders, in the order of the OpenAPI document.
pub const FACES: [(&str, Face); 5] = [
    ("customer", |_, _| customer::router()),
    ("merchant", |_, _| merchant::router()),
    ("admin", |_, metrics| admin::router(Arc::clone(metrics))),
    ("terminal", |app, _| terminal::router(app)),
    ("stripe-webhook", |_, _| stripe_webhook::router()),
];

/// The running store that the functions work on.
#[derive(Debug, Clone)]
pub struct Backend {
    /// A client of the store.
    pub dynamodb: Client,
    /// The store's endpoint.
    pub dynamodb_url: String,
    /// The table, which must exist and be active.
    pub table: String,
    /// The file for the demo terminal's credential; `None` writes none.
    pub terminal_file: Option<PathBuf>,
    /// How Stripe or its simulator is reached.
    pub stripe: StripeConfig,
    /// The rate of tenants whose terms have none.
    pub tenant_requests: RequestRate,
    /// How callers are limited, named in logs, and found behind a front end.
    pub callers: CallerConfig,
    /// The keys of markers.
    pub marker_keys: Masked<String>,
    /// The keys of cards' PINs.
    pub pin_keys: Masked<String>,
    /// The event lists.
    pub events: LocalEvents,
    /// The simulated KYC service.
    pub kyc: LocalKyc,
    /// The directory of the bank's files.
    pub payouts: LocalFiles,
    /// The store of reconciliation reports.
    pub reports: LocalReports,
    /// The store of the files that staff fetch.
    pub downloads: LocalDownloads,
    /// A second tenant, to be migrated from a legacy model.
    pub legacy: Option<Legacy>,
    /// The counts of the embedded engine's requests; `None` for another store.
    pub activity: Option<Activity>,
}

/// Functions that are ready for requests.
pub struct Mounted {
    /// The functions' routes.
    pub faces: Router,
    /// The declarations of the functions' endpoints.
    pub declarations: Declarations,
    /// The ids of the demo data.
    pub demo: Demo,
    /// Routes that no deployed function has.
    pub beside: Router,
}

/// Why the functions could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The demo data cannot be written.
    #[error("cannot make the demo data: {0}")]
    Seed(#[from] SeedError),
    /// Stripe's client cannot be created.
    #[error(transparent)]
    Stripe(#[from] StripeError),
}

/// Seeds the demo data, mounts all APIs and starts the workers.
///
/// # Errors
/// [`MountError`] if the demo data cannot be written or Stripe's client cannot be created.
pub async fn mount(backend: Backend) -> Result<Mounted, MountError> {
    let backend = Backend { dynamodb: worker_failures::named_calls(&backend.dynamodb), ..backend };
    let (app, counting) = app(&backend)?;
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    let ports = Ports::of(&app, &backend);
    let demo = Demo::fixed();
    seed::seed(app.ledger(), &demo, backend.terminal_file.as_deref()).await?;
    let mut tenants = vec![demo.tenant.clone()];
    if let Some(legacy) = backend.legacy {
        seed::legacy(app.ledger(), &demo, legacy, (&backend.dynamodb, &backend.table)).await?;
        tenants.push(legacy::TENANT.to_owned());
    }
    for tenant in tenants {
        let Ok(tenant) = Tenant::parse(&tenant) else { continue };
        let pace = |every| Pace::of(every, backend.activity.clone());
        // A phase of a migration settles with time, which the counts of requests do not show.
        let steady = |every| Pace::of(every, None);
        let migrating = if tenant.as_str() == legacy::TENANT { steady(MIGRATE_EVERY) } else { pace(MIGRATE_EVERY) };
        let announcer: Arc<dyn Announcer> = Arc::new(backend.events.clone());
        tokio::spawn(run_jobs(app.clone(), (Arc::clone(&ports.sagas), announcer), tenant.clone(), pace(JOBS_EVERY)));
        tokio::spawn(credit(app.clone(), tenant.clone(), pace(CREDIT_EVERY)));
        tokio::spawn(recover(app.clone(), tenant.clone(), pace(RECOVER_EVERY)));
        tokio::spawn(publish(app.clone(), ports.publisher.clone(), tenant.clone(), pace(PUBLISH_EVERY)));
        tokio::spawn(reconcile(app.clone(), ports.outlets.clone(), tenant.clone(), pace(RECONCILE_EVERY)));
        tokio::spawn(migrate(app.clone(), tenant, migrating));
    }
    let (router, declarations) = routes(&app, &metrics).into_parts();
    let beside = settlement::dev_router(ports.settler, backend.kyc);
    Ok(Mounted { faces: routing::finish(router, app), declarations, demo, beside })
}

/// The functions' state over a store, with counts that can be read back from memory.
///
/// # Errors
/// If Stripe's client cannot be created.
pub fn app(backend: &Backend) -> Result<(App, Counting), StripeError> {
    let stripe = Stripe::new(&backend.stripe, &backend.table)?;
    let (app, counting) = without_stripe(backend);
    Ok((app.with_psp(stripe, &backend.stripe), counting))
}

fn without_stripe(backend: &Backend) -> (App, Counting) {
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let dynamo = Dynamo::from_client(backend.dynamodb.clone(), &backend.table, entropy.clone());
    let counting = Counting::new(clock.clone());
    let metrics = Metrics::to(counting.clone());
    let (tenant_requests, callers) = (backend.tenant_requests, backend.callers.clone());
    let config = Config { tenant_requests, callers, ..Config::of_table(&backend.table) };
    let ledger = Ledger::new(dynamo, clock, entropy, metrics).with_marker_keys(backend.marker_keys.clone());
    let app = App::new(ledger, config).with_pin_keys(backend.pin_keys.clone());
    (app.with_files(Arc::new(backend.downloads.clone())), counting)
}

/// The local replacements of the AWS services that workers use.
struct Ports {
    publisher: Publisher,
    settler: Settler,
    sagas: Arc<dyn Sagas>,
    outlets: Outlets,
}

impl Ports {
    fn of(app: &App, backend: &Backend) -> Self {
        let (kyc, files) = (Arc::new(backend.kyc.clone()), Arc::new(backend.payouts.clone()));
        let settler = Settler::new(app, Some(kyc), Some(files));
        Self {
            publisher: Publisher::new(app, Arc::new(backend.events.clone())),
            sagas: Arc::new(LocalSagas::new(settler.clone())),
            settler,
            outlets: Outlets {
                reports: Some(Arc::new(backend.reports.clone())),
                announcer: Some(Arc::new(backend.events.clone())),
            },
        }
    }
}

/// The routes of all functions.
#[must_use]
pub fn routes(app: &App, metrics: &Arc<dyn MetricSource>) -> Routes {
    FACES.iter().fold(Routes::new(), |routes, (_, face)| routes.merge(face(app, metrics)))
}

/// The OpenAPI document, as it is stored in the repository. It needs no running store.
#[must_use]
pub fn openapi_json() -> String {
    let config = aws_sdk_dynamodb::Config::builder().behavior_version(BehaviorVersion::v2026_01_12()).build();
    let backend = Backend {
        dynamodb: Client::from_conf(config),
        dynamodb_url: String::new(),
        table: String::new(),
        terminal_file: None,
        stripe: StripeConfig {
            base_url: STRIPE_URL_DEFAULT.to_owned(),
            api_key: Masked::new(String::new()),
            webhook_secrets: Vec::new(),
            account: None,
        },
        tenant_requests: RequestRate::DEFAULT,
        callers: CallerConfig::default(),
        marker_keys: marker_keys::in_memory(),
        pin_keys: Masked::new(String::new()),
        events: LocalEvents::in_memory(),
        kyc: LocalKyc::default(),
        payouts: LocalFiles::default(),
        reports: LocalReports::default(),
        downloads: LocalDownloads::default(),
        legacy: None,
        activity: None,
    };
    let (app, counting) = without_stripe(&backend);
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    let (_, declarations) = routes(&app, &metrics).into_parts();
    let document = openapi::complete(&declarations);
    format!("{document:#}\n")
}

/// Runs bulk grants, releases expired holds, starts settlements and announces changed addresses of a tenant. On AWS a
/// schedule does this.
async fn run_jobs(app: App, (sagas, announcer): (Arc<dyn Sagas>, Arc<dyn Announcer>), tenant: Tenant, mut pace: Pace) {
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
        pace.ended(ends.iter().all(|is_clean| *is_clean), &app, &tenant, &[reads::holds_due, reads::settlements_due])
            .await;
    }
}

/// Credits a tenant's merchants. On AWS a schedule does this.
async fn credit(app: App, tenant: Tenant, mut pace: Pace) {
    let due = Due::everything(tenant.clone());
    let mut failures = WorkerFailures::of("crediting");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(crediting::run_due(&app, &due)).await;
        pace.ended(is_clean, &app, &tenant, &[]).await;
    }
}

/// Recovers a tenant's operations in flight. On AWS a schedule does this.
async fn recover(app: App, tenant: Tenant, mut pace: Pace) {
    let mut failures = WorkerFailures::of("recovery");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(outbox::run_due(&app, &tenant)).await;
        pace.ended(is_clean, &app, &tenant, &[reads::claims_due, reads::provider_checks_due]).await;
    }
}

/// Publishes a tenant's journal entries and seals its audit trail. On AWS the stream and a schedule do this.
async fn publish(app: App, publisher: Publisher, tenant: Tenant, mut pace: Pace) {
    let mut failures = WorkerFailures::of("publishing and sealing");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(outbox::pass_due(&app, Some(&publisher), &tenant)).await;
        pace.ended(is_clean, &app, &tenant, &[]).await;
    }
}

/// Runs a tenant's requested reconciliations and previews. On AWS a schedule does this. Nightly runs are off, because a local stack
/// runs only for hours.
async fn reconcile(app: App, outlets: Outlets, tenant: Tenant, mut pace: Pace) {
    let due = Due::everything(tenant.clone());
    let settings = Settings { nightly: false, ..Settings::of(&app) };
    let mut failures = WorkerFailures::of("reconciliation");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(reconcile::run_as((&app, &outlets), &due, &settings)).await;
        pace.ended(is_clean, &app, &tenant, &[]).await;
    }
}

/// Runs the passes of a tenant that migrates from a legacy model. On AWS a schedule does this.
async fn migrate(app: App, tenant: Tenant, mut pace: Pace) {
    let due = Due::everything(tenant.clone());
    let mut failures = WorkerFailures::of("migration");
    loop {
        pace.wait(&app).await;
        let is_clean = failures.watch(migrate::run(&app, &due)).await;
        pace.ended(is_clean, &app, &tenant, &[]).await;
    }
}
