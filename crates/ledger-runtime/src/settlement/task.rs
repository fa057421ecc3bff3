//! The answer to one task of a state machine. An error's name says whether a retry may fix it.

use super::{SettlementRef, TaskAnswer, TaskInput, error_name};
use crate::app::App;
use crate::problem::Problem;
use crate::worker::ended;
use ledger_core::operation::Operation;
use ledger_core::settlements::{BROKEN, Outcome, Task};

/// Runs a task with `run`, and counts a failure.
///
/// # Errors
/// The error name by which the state machine chooses the next task.
pub async fn task_answer(
    app: &App,
    run: &impl AsyncFn(&App, &SettlementRef, Task) -> Result<Outcome, Problem>,
    input: &TaskInput,
) -> Result<TaskAnswer, &'static str> {
    let Some((at, task)) = input.read() else { return Err(BROKEN) };
    let failed = match ended(app, (&at.tenant, Some(Operation::SettlementRun)), run(app, &at, task)).await {
        Ok(outcome) => return Ok(TaskAnswer { outcome: outcome.name() }),
        Err(failed) => failed,
    };
    let code = failed.code;
    tracing::warn!(tenant = %at.tenant, settlement = %at.id, task = task.name(), code, "task failed");
    Err(error_name(&failed.problem))
}

#[cfg(test)]
mod tests;
