//! Ends the work of a worker or a task. A failure is counted here like a failed request, and nowhere before: the work
//! that returns a problem does not count it.

use crate::app::App;
use crate::problem::Problem;
use futures::FutureExt;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use std::panic::AssertUnwindSafe;

/// The code of a panic. Its text is not passed on.
const PANICKED: &str = "panicked";

/// The failure of some work.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The problem's code, or `panicked`.
    pub(crate) code: &'static str,
    /// The problem; a panic is an internal error.
    pub(crate) problem: Problem,
}

/// Runs some work of a tenant to its end. `operation` is its name in metrics; `None` if it is not one operation.
pub(crate) async fn ended<R>(
    app: &App,
    (tenant, operation): (&Tenant, Option<Operation>),
    work: impl Future<Output = Result<R, Problem>>,
) -> Result<R, Failed> {
    let failed = match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(problem)) => Failed { code: problem.code(), problem },
        Err(_) => Failed { code: PANICKED, problem: Problem::internal() },
    };
    failed.problem.count(app.metrics(), tenant, operation);
    Err(failed)
}
