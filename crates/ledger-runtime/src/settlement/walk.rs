//! The saga without a state machine: walks the same data, task by task. The local stack runs settlements so.

use super::{SettlementRef, Settler};
use http::StatusCode;
use ledger_core::ops::settlement::saga::STEPS;
use ledger_core::ops::settlement::{Outcome, Task};
use std::time::Duration;

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The settlement is over, one way or the other.
    Over,
    /// Somebody outside has not decided yet: another walk goes on from the start.
    Waiting,
    /// It stopped: a person resumes it.
    Stuck,
}

impl Settler {
    /// Runs a settlement's saga from the start: what is done is not done again. `pause` waits before a task
    /// that failed is tried again.
    pub async fn walk(&self, at: &SettlementRef, pause: impl AsyncFn(Duration)) -> Ended {
        let Some(first) = STEPS.first() else { return Ended::Over };
        let mut task = Task::Do(*first);
        loop {
            let next = match (task, self.tried(at, task, &pause).await) {
                (_, Some(Outcome::Wait)) => return Ended::Waiting,
                (Task::Stop, Some(Outcome::Next) | None) => return Ended::Stuck,
                (_, Some(outcome)) => task.after(outcome),
                (_, None) => task.failed(),
            };
            match next {
                Some(next) => task = next,
                None => return Ended::Over,
            }
        }
    }

    /// A task's outcome, or `None` if it failed as often as it may.
    async fn tried(&self, at: &SettlementRef, task: Task, pause: &impl AsyncFn(Duration)) -> Option<Outcome> {
        let mut repetition = 0_u32;
        loop {
            match self.run(at, task).await {
                Ok(outcome) => return Some(outcome),
                Err(problem) if problem.status() == StatusCode::SERVICE_UNAVAILABLE => {
                    pause(task.retry().pause(repetition)?).await;
                    repetition = repetition.saturating_add(1);
                }
                Err(_) => return None,
            }
        }
    }
}
