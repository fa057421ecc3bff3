//! The tasks of settlements, for the state machine `saga.asl.json`, which is generated from the core's data. Each task
//! may be repeated.

use ledger_core::settlements::{Outcome, Task};
use ledger_runtime::problem::Problem;
use ledger_runtime::settlement::{SettlementRef, Settler};

/// Runs a task of a settlement to its end.
///
/// # Errors
/// 503 if a service did not answer: a retry is safe. 500 if a retry cannot succeed.
pub async fn run(settler: &Settler, at: &SettlementRef, task: Task) -> Result<Outcome, Problem> {
    settler.run(at, task).await
}
