//! Serves the tasks of a state machine: one event, one typed response.

use crate::{Environment, EventError, StartError, exit, serve};
use lambda_runtime::{LambdaEvent, service_fn};
use ledger_core::settlements::{Outcome, Task};
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::settlement::{SettlementRef, TaskInput, task_answer};
use std::process::ExitCode;

/// Serves settlement tasks with the runner that `runner` makes of the function's environment.
pub async fn tasks<T>(runner: impl FnOnce(&mut Environment) -> Result<T, StartError>) -> ExitCode
where
    T: AsyncFn(&App, &SettlementRef, Task) -> Result<Outcome, Problem>,
{
    let (app, run) = match Environment::start(runner).await {
        Ok(started) => started,
        Err(error) => return exit(Err(error)),
    };
    let (app, run) = (&app, &run);
    let serve =
        |event: LambdaEvent<TaskInput>| async move { task_answer(app, run, &event.payload).await.map_err(EventError) };
    exit(serve::until_shutdown(service_fn(serve)).await)
}
