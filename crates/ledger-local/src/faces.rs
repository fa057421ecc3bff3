//! Mounts the functions on a running store: the very routers that Lambda runs.
//! The place where the demo data is seeded before the first request.

use crate::demo::Demo;
use crate::seed;
use aws_sdk_dynamodb::Client;
use axum::Router;
use ledger_core::ids::Tenant;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::Config;
use ledger_runtime::dynamo::Dynamo;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::routing;
use std::path::PathBuf;
use std::time::Duration;
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_axum::router::OpenApiRouter;

/// How often the jobs are looked at.
const JOBS_EVERY: Duration = Duration::from_millis(500);

/// The running store that the functions work on.
#[derive(Debug, Clone)]
pub struct Backend {
    /// A client of it.
    pub dynamodb: Client,
    /// Its endpoint.
    pub dynamodb_url: String,
    /// The table, which is there and active.
    pub table: String,
    /// Where the demo terminal's credential goes; nowhere when absent.
    pub terminal_file: Option<PathBuf>,
}

/// Functions that are ready for requests.
pub struct Mounted {
    /// Their routes.
    pub faces: Router,
    /// Their document.
    pub openapi: OpenApi,
    /// The ids of the demo data.
    pub demo: Demo,
}

/// Why the functions are not ready.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare the functions and the demo data: {0}")]
pub struct MountError(pub String);

/// Seeds the demo data and mounts all faces.
///
/// # Errors
/// When the demo data cannot be written.
pub async fn mount(backend: Backend) -> Result<Mounted, MountError> {
    let app = app(&backend);
    let demo = Demo::fixed();
    seed::seed(app.ledger(), &demo, backend.terminal_file.as_deref()).await?;
    tokio::spawn(carry_on_jobs(app.clone(), demo.tenant.clone()));
    let (router, openapi) = routes(&app).split_for_parts();
    Ok(Mounted { faces: routing::finish(router, app), openapi, demo })
}

/// The functions' state over a store, with counters that can be read back from memory.
#[must_use]
pub fn app(backend: &Backend) -> App {
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let dynamo = Dynamo::from_client(backend.dynamodb.clone(), &backend.table, entropy.clone());
    let counting = Counting::new(clock.clone());
    let metrics = Metrics::to(counting.clone());
    let config = Config {
        table: backend.table.clone(),
        endpoint_url: Some(backend.dynamodb_url.clone()),
        log_filter: String::new(),
    };
    App::new(Ledger::new(dynamo, clock, entropy, metrics), counting, config)
}

/// Every function's routes under one document.
#[must_use]
pub fn routes(app: &App) -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document())
        .merge(customer::router(app))
        .merge(merchant::router(app))
        .merge(admin::router(app))
        .merge(terminal::router(app))
}

/// What a schedule does on AWS: carries the tenant's bulk grants on.
async fn carry_on_jobs(app: App, tenant: String) {
    let Ok(tenant) = Tenant::parse(&tenant) else { return };
    let mut ticks = tokio::time::interval(JOBS_EVERY);
    loop {
        ticks.tick().await;
        if let Err(problem) = jobs::run_due(&app, &tenant).await {
            tracing::warn!(code = problem.code(), "bulk grants did not get on");
        }
    }
}

/// The document that the faces' paths are added to.
pub fn document() -> OpenApi {
    let info = InfoBuilder::new().title("EcoPay Ledger").version(env!("CARGO_PKG_VERSION"));
    OpenApiBuilder::new().info(info.build()).build()
}
