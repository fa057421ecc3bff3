//! The jobs that make one result: previews of terms, and files. The kinds take turns, so that none waits for many of the other.

use ledger_core::files::FileContent;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::JobKind;
use ledger_core::previews::PreviewDetails;
use ledger_runtime::app::App;
use ledger_runtime::attempts::{self, AttemptTime};
use ledger_runtime::due::DueList;
use ledger_runtime::problem::Problem;
use std::collections::VecDeque;

/// The number of jobs that ended, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ended {
    /// Previews.
    pub(crate) previews: usize,
    /// Files.
    pub(crate) files: usize,
}

/// Makes what is due, as far as the time goes. One that cannot be made does not stop the others: the first problem is returned then.
pub(crate) async fn run(
    app: &App,
    tenant: &Tenant,
    (due, time): (&mut DueList, AttemptTime),
) -> Result<Ended, Problem> {
    let mut previews = listed(due, JobKind::TermsPreview).await?;
    // Without a store of files they wait for one.
    let mut files = if app.files().is_some() { listed(due, JobKind::File).await? } else { VecDeque::new() };
    let (mut ended, mut fault) = (Ended::default(), None);
    while !(previews.is_empty() && files.is_empty()) {
        for (jobs, is_preview) in [(&mut previews, true), (&mut files, false)] {
            if time.began.elapsed() >= time.begun_within {
                return fault.map_or(Ok(ended), Err);
            }
            let Some(id) = jobs.pop_front() else { continue };
            let made = if is_preview {
                attempts::run::<PreviewDetails>(app, tenant, (id, time)).await
            } else {
                attempts::run::<FileContent>(app, tenant, (id, time)).await
            };
            let count = if is_preview { &mut ended.previews } else { &mut ended.files };
            match made {
                Ok(is_ended) => *count = count.saturating_add(is_ended.into()),
                Err(problem) => fault = fault.or(Some(problem)),
            }
        }
    }
    fault.map_or(Ok(ended), Err)
}

/// The due jobs of a kind that are listed at once. Others follow when these have ended.
async fn listed(due: &mut DueList, kind: JobKind) -> Result<VecDeque<JobId>, Problem> {
    let mut jobs = VecDeque::new();
    for job in due.next(kind).await? {
        match job.id(JobId::parse) {
            Ok(id) => jobs.push_back(id),
            Err(error) => tracing::error!(kind = kind.name(), %error, "a job is listed under no id"),
        }
    }
    Ok(jobs)
}
