//! Goes on with the jobs of a tenant that go through lists, a slice of one kind after the other. Each kind has a turn in each run, and
//! each job of a kind in a few runs: a job that does not go on is left to a later run, and keeps no other. Settlement runs follow one
//! another, the oldest first.

use crate::{bank_files, cards, erasures, subjects};
use ledger_core::grants::bulk::GrantDetails;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::JobKind;
use ledger_core::settlement_runs::RunDetails;
use ledger_core::wind_downs::WindDownDetails;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::problem::Problem;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The kinds.
const KINDS: [JobKind; 6] = [
    JobKind::Grant,
    JobKind::CardBatch,
    JobKind::WindDown,
    JobKind::SettlementRun,
    JobKind::BankFile,
    JobKind::Erasure,
];
/// The most jobs of a kind that a run knows.
const JOBS_MAX: usize = 500;

/// The time that the jobs of a run have.
#[derive(Clone, Copy, Debug)]
pub struct JobsTime {
    /// After this time no slice is begun.
    pub all: Duration,
    /// After this time a slice begins nothing more, and is recorded.
    pub slice: Duration,
}

impl JobsTime {
    /// The time in a call of the function, which has 90 seconds: expired holds have 20 of them before, and bonuses 10.
    pub const OF_A_CALL: Self = Self { all: Duration::from_secs(40), slice: Duration::from_secs(4) };
}

/// Goes on with the jobs; returns how many subjects they are done with. The first problem is returned when the time is over.
pub(crate) async fn run(app: &App, tenant: &Tenant, (due, time): (&mut DueList, JobsTime)) -> Result<usize, Problem> {
    let began = Instant::now();
    let (mut ring, mut fault, mut done) = (VecDeque::new(), None, 0_usize);
    for kind in KINDS {
        let jobs = listed(due, kind).await?;
        if !jobs.is_empty() {
            ring.push_back((kind, if is_in_order(kind) { jobs } else { rotated(app, jobs) }));
        }
    }
    let mut ring = rotated(app, ring);
    while began.elapsed() < time.all {
        let Some((kind, mut jobs)) = ring.pop_front() else { break };
        if let Some(id) = jobs.pop_front() {
            let until = Instant::now().checked_add(time.slice);
            match slice(app, tenant, (kind, id), until.unwrap_or(began)).await {
                Ok(Some(subjects)) => {
                    done = done.saturating_add(subjects);
                    if is_in_order(kind) {
                        jobs.push_front(id);
                    } else {
                        jobs.push_back(id);
                    }
                }
                Ok(None) => {}
                Err(problem) => {
                    tracing::warn!(%tenant, job = %id, code = problem.code(), "a job does not go on");
                    fault = fault.or(Some(problem));
                }
            }
            ring.push_back((kind, jobs));
        }
    }
    fault.map_or(Ok(done), Err)
}

/// Whether the oldest job of a kind goes on until it is done, or waits: the days that settlement runs close follow one another.
const fn is_in_order(kind: JobKind) -> bool {
    match kind {
        JobKind::SettlementRun => true,
        JobKind::Grant
        | JobKind::CardBatch
        | JobKind::WindDown
        | JobKind::BankFile
        | JobKind::Erasure
        | JobKind::File
        | JobKind::TermsPreview => false,
    }
}

/// The due jobs of a kind.
async fn listed(due: &mut DueList, kind: JobKind) -> Result<VecDeque<JobId>, Problem> {
    let mut jobs = VecDeque::new();
    while jobs.len() < JOBS_MAX {
        let listed = due.next(kind).await?;
        if listed.is_empty() {
            return Ok(jobs);
        }
        for job in &listed {
            match job.id(JobId::parse) {
                Ok(id) => jobs.push_back(id),
                Err(error) => tracing::error!(kind = kind.name(), %error, "a job is listed under no id"),
            }
        }
    }
    tracing::error!(kind = kind.name(), jobs = jobs.len(), "more jobs are due than a run knows");
    Ok(jobs)
}

/// Begins anywhere: what is first must not always be first.
fn rotated<T>(app: &App, mut all: VecDeque<T>) -> VecDeque<T> {
    let first = usize::try_from(app.ledger().entropy().jitter()).unwrap_or(0);
    all.rotate_left(first.checked_rem(all.len()).unwrap_or(0));
    all
}

/// Goes on with a job for a slice; returns how many subjects it is done with. `None` if it is over, waits, or another worker has
/// written it.
async fn slice(
    app: &App,
    tenant: &Tenant,
    (kind, id): (JobKind, JobId),
    until: Instant,
) -> Result<Option<usize>, Problem> {
    match kind {
        JobKind::Grant => subjects::slice::<GrantDetails>(app, tenant, (id, until)).await,
        JobKind::WindDown => subjects::slice::<WindDownDetails>(app, tenant, (id, until)).await,
        JobKind::SettlementRun => subjects::slice::<RunDetails>(app, tenant, (id, until)).await,
        JobKind::CardBatch => cards::slice(app, tenant, id).await,
        JobKind::BankFile => bank_files::slice(app, tenant, id).await,
        JobKind::Erasure => erasures::slice(app, tenant, id).await,
        JobKind::File | JobKind::TermsPreview => Ok(None),
    }
}
