//! Serves the tasks of reconciling an export for a state machine. The function reads objects and has no table.

use crate::objects::S3Objects;
use crate::reports::S3Reports;
use crate::tls::with_amazon_roots;
use crate::{EventError, StartError, exit, serve, start_logging};
use futures::FutureExt;
use lambda_runtime::{LambdaEvent, service_fn};
use ledger_runtime::clock::Clock;
use ledger_runtime::config::ExportAccess;
use ledger_runtime::dynamo::sdk_loader;
use ledger_runtime::metrics::{Emf, Metrics};
use ledger_runtime::reconcile::export::{BROKEN, ExportDone, ExportError, ExportInput, ExportRun, ExportTask, Exports};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;

/// Serves the tasks of exports with `run`.
pub async fn exports(
    run: impl AsyncFn(&Exports, &ExportRun, &ExportTask) -> Result<ExportDone, ExportError>,
) -> ExitCode {
    let exports = match start().await {
        Ok(exports) => exports,
        Err(error) => return exit(Err(error)),
    };
    let (exports, run) = (&exports, &run);
    let serve = |event: LambdaEvent<ExportInput>| async move { answer(exports, run, event.payload).await };
    exit(serve::until_shutdown(service_fn(serve)).await)
}

async fn answer(
    exports: &Exports,
    run: &impl AsyncFn(&Exports, &ExportRun, &ExportTask) -> Result<ExportDone, ExportError>,
    input: ExportInput,
) -> Result<ExportDone, EventError> {
    let Ok((of, task)) = input.read() else { return Err(EventError(BROKEN)) };
    // A panic is reported as a fault, and its text is not passed on.
    let (error, name) = match AssertUnwindSafe(run(exports, &of, &task)).catch_unwind().await {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => (error.to_string(), error.name()),
        Err(_) => ("the task panicked".to_owned(), BROKEN),
    };
    tracing::warn!(run = of.name(), ?task, error, "task failed");
    Err(EventError(name))
}

async fn start() -> Result<Exports, StartError> {
    let access = ExportAccess::from_env()?;
    start_logging()?;
    let (clock, sdk) = (Clock::system(), with_amazon_roots(sdk_loader(None), None).load().await);
    let objects = Arc::new(S3Objects::new(&sdk, &access.exports));
    let reports = Arc::new(S3Reports::new(&sdk, &access.reports));
    let metrics = Metrics::to(Emf::stdout(clock.clone()));
    Ok(Exports::new((objects, reports), (metrics, clock), std::env::temp_dir().join("exports")))
}
