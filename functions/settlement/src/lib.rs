//! The tasks of settlements: what the state machine calls, `saga.asl.json`, whose text follows from the core's
//! data. Each task may be called any number of times.

use ledger_core::ops::settlement::{Outcome, Task};
use ledger_runtime::problem::Problem;
use ledger_runtime::settlement::{SettlementRef, Settler};

/// Runs a task of a settlement to its end.
///
/// # Errors
/// 503 if somebody did not tell: running it again is safe. 500 for what no repetition mends.
pub async fn run(settler: &Settler, at: &SettlementRef, task: Task) -> Result<Outcome, Problem> {
    settler.run(at, task).await
}
