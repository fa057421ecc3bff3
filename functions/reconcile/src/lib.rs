//! Reconciles the books with everything that is derived from them, every night and on request, previews changes of terms, and
//! makes files. All read much and write their own records only.
//!
//! A schedule calls it for a tenant. It runs the previews and reconciliations that are due, makes the files that staff asked
//! for, and reports breaks without repairing them. Concurrent calls do nothing twice.

mod attempts;

use ledger_core::keys::{JobKind, Work};
use ledger_runtime::app::App;
use ledger_runtime::attempts::AttemptTime;
use ledger_runtime::due::DueList;
use ledger_runtime::problem::Problem;
use ledger_runtime::reconcile::{self, Outlets, Reconciled, Settings};
use ledger_runtime::worker::Due;
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// The time that a call uses: the function has 900 seconds, and ends its work before then.
const CALL_TIME_MAX: Duration = Duration::from_secs(880);
/// A call begins no preview and no file after this time: other calls, one a minute, make the others.
const ATTEMPTS_BEGUN_WITHIN: Duration = Duration::from_secs(60);

/// The result of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ran {
    /// What was reconciled.
    #[serde(flatten)]
    pub reconciled: Reconciled,
    /// The number of jobs of previews that ended.
    pub previews: usize,
    /// The number of jobs of files that ended.
    pub files: usize,
}

/// Runs the previews and reconciliations that are due for a tenant, and makes its files. A failure of one does not stop the others.
/// A call whose other work took long leaves the reconciliations to another one: each has its whole time.
///
/// # Errors
/// 503 if the store did not answer; a later call starts the run again. 500 if a run cannot be completed.
pub async fn run(app: &App, outlets: &Outlets, due: &Due) -> Result<Ran, Problem> {
    run_as((app, outlets), due, &Settings::of(app)).await
}

/// As [`run`], with other settings than a function has.
///
/// # Errors
/// As [`run`].
pub async fn run_as((app, outlets): (&App, &Outlets), due: &Due, settings: &Settings) -> Result<Ran, Problem> {
    let began = Instant::now();
    let shards = app.terms(&due.tenant).await?.due_shards;
    let kinds = [JobKind::TermsPreview.into(), JobKind::File.into(), Work::Reconciliation.into()];
    let mut listed = DueList::read(app.dynamo(), (&due.tenant, shards), app.now(), &kinds).await?;
    // First: a staff member waits for them.
    let time = AttemptTime { began, begun_within: ATTEMPTS_BEGUN_WITHIN, given_up_after: CALL_TIME_MAX };
    let ended = attempts::run(app, &due.tenant, (&mut listed, time)).await;
    let reconciled = if CALL_TIME_MAX.saturating_sub(began.elapsed()) < settings.longest {
        tracing::info!(tenant = %due.tenant, "reconciliations left to another call");
        Ok(Reconciled::default())
    } else {
        // Without a provider its records are not compared; the books are.
        let provider = app.provider_if_any().await.unwrap_or_default();
        let psp_executor = provider.as_ref().map(|provider| provider.psp_executor());
        reconcile::run_due((app, outlets), psp_executor, (&due.tenant, &mut listed), settings).await
    };
    let (reconciled, ended) = (reconciled?, ended?);
    Ok(Ran { reconciled, previews: ended.previews, files: ended.files })
}
