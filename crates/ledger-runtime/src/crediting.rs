//! Credits merchants with the records of their payments and refunds. What the table's stream tells comes at
//! once; a tick sweeps the merchants of a tenant, and begins where the time of the last sweep was over. Both may
//! come at any time and as often as they like: a merchant has one worker at a time, and a record counts once by
//! its own condition.
//!
//! Whoever finds a merchant taken leaves its records to the holder or to the next tick: the marks stay in the
//! index until they are credited, so that nothing is lost by leaving.

mod balances;
mod held;
mod take;

pub use balances::MerchantBalance;
pub(crate) use take::{release, take};

use crate::app::App;
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::worker::Due;
use futures::future::join_all;
use held::Held;
use http::StatusCode;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, attr};
use ledger_core::operation::Operation;
use ledger_core::ops::crediting::{Uncredited, move_sweep, sweep_after};
use ledger_core::reads;
use ledger_core::time::Timestamp;
use ledger_core::transaction::{BuildError, ProjectedRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// How many merchants are credited at once.
const AT_ONCE: usize = 4;
/// How many merchants are listed at a time.
const PAGE: usize = 100;
/// A run begins nothing after this: a function's time is bounded, and a later run goes on.
const RUN: Duration = Duration::from_secs(40);
/// How often a run that was woken by records tries again to take a merchant that another has: about a second
/// in all. A tick does not wait, for the next one comes in a minute.
const TAKE_TRIES: u32 = 5;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Credited {
    /// Records that were added to their merchants' balances.
    pub records: usize,
    /// Merchants that were left to another worker.
    pub left: usize,
}

/// Credits the merchants of these records, or, where there are none, every merchant of the tenant.
///
/// # Errors
/// 503 if the store did not tell; a later run goes on. 500 if a record could not be credited, after all others.
pub async fn run(app: &App, due: &Due) -> Result<Credited, Problem> {
    run_within(app, due, RUN).await
}

/// The same within another time. However short it is, some merchants get their turn.
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
        // Zero is worth a line: without it the alarm would not end.
        let lag = run.oldest.map_or(Duration::ZERO, |since| app.now().since(since));
        app.metrics().measure(Metric::CreditingLag, run.tenant, Operation::Crediting, lag);
    } else {
        let named = run.named(&due.changed);
        for few in named.chunks(AT_ONCE) {
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
    /// Since when the oldest record that was found has been due.
    oldest: Option<Timestamp>,
    /// What could not be credited; the others need not wait for it.
    fault: Option<Problem>,
}

/// What became of one merchant.
#[derive(Default)]
struct OfMerchant {
    records: usize,
    left: bool,
    oldest: Option<Timestamp>,
    fault: Option<Problem>,
}

impl Run<'_> {
    /// The merchants of records that have come, and these records: the index may not have them yet.
    fn named(&mut self, changed: &[Item]) -> Vec<(MerchantId, Vec<Uncredited>)> {
        let mut named = BTreeMap::<MerchantId, Vec<Uncredited>>::new();
        for item in changed {
            if let Some(record) = readable(self.tenant, item, &mut self.fault) {
                named.entry(record.merchant()).or_default().push(record);
            }
        }
        named.into_iter().collect()
    }

    /// The merchants of the tenant, from where the last sweep's time was over, once around.
    async fn sweep(&mut self) -> Result<(), Problem> {
        let dynamo = self.app.dynamo();
        let seen = sweep_after(dynamo.get(&keys::crediting_sweep(self.tenant)).await?.as_ref())?;
        let mut reached = seen;
        let swept = self.sweep_from(seen, &mut reached).await;
        let next = if matches!(swept, Ok(true)) { None } else { reached };
        // Whatever keeps one merchant from being credited does not keep the next sweep at it.
        let noted = self.begin_next_after(seen, next).await;
        swept.map(|_| ()).and(noted)
    }

    /// Credits merchants behind `seen` and then those up to it, and notes how far it came. Whether it came around.
    async fn sweep_from(
        &mut self,
        seen: Option<MerchantId>,
        reached: &mut Option<MerchantId>,
    ) -> Result<bool, Problem> {
        let ways = [(seen, None), (None, seen)];
        for (from, until) in ways.into_iter().take(if seen.is_some() { 2 } else { 1 }) {
            let mut after = from;
            loop {
                let list = reads::merchants(self.tenant).after(after.map(|id| id.to_string())).limit(PAGE);
                let page = self.app.dynamo().query(&list).await?;
                let merchants = page.iter().map(|item| item.parsed(attr::OWNER_SK, MerchantId::parse));
                let mut merchants: Vec<MerchantId> = merchants.collect::<Result<_, _>>()?;
                after = merchants.last().copied();
                let is_last = page.len() < PAGE || until.is_some_and(|until| after >= Some(until));
                merchants.retain(|merchant| until.is_none_or(|until| *merchant <= until));
                for few in merchants.chunks(AT_ONCE) {
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
            // Rejected: another sweep has moved on meanwhile, and its place is as good.
            WriteOutcome::Applied | WriteOutcome::Rejected(_) => Ok(()),
            WriteOutcome::MarkerExists(_) => Err(unmarked(self.app, self.tenant)),
        }
    }

    /// Credits a few merchants side by side.
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
                // A fault of ours, which is logged where it was met.
                Err(problem) if problem.status() == StatusCode::INTERNAL_SERVER_ERROR => self.fault = Some(problem),
                // Without the store none of them gets on.
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }

    /// Credits a merchant with these records and with what else is due to it.
    async fn credit(&self, merchant: MerchantId, records: &[Uncredited]) -> Result<OfMerchant, Problem> {
        let shards = self.app.merchant(self.tenant, merchant).await?.shards;
        let mut work = held::Work::new(self.tenant, merchant, shards);
        work.add(records.iter().cloned());
        if !work.any(self.app).await? {
            return Ok(work.into_done());
        }
        let tries = if self.is_sweep { 1 } else { TAKE_TRIES };
        let Some(held) = take(self.app, (self.tenant, merchant, Operation::Crediting), tries).await? else {
            return Ok(OfMerchant { left: true, ..work.into_done() });
        };
        let held = Held { app: self.app, tenant: self.tenant, merchant: &held, until: self.ends_at() };
        let credited = held.credit(&mut work).await;
        // Also after a fault: no other worker is to wait for a lease that is not used.
        let released = release(self.app, (self.tenant, Operation::Crediting), held.merchant).await;
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

/// A record that is due, or nothing. One that cannot be read is a fault of ours, and the others go on.
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
    app.ledger().broken(tenant, Operation::Crediting, "a crediting met a marker")
}
