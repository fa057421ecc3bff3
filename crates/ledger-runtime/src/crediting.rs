//! Credits merchants with the records of their payments and refunds. What the table's stream tells comes at
//! once; a tick sweeps every merchant of a tenant. Both may come at any time and as often as they like: a
//! merchant has one worker at a time, and a record counts once by its own condition.
//!
//! Whoever finds a merchant taken leaves its records to the holder or to the next tick: the marks stay in the
//! index until they are credited, so that nothing is lost by leaving.

mod balances;
mod held;

pub use balances::MerchantBalance;

use crate::app::App;
use crate::execute::Attempt;
use crate::lambda::Due;
use crate::metrics::Metric;
use crate::problem::Problem;
use futures::future::join_all;
use held::Held;
use http::StatusCode;
use ledger_core::dynamo::{Item, read};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{Partition, attr};
use ledger_core::operation::Operation;
use ledger_core::ops::crediting::{Crediting, Lease, Uncredited};
use ledger_core::reads;
use ledger_core::retry;
use ledger_core::time::Timestamp;
use ledger_core::transaction::BuildError;
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
const TAKE_RETRIES: u32 = 4;

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
    let mut run = Run {
        app,
        tenant: &due.tenant,
        is_sweep: due.changed.is_empty(),
        began: Instant::now(),
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
        run.credit_all(named).await?;
    }
    run.fault.map_or(Ok(run.done), Err)
}

struct Run<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    is_sweep: bool,
    began: Instant,
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

    /// Every merchant of the tenant.
    async fn sweep(&mut self) -> Result<(), Problem> {
        let mut after = None;
        loop {
            let list = reads::merchants(self.tenant).after(after.take()).limit(PAGE);
            let page = self.app.dynamo().query(&list).await?;
            let merchants = page.iter().map(|item| read::parsed(item, attr::OWNER_SK, MerchantId::parse));
            let merchants: Vec<MerchantId> = merchants.collect::<Result<_, _>>()?;
            self.credit_all(merchants.iter().map(|merchant| (*merchant, Vec::new())).collect()).await?;
            match merchants.last() {
                Some(last) if page.len() >= PAGE && !self.is_over() => after = Some(last.to_string()),
                Some(_) | None => return Ok(()),
            }
        }
    }

    async fn credit_all(&mut self, merchants: Vec<(MerchantId, Vec<Uncredited>)>) -> Result<(), Problem> {
        for few in merchants.chunks(AT_ONCE) {
            if self.is_over() {
                return Ok(());
            }
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
        let Some(lease) = self.take(merchant).await? else {
            return Ok(OfMerchant { left: true, ..work.into_done() });
        };
        let held = Held { app: self.app, tenant: self.tenant, lease: &lease, until: self.ends_at() };
        let credited = held.credit(&mut work).await;
        // Whatever happened, nobody need wait for a lease that nobody uses.
        let released = held.release().await;
        credited.and(released)?;
        Ok(work.into_done())
    }

    /// The merchant, if nobody has it.
    async fn take(&self, merchant: MerchantId) -> Result<Option<Lease>, Problem> {
        let (ledger, key) = (self.app.ledger(), Partition::merchant(self.tenant, merchant).crediting());
        let retries = if self.is_sweep { 0 } else { TAKE_RETRIES };
        let mut tries = 0;
        loop {
            let seen = self.app.dynamo().get(&key).await?.as_ref().map(Crediting::read).transpose()?;
            let taken = Lease::take(self.tenant, merchant, seen.as_ref(), self.app.now());
            if let Some((lease, transaction)) = taken.map_err(|error| unbuilt(self.app, self.tenant, &error))? {
                match ledger.attempt(self.tenant, Operation::Crediting, &transaction).await? {
                    Attempt::Applied => return Ok(Some(lease)),
                    // Another was first.
                    Attempt::Rejected(_) => {}
                    Attempt::MarkerStands(_) => return Err(unmarked(self.app, self.tenant)),
                }
            }
            if tries >= retries {
                return Ok(None);
            }
            tokio::time::sleep(retry::backoff(tries, ledger.entropy().jitter())).await;
            tries = tries.saturating_add(1);
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.ends_at()
    }

    fn ends_at(&self) -> Instant {
        self.began.checked_add(RUN).unwrap_or(self.began)
    }
}

/// A record that is due, or nothing. One that cannot be read is a fault of ours, and the others go on.
fn readable(tenant: &Tenant, item: &Item, fault: &mut Option<Problem>) -> Option<Uncredited> {
    match Uncredited::read(tenant, item) {
        Ok(record) => record,
        Err(error) => {
            let key = read::key_text(item, attr::SK).unwrap_or_default();
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
