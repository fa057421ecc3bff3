//! Mounts the functions on a running store: the same routers that Lambda runs. Seeds the demo data before the first
//! request.

use crate::backend::Backend;
use crate::demo::Demo;
use crate::downloads::LocalDownloads;
use crate::events::LocalEvents;
use crate::marker_keys;
use crate::openapi;
use crate::reports::LocalReports;
use crate::seed::{self, SeedError};
use crate::settlement::{self, LocalKyc};
use crate::worker_failures;
use crate::workers::Workers;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::BehaviorVersion;
use axum::Router;
use ledger_core::personal::Masked;
use ledger_core::rate::RequestRate;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{CallerConfig, Config, STRIPE_URL_DEFAULT, StripeConfig};
use ledger_runtime::dynamo::Dynamo;
use ledger_runtime::endpoint::{Declarations, Routes};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::psp::{Stripe, StripeError};
use ledger_runtime::readback::MetricSource;
use ledger_runtime::routing;
use std::sync::Arc;
use std::time::Duration;

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

/// How long before the first start the demo was opened: its merchants are paid at once, to destinations that have waited
/// out the time after a change (`DESTINATION_COOLING_OFF`).
const OPENED_BEFORE: Duration = Duration::from_secs(2 * 24 * 60 * 60);

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
    let (mounted, workers) = assemble(backend).await?;
    workers.start();
    Ok(mounted)
}

/// Seeds the demo data and mounts all APIs; the workers are not started.
///
/// # Errors
/// As [`mount`].
pub async fn assemble(backend: Backend) -> Result<(Mounted, Workers), MountError> {
    let backend = Backend { dynamodb: worker_failures::named_calls(&backend.dynamodb), ..backend };
    let (app, counting) = app(&backend)?;
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    let (faces, declarations) = served(&app, &metrics);
    let demo = Demo::fixed();
    seeded(&backend).await?;
    let workers = Workers::new(&app, &backend);
    let beside = settlement::dev_router(workers.settler(), backend.kyc);
    Ok((Mounted { faces, declarations, demo, beside }, workers))
}

/// Opens the demo tenants, as of [`OPENED_BEFORE`], and writes their data.
///
/// # Errors
/// As [`mount`].
pub async fn seeded(backend: &Backend) -> Result<(), MountError> {
    let (app, counting) = app(&Backend { clock: earlier(&backend.clock), ..backend.clone() })?;
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    let (faces, _) = served(&app, &metrics);
    let (seeding, demo) = ((app.ledger(), &faces), Demo::fixed());
    seed::seed(seeding, &demo, backend.terminal_file.as_deref()).await?;
    if let Some(legacy) = backend.legacy {
        seed::legacy(seeding, &demo, legacy, (&backend.dynamodb, &backend.table)).await?;
    }
    Ok(())
}

/// The clock of the demo's opening.
fn earlier(clock: &Clock) -> Clock {
    let clock = clock.clone();
    Clock::from_fn(move || clock.now().minus(OPENED_BEFORE))
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
    let (clock, entropy) = (backend.clock.clone(), Entropy::system());
    let dynamo = Dynamo::from_client(backend.dynamodb.clone(), &backend.table, entropy.clone());
    let counting = Counting::new(clock.clone());
    let metrics = Metrics::to(counting.clone());
    let (tenant_requests, callers) = (backend.tenant_requests, backend.callers.clone());
    let config = Config { tenant_requests, callers, ..Config::of_table(&backend.table) };
    let ledger = Ledger::new(dynamo, clock, entropy, metrics).with_marker_keys(backend.marker_keys.clone());
    let app = App::new(ledger, config).with_pin_keys(backend.pin_keys.clone());
    (app.with_files(Arc::new(backend.downloads.clone())), counting)
}

/// The routes of all functions, ready for requests, and their declarations.
pub fn served(app: &App, metrics: &Arc<dyn MetricSource>) -> (Router, Declarations) {
    let (router, declarations) = routes(app, metrics).into_parts();
    (routing::finish(router, app.clone()), declarations)
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
        reports: LocalReports::default(),
        downloads: LocalDownloads::default(),
        legacy: None,
        activity: None,
        clock: Clock::system(),
    };
    let (app, counting) = without_stripe(&backend);
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    let (_, declarations) = routes(&app, &metrics).into_parts();
    let document = openapi::complete(&declarations);
    format!("{document:#}\n")
}
