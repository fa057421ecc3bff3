//! Serves the tasks of a state machine: one event, one typed answer, and an error whose name says whether
//! another try can mend it.

use super::ended::ended;
use super::{Client, EventError, exit, serve, start};
use crate::app::App;
use crate::problem::Problem;
use crate::settlement::{SettlementRef, TaskAnswer, TaskInput, error_name};
use lambda_runtime::{LambdaEvent, service_fn};
use ledger_core::operation::Operation;
use ledger_core::ops::settlement::{BROKEN, Outcome, Task};
use std::process::ExitCode;

/// Serves the tasks of settlements, each of which `run` takes to its end.
pub async fn tasks(
    calls: &[Client],
    run: impl AsyncFn(&App, &SettlementRef, Task) -> Result<Outcome, Problem>,
) -> ExitCode {
    let app = match start(calls).await {
        Ok(app) => app,
        Err(error) => return exit(Err(error)),
    };
    let (app, run) = (&app, &run);
    let serve = |event: LambdaEvent<TaskInput>| async move { answer(app, run, &event.payload).await };
    exit(serve::until_shutdown(service_fn(serve)).await)
}

async fn answer(
    app: &App,
    run: &impl AsyncFn(&App, &SettlementRef, Task) -> Result<Outcome, Problem>,
    input: &TaskInput,
) -> Result<TaskAnswer, EventError> {
    let Some((at, task)) = input.read() else { return Err(EventError(BROKEN)) };
    let failed = match ended(app, (&at.tenant, Some(Operation::SettlementRun)), run(app, &at, task)).await {
        Ok(outcome) => return Ok(TaskAnswer { outcome: outcome.name() }),
        Err(failed) => failed,
    };
    let code = failed.code;
    tracing::warn!(tenant = %at.tenant, settlement = %at.id, task = task.name(), code, "a task did not end well");
    Err(EventError(error_name(&failed.problem)))
}

#[cfg(test)]
mod tests;
