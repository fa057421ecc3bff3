//! Reconciliation: finds differences between the items of the table.
//!
//! A run reads the whole table, sorts each item's facts by their groups, and confirms each suspicion with a second read
//! before it reports a break. One worker at a time holds a run. A run whose worker stopped is started again: a run
//! changes nothing but its own record.

mod announce;
mod confirm;
pub mod export;
mod gather;
mod objects;
mod outcome;
mod read;
mod report;
mod spill;

pub use objects::{Body, ObjectError, Objects};
pub use report::ReportFiles;

use crate::announcer::Announcer;
use crate::app::App;
use crate::due::DueList;
use crate::figures;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::psp::PspObject;
use crate::topups::PspExecutor;
use confirm::Verdict;
use http::StatusCode;
use ledger_core::failure::Failure;
use ledger_core::figures::Difference;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, TotalsOf, Work};
use ledger_core::lease::Leased;
use ledger_core::operation::Operation;
use ledger_core::reconcile::run::{self, BREAKS_MAX, Run, RunState, Tally};
use ledger_core::reconcile::{Finding, Group, Limits, Scope, of_intent, of_payout, of_refund};
use ledger_core::transaction::{BuildError, Transaction};
use read::{Reading, unkept};
use serde::Serialize;
use spill::{Divided, Spill};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The interval at which a run records its progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// The number of due runs that one call reads.
const RUNS: usize = 10;
/// The number of times that a run is started before it fails.
const BEGINS_MAX: i64 = 5;

/// The limits and sizes that a run works with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of segments of the table that are read in parallel.
    pub segments: u16,
    /// The read capacity units that a run may use per second.
    pub units_per_second: u64,
    /// The number of parts that the groups are divided into: memory holds one part.
    pub parts: u16,
    /// The directory where facts are kept while they are sorted.
    pub directory: PathBuf,
    /// How late work may be before it is a suspicion.
    pub limits: Limits,
    /// The period, back from the start of the run, that the PSP lists.
    pub provider_since: Duration,
    /// The pause before a difference between the PSP and the books is read again.
    pub patience: Duration,
    /// The longest time that an index is expected to lag behind the table.
    pub index_lag: Duration,
    /// The number of suspicions that are confirmed; the others count as unsettled.
    pub suspects_max: usize,
    /// The number of breaks that are stored as items.
    pub stored_max: usize,
    /// The time after which a run fails.
    pub longest: Duration,
    /// Whether the nightly run is started as well.
    pub nightly: bool,
}

impl Settings {
    /// The settings of a deployed function.
    #[must_use]
    pub fn of(app: &App) -> Self {
        Self {
            segments: 4,
            units_per_second: app.config().reconcile.units_per_second,
            parts: 32,
            directory: std::env::temp_dir(),
            limits: Limits::default(),
            provider_since: Duration::from_secs(7 * 24 * 60 * 60),
            patience: Duration::from_secs(2),
            index_lag: Duration::from_secs(1),
            suspects_max: 5_000,
            stored_max: 1_000,
            longest: Duration::from_secs(13 * 60),
            nightly: true,
        }
    }
}

/// The result of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reconciled {
    /// The number of runs that ended.
    pub runs: usize,
    /// The number of breaks that they found.
    pub breaks: i64,
}

/// Where a run's result is sent. Each may be absent.
#[derive(Clone, Default)]
pub struct Outlets {
    /// Where reports are stored.
    pub reports: Option<Arc<dyn ReportFiles>>,
    /// Where events about breaks are sent.
    pub announcer: Option<Arc<dyn Announcer>>,
}

/// Runs what is due for a tenant: requested runs and the nightly run. Then announces breaks.
///
/// # Errors
/// 503 if the store cannot be read or written (a later call starts the run again), or if breaks could not be announced
/// (a later call announces them). 500 if a run failed.
pub async fn run_due(
    (app, outlets): (&App, &Outlets),
    psp_executor: Option<&PspExecutor>,
    (tenant, due): (&Tenant, &mut DueList),
    settings: &Settings,
) -> Result<Reconciled, Problem> {
    let this = Reconciler { app, outlets, tenant, settings, psp_executor };
    let (mut done, mut unannounced) = (Reconciled::default(), Vec::new());
    for seen in this.due(due).await? {
        if seen.state == RunState::Breaks {
            unannounced.push(seen);
        } else if let Some(run) = this.run(seen).await? {
            done.runs = done.runs.saturating_add(1);
            done.breaks = done.breaks.saturating_add(run.tally.total());
            unannounced.extend((run.state == RunState::Breaks).then_some(run));
        }
    }
    // Last, so that a failed announcement does not delay another run.
    for run in &unannounced {
        this.announce(run).await?;
    }
    Ok(done)
}

struct Reconciler<'a> {
    app: &'a App,
    outlets: &'a Outlets,
    tenant: &'a Tenant,
    settings: &'a Settings,
    /// The PSP lookup, if a PSP is configured.
    psp_executor: Option<&'a PspExecutor>,
}

impl Reconciler<'_> {
    async fn due(&self, due: &mut DueList) -> Result<Vec<Run>, Problem> {
        let mut runs = Vec::new();
        if self.settings.nightly {
            runs.extend(self.night().await?);
        }
        for listed in due.next(Work::Reconciliation).await?.into_iter().take(RUNS) {
            if let Some(run) = self.get(&listed.key).await? {
                runs.push(Run::read(&run)?);
            }
        }
        Ok(runs)
    }

    /// The nightly run, if this call starts it.
    async fn night(&self) -> Result<Option<Run>, Problem> {
        let night = run::of_the_night(self.tenant, self.app.now()).map_err(|error| self.unbuilt(&error))?;
        let Some((run, begun)) = night else { return Ok(None) };
        if self.get(&keys::reconciliation(self.tenant, run.id)).await?.is_some() {
            return Ok(None);
        }
        match self.app.ledger().apply(self.tenant, Operation::Reconcile, &begun).await {
            Ok(()) => Ok(Some(run)),
            // Another worker started it first.
            Err(error) if error.failure() == Some(Failure::AlreadyExists) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs a run to its end, unless another worker holds its lease.
    async fn run(&self, seen: Run) -> Result<Option<Run>, Problem> {
        let taken = seen.take(self.tenant, self.app.now()).map_err(|error| self.unbuilt(&error))?;
        let Some((run, transaction)) = taken else { return Ok(None) };
        if !self.write(&transaction).await? {
            return Ok(None);
        }
        let mut tally = Tally::default();
        let ended = if run.fence() > BEGINS_MAX {
            tracing::error!(tenant = %self.tenant, run = %run.id, "run started too often");
            Err(Problem::internal())
        } else {
            self.reconcile(&run, &mut tally).await
        };
        let (state, findings) = match ended {
            Ok(findings) => (final_state(&tally), findings),
            // If the store is unavailable, the run stays due and is started again.
            Err(problem) if problem.status() != StatusCode::INTERNAL_SERVER_ERROR => return Err(problem),
            Err(_) => (RunState::Failed, Vec::new()),
        };
        tally.file = self.report(&run, (state, &tally), &findings).await;
        // Counted before the run ends: if this worker stops in between, the next one counts again.
        outcome::count(self.app.metrics(), self.tenant, &run.id, &tally.breaks);
        let finish = run.finish(state, &tally, self.app.now());
        let (run, finish) = finish.map_err(|error| self.unbuilt(&error))?;
        if !self.write(&finish).await? {
            return Ok(None);
        }
        self.app.metrics().count(Metric::Reconciled, self.tenant, Operation::Reconcile);
        if state == RunState::Failed {
            return Err(Problem::internal());
        }
        Ok(Some(run))
    }

    async fn reconcile(&self, run: &Leased<Run>, tally: &mut Tally) -> Result<Vec<Finding>, Problem> {
        let now = self.app.now();
        // Not the run's id: the nightly runs of all tenants have the same one.
        let name = format!("reconciliation-{}", self.app.ledger().entropy().uuid_v7(now)?);
        let spill = Spill::new(&self.settings.directory, &name, Divided::Table, self.settings.parts);
        let mut spill = spill.map_err(|error| unkept(&error))?;
        let mut scope = Scope { began_at: now, at_one_moment: false, listed: None };
        // First, so that what the PSP reports is already in the table when the table is read.
        self.ask_provider(&mut spill, &mut scope, tally).await?;
        let jitter = self.app.ledger().entropy().jitter();
        let table_and_tenant = (self.app.dynamo(), self.tenant);
        let mut reading = Reading::new(table_and_tenant, self.settings, now, jitter);
        let mut last = Instant::now();
        while reading.next(&mut spill, tally).await? {
            self.write_progress(run, tally, &mut last).await?;
        }
        let items = reading.findings;
        let mut groups = BTreeMap::<Group, Vec<Finding>>::new();
        let mut suspects = items.len();
        for part in 0..spill.parts() {
            for (group, finding) in spill.check(part, &scope).map_err(|error| unkept(&error))? {
                suspects = suspects.saturating_add(1);
                if suspects <= self.settings.suspects_max {
                    groups.entry(group).or_default().push(finding);
                }
            }
            self.write_progress(run, tally, &mut last).await?;
        }
        drop(spill);
        tally.suspects = i64::try_from(suspects).unwrap_or(i64::MAX);
        let left = suspects.saturating_sub(self.settings.suspects_max);
        tally.unsettled = tally.unsettled.saturating_add(i64::try_from(left).unwrap_or(i64::MAX));
        let mut verdicts = Vec::new();
        for suspect in items.into_iter().take(self.settings.suspects_max) {
            verdicts.push(self.confirm_item(suspect).await?);
            self.write_progress(run, tally, &mut last).await?;
        }
        for (group, suspects) in groups {
            verdicts.extend(self.confirm(&group, suspects, &scope).await?);
            self.write_progress(run, tally, &mut last).await?;
        }
        verdicts.extend(self.check_totals().await?);
        self.write_progress(run, tally, &mut last).await?;
        let findings = concluded(verdicts, tally);
        self.store(run, tally, &findings).await?;
        Ok(findings)
    }

    /// Compares the totals of closed days with their entries, and with what is listed as having some.
    async fn check_totals(&self) -> Result<Vec<Verdict>, Problem> {
        let checked = figures::check(self.app, self.tenant, self.app.now().business_date()).await?;
        let unreadable = checked.unreadable.into_iter().map(|date| {
            let difference =
                Difference { expected: "readable entries".to_owned(), found: "entries that cannot be read".to_owned() };
            (TotalsOf::Tenant, date, difference)
        });
        let differing = checked.differences.into_iter().chain(unreadable);
        let differing = differing.map(|(of, date, difference)| Finding::of_totals(self.tenant, of, date, &difference));
        let unlisted = checked.unlisted.into_iter().map(|of| Finding::of_unlisted_totals(self.tenant, of));
        Ok(differing.chain(unlisted).map(|finding| Verdict::Break(Box::new(finding))).collect())
    }

    /// Adds the facts of what the PSP lists for the last days.
    async fn ask_provider(&self, spill: &mut Spill, scope: &mut Scope, tally: &mut Tally) -> Result<(), Problem> {
        "none".clone_into(&mut tally.provider);
        let Some(psp_executor) = self.psp_executor else { return Ok(()) };
        let since = scope.began_at.minus(self.settings.provider_since);
        let take = |object: PspObject| {
            let fact = match &object {
                PspObject::Intent(intent) => of_intent(self.tenant, intent),
                PspObject::Refund(refund) => of_refund(self.tenant, refund),
                PspObject::Payout(payout) => of_payout(self.tenant, payout),
            };
            fact.map_or(Ok(()), |fact| spill.add(&fact))
        };
        // The PSP's times are in whole seconds.
        let until = scope.began_at.plus(Duration::from_secs(1));
        if psp_executor.list_all(since, until, take).await.map_err(|error| unkept(&error))? {
            scope.listed = Some((since, scope.began_at));
            "listed".clone_into(&mut tally.provider);
        } else {
            tracing::warn!(tenant = %self.tenant, "the payment provider did not list its objects");
            "unknown".clone_into(&mut tally.provider);
            // What could not be compared counts as unsettled.
            tally.unsettled = tally.unsettled.saturating_add(1);
        }
        Ok(())
    }

    /// Records the run's progress at intervals. Fails if this worker has lost the lease.
    async fn write_progress(&self, run: &Leased<Run>, tally: &Tally, last: &mut Instant) -> Result<(), Problem> {
        if last.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        *last = Instant::now();
        let progress = run.progress(tally, self.app.now()).map_err(|error| self.unbuilt(&error))?;
        if self.write(&progress).await? { Ok(()) } else { Err(Problem::busy()) }
    }

    async fn store(&self, run: &Leased<Run>, tally: &mut Tally, findings: &[Finding]) -> Result<(), Problem> {
        let stored = findings.get(..self.settings.stored_max).unwrap_or(findings);
        let mut first = 0_usize;
        for some in stored.chunks(BREAKS_MAX) {
            let written = run.store(self.tenant, first, some, self.app.now()).map_err(|error| self.unbuilt(&error))?;
            if !self.write(&written).await? {
                return Err(Problem::busy());
            }
            first = first.saturating_add(some.len());
        }
        tally.stored = i64::try_from(first).unwrap_or(i64::MAX);
        Ok(())
    }

    /// Stores the machine-readable report. A failure is only logged, since the run's record holds the same result.
    async fn report(&self, run: &Run, ended: (RunState, &Tally), findings: &[Finding]) -> Option<String> {
        let reports = self.outlets.reports.as_deref()?;
        let name = report::name(self.tenant, run);
        let lines = report::lines(self.tenant, run, ended, findings, self.app.now());
        match reports.put(&name, lines).await {
            Ok(()) => Some(name),
            Err(why) => {
                tracing::error!(tenant = %self.tenant, run = %run.id, why, "a report could not be stored");
                None
            }
        }
    }

    /// Writes a change of the run. `false` if another worker holds the lease by now.
    async fn write(&self, transaction: &Transaction) -> Result<bool, Problem> {
        self.app.ledger().apply_as_read(self.tenant, Operation::Reconcile, transaction).await
    }

    fn unbuilt(&self, error: &BuildError) -> Problem {
        self.app.ledger().broken(self.tenant, Operation::Reconcile, &error.to_string())
    }
}

/// The confirmed breaks, causes before what follows from them.
fn concluded(verdicts: Vec<Verdict>, tally: &mut Tally) -> Vec<Finding> {
    let mut findings = Vec::new();
    for verdict in verdicts {
        match verdict {
            Verdict::Break(finding) => findings.push(*finding),
            Verdict::Fine => {}
            Verdict::Unsettled => tally.unsettled = tally.unsettled.saturating_add(1),
        }
    }
    tally.breaks = outcome::in_order(&mut findings);
    findings
}

fn final_state(tally: &Tally) -> RunState {
    if !tally.breaks.is_empty() {
        RunState::Breaks
    } else if tally.unsettled > 0 || !tally.newer.is_empty() {
        RunState::Unsettled
    } else {
        RunState::Clean
    }
}
