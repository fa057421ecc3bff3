//! Runs a saga without a state machine, task by task. The local stack runs settlements this way.

use super::{SettlementRef, Settler};
use http::StatusCode;
use ledger_core::settlements::saga::STEPS;
use ledger_core::settlements::{Outcome, Task};
use std::time::Duration;

/// How a run of the saga ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The settlement has ended, paid or turned back, or its payment day has not begun.
    Over,
    /// The KYC check or the PSP has not decided yet: a later run continues from the start.
    Waiting,
    /// The settlement stopped and needs review: an operator resumes it.
    Stuck,
}

impl Settler {
    /// Runs a settlement's saga from the start; steps already done are not repeated.
    ///
    /// `pause` waits before a failed task is retried.
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

    /// A task's outcome, or `None` if it failed and its retries are used up.
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
