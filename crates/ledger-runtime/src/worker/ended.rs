//! How the work of a worker or of a task ends. What does not end well is counted as an answer to a request is, here
//! and nowhere before: whoever ends with a problem counts it.

use crate::app::App;
use crate::problem::Problem;
use futures::FutureExt;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use std::panic::AssertUnwindSafe;

/// What a panic is called: its text stays where it happened.
const PANICKED: &str = "panicked";

/// Work that did not end well.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Why, in a word.
    pub(crate) code: &'static str,
    /// The problem; a panic is a fault of ours like any other.
    pub(crate) problem: Problem,
}

/// Takes some work of a tenant to its end. `operation` names it in metrics, where it is one operation.
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
