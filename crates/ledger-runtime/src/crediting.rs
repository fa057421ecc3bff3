//! Credits merchants with the records of their payments and refunds.
//!
//! Records from the table's stream are credited at once. A tick sweeps all merchants of a tenant, beginning where the
//! last sweep ran out of time. Runs may overlap and repeat: a lease lets one worker at a time credit a merchant, and a
//! condition on each record lets it be credited once.
//!
//! A run that finds a merchant leased leaves its records to the lease holder or to the next tick. A record keeps its
//! due index entry until it is credited, so none is lost.

mod balances;
mod held;
mod take;

pub use balances::{MerchantBalance, MerchantBalances};
pub(crate) use take::{release, take};

use crate::app::App;
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::worker::Due;
use futures::future::join_all;
use held::Held;
use http::StatusCode;
use ledger_core::crediting::{Uncredited, move_sweep, sweep_after};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, attr};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::time::Timestamp;
use ledger_core::transaction::{BuildError, ProjectedRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// How many merchants are credited concurrently.
const CONCURRENCY: usize = 4;
/// How many merchants one query lists.
const PAGE_ITEMS: usize = 100;
/// A run begins no work after this, because a function's time is limited. A later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(40);
/// How often a run woken by records tries to lease a merchant that another worker holds: about a second in all. A tick
/// tries once, because the next one comes in a minute.
const TAKE_TRIES: u32 = 5;

/// What a run credited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Credited {
    /// Records that were added to their merchants' balances.
    pub records: usize,
    /// Merchants that another worker had leased.
    pub left: usize,
}

/// Credits the merchants of these records, or every merchant of the tenant if there are none.
///
/// # Errors
/// 503 if the table did not answer; a later run continues. 500 if a record could not be credited, after all others.
pub async fn run(app: &App, due: &Due) -> Result<Credited, Problem> {
    run_within(app, due, RUN_TIME_MAX).await
}

/// Credits as [`run`] within another time limit. Even with a limit of 0, some merchants are credited.
///
/// # Errors
/// As [`run`].
pub async fn run_within(app: &App, due: &Due, time: Duration) -> Result<Credited, Problem> {
    let mut run = Run {
        app,
        tenant: &due.tenant,
        is_sweep: due.changed.is_empty(),
        began: Instant::now(),
        time,
        done: Credited::default(),
        oldest: None,
        fault: None,
    };
    if run.is_sweep {
        run.sweep().await?;
        // Zero is measured too, because the alarm ends only on a value.
        let lag = run.oldest.map_or(Duration::ZERO, |since| app.now().since(since));
        app.metrics().measure(Metric::CreditingLag, run.tenant, Operation::Crediting, lag);
    } else {
        let named = run.named(&due.changed);
        for few in named.chunks(CONCURRENCY) {
            run.credit_some(few).await?;
            if run.is_over() {
                break;
            }
        }
    }
    run.fault.map_or(Ok(run.done), Err)
}

struct Run<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    is_sweep: bool,
    began: Instant,
    time: Duration,
    done: Credited,
    /// When the oldest record found became due.
    oldest: Option<Timestamp>,
    /// The last fault of a merchant or record. The others are credited all the same.
    fault: Option<Problem>,
}

/// The result of one merchant.
#[derive(Default)]
struct OfMerchant {
    records: usize,
    left: bool,
    oldest: Option<Timestamp>,
    fault: Option<Problem>,
}

impl Run<'_> {
    /// Groups records from the stream by merchant. The index may not list them yet.
    fn named(&mut self, changed: &[Item]) -> Vec<(MerchantId, Vec<Uncredited>)> {
        let mut named = BTreeMap::<MerchantId, Vec<Uncredited>>::new();
        for item in changed {
            if let Some(record) = readable(self.tenant, item, &mut self.fault) {
                named.entry(record.merchant()).or_default().push(record);
            }
        }
        named.into_iter().collect()
    }

    /// Credits the tenant's merchants once around, beginning where the last sweep ran out of time.
    async fn sweep(&mut self) -> Result<(), Problem> {
        let dynamo = self.app.dynamo();
        let seen = sweep_after(dynamo.get(&keys::crediting_sweep(self.tenant)).await?.as_ref())?;
        let mut reached = seen;
        let swept = self.sweep_from(seen, &mut reached).await;
        let next = if matches!(swept, Ok(true)) { None } else { reached };
        // The place is stored even after an error, so that the next sweep begins behind the merchant that failed.
        let noted = self.begin_next_after(seen, next).await;
        swept.map(|_| ()).and(noted)
    }

    /// Credits the merchants after `seen`, then those up to it. Returns whether all were reached.
    async fn sweep_from(
        &mut self,
        seen: Option<MerchantId>,
        reached: &mut Option<MerchantId>,
    ) -> Result<bool, Problem> {
        let ways = [(seen, None), (None, seen)];
        for (from, until) in ways.into_iter().take(if seen.is_some() { 2 } else { 1 }) {
            let mut after = from;
            loop {
                let list = reads::merchants(self.tenant);
                let list = list.after(after.map(|id| id.to_string())).limit(PAGE_ITEMS);
                let page = self.app.dynamo().query(&list).await?;
                let merchants = page.iter().map(|item| item.parsed(attr::OWNER_SK, MerchantId::parse));
                let mut merchants: Vec<MerchantId> = merchants.collect::<Result<_, _>>()?;
                after = merchants.last().copied();
                let is_last = page.len() < PAGE_ITEMS || until.is_some_and(|until| after >= Some(until));
                merchants.retain(|merchant| until.is_none_or(|until| *merchant <= until));
                for few in merchants.chunks(CONCURRENCY) {
                    *reached = few.last().copied().or(*reached);
                    self.credit_some(&few.iter().map(|merchant| (*merchant, Vec::new())).collect::<Vec<_>>()).await?;
                    if self.is_over() {
                        return Ok(false);
                    }
                }
                if is_last || after.is_none() {
                    break;
                }
            }
        }
        Ok(true)
    }

    async fn begin_next_after(&self, seen: Option<MerchantId>, next: Option<MerchantId>) -> Result<(), Problem> {
        let moved = move_sweep(self.tenant, seen, next, self.app.now());
        let Some(transaction) = moved.map_err(|error| unbuilt(self.app, self.tenant, &error))? else { return Ok(()) };
        match self.app.ledger().attempt(self.tenant, Operation::Crediting, &transaction).await? {
            // Rejected: another sweep has moved the place. Either place is valid.
            WriteOutcome::Applied | WriteOutcome::Rejected(_) => Ok(()),
            WriteOutcome::MarkerExists(_) => Err(unmarked(self.app, self.tenant)),
        }
    }

    /// Credits a few merchants concurrently.
    async fn credit_some(&mut self, few: &[(MerchantId, Vec<Uncredited>)]) -> Result<(), Problem> {
        let this = &*self;
        let ended = join_all(few.iter().map(|(merchant, records)| this.credit(*merchant, records))).await;
        for done in ended {
            match done {
                Ok(of) => {
                    self.done.records = self.done.records.saturating_add(of.records);
                    self.done.left = self.done.left.saturating_add(usize::from(of.left));
                    self.oldest = [self.oldest, of.oldest].into_iter().flatten().min();
                    self.fault = self.fault.take().or(of.fault);
                }
                // A fault in one merchant, logged where it occurred.
                Err(problem) if problem.status() == StatusCode::INTERNAL_SERVER_ERROR => self.fault = Some(problem),
                // The table does not answer, so no other merchant can be credited.
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }

    /// Credits a merchant with these records and with all others that are due.
    async fn credit(&self, merchant: MerchantId, records: &[Uncredited]) -> Result<OfMerchant, Problem> {
        let shards = self.app.merchant(self.tenant, merchant).await?.shards;
        let mut work = held::Work::new(self.tenant, merchant, shards);
        work.add(records.iter().cloned());
        if !work.any(self.app).await? {
            return Ok(work.into_done());
        }
        let records = self.app.terms(self.tenant).await?.records;
        let tries = if self.is_sweep { 1 } else { TAKE_TRIES };
        let Some(held) = take(self.app, (self.tenant, merchant, Operation::Crediting), tries).await? else {
            return Ok(OfMerchant { left: true, ..work.into_done() });
        };
        let mut held = Held { app: self.app, tenant: self.tenant, merchant: held, records, until: self.ends_at() };
        let credited = held.credit(&mut work).await;
        // Also after a fault, so that no worker waits for an unused lease.
        let released = release(self.app, (self.tenant, Operation::Crediting), &held.merchant).await;
        credited.and(released)?;
        Ok(work.into_done())
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.ends_at()
    }

    fn ends_at(&self) -> Instant {
        self.began.checked_add(self.time).unwrap_or(self.began)
    }
}

/// Returns the record, or `None` if it is not due. An unreadable record is logged, kept as `fault`, and skipped.
fn readable(tenant: &Tenant, item: &Item, fault: &mut Option<Problem>) -> Option<Uncredited> {
    match Uncredited::read(tenant, item) {
        Ok(record) => record,
        Err(error) => {
            let key = item.key_text(attr::SK).unwrap_or_default();
            tracing::error!(%tenant, key, %error, "a record cannot be credited");
            *fault = Some(Problem::internal());
            None
        }
    }
}

fn unbuilt(app: &App, tenant: &Tenant, error: &BuildError) -> Problem {
    app.ledger().broken(tenant, Operation::Crediting, &error.to_string())
}

fn unmarked(app: &App, tenant: &Tenant) -> Problem {
    app.ledger().broken(tenant, Operation::Crediting, "a crediting transaction found a marker")
}
