//! Seals the audit trail of a tenant: adds records that are in no segment yet to the chain.
//!
//! A tick runs it, outside of any request. One worker at a time seals a tenant's trail; if two run at once, each record
//! still gets into one segment only.
//!
//! Journal entries are due once they are published, trail records from the start. Acts of the operator's staff have no
//! due index entry: they are listed by the time in their ids.

mod read;
mod verify;

pub use verify::{OVERDUE_AFTER, Verified, Verify, verify};

use crate::app::App;
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Shards};
use ledger_core::lease::Leased;
use ledger_core::operation::Operation;
use ledger_core::sealing::{BatchRejection, RECORDS_MAX, Sealable, SealedDay, Sealing, Trail, unmark};
use ledger_core::time::{Timestamp, UtcDay};
use ledger_core::transaction::{BuildError, Transaction};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The time after which a run starts nothing more: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(15);
/// The longest time between the creation of an act's id and its commit.
const MARGIN: Duration = Duration::from_secs(10 * 60);

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sealed {
    /// The number of records that were sealed.
    pub records: usize,
    /// The number of segments that were written for them.
    pub segments: usize,
    /// Whether another worker held the trail's lease.
    pub left: bool,
}

/// Seals what is due in a tenant's trail.
///
/// # Errors
/// 503 if the store cannot be read or written; a later run continues. 500 if a record could not be sealed, after all
/// others.
pub async fn run(app: &App, tenant: &Tenant, shards: Shards) -> Result<Sealed, Problem> {
    let mut run =
        Run { app, tenant, began: Instant::now(), done: Sealed::default(), oldest: None, fault: None, is_short: false };
    run.seal(shards).await?;
    // A lag of 0 is reported too: without it the alarm would not clear.
    let lag = run.oldest.map_or(Duration::ZERO, |since| app.now().since(since));
    app.metrics().measure(Metric::SealingLag, tenant, Operation::Sealing, lag);
    run.fault.map_or(Ok(run.done), Err)
}

struct Run<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    began: Instant,
    done: Sealed,
    /// The time of the oldest unsealed record that was found.
    oldest: Option<Timestamp>,
    /// The problem of a record that could not be sealed; the others are sealed all the same.
    fault: Option<Problem>,
    /// Whether the run's time ended before all listed records were sealed.
    is_short: bool,
}

impl Run<'_> {
    async fn seal(&mut self, shards: Shards) -> Result<(), Problem> {
        let began = self.app.now();
        let seen = self.app.dynamo().get(&keys::sealing(self.tenant)).await?;
        let seen = seen.as_ref().map(Sealing::read).transpose()?;
        let acts_until = seen.as_ref().map_or(Timestamp::from_millis(0), |seen| seen.acts_until);
        let mut listed = read::Listed::of(self.tenant, shards, acts_until);
        let mut found = self.next(&mut listed).await?;
        if found.is_empty() {
            return Ok(());
        }
        let taken = self.built(Trail::take(self.tenant, seen.as_ref(), began))?;
        let Some((mut trail, take)) = taken else {
            self.done.left = true;
            return Ok(());
        };
        match self.write(&take).await? {
            WriteOutcome::Applied => {}
            // Another worker took the lease first.
            WriteOutcome::Rejected(_) => {
                self.done.left = true;
                return Ok(());
            }
            WriteOutcome::MarkerExists(_) => return Err(self.broken("a lease found a marker")),
        }
        while !found.is_empty() && !self.is_over() && !self.done.left {
            for (day, records) in std::mem::take(&mut found) {
                trail = self.seal_day(trail, day, records).await?;
            }
            if !self.done.left {
                found = self.next(&mut listed).await?;
            }
        }
        if self.done.left {
            return Ok(());
        }
        // If a listed record was not sealed, `acts_until` stays, so that the record is listed again.
        let is_done = found.is_empty() && self.fault.is_none() && !self.is_short;
        let until = if is_done { began.minus(MARGIN).max(acts_until) } else { acts_until };
        let release = self.built(trail.release(until, self.app.now()))?;
        self.write(&release).await.map(|_| ())
    }

    /// The next due records, by day, oldest first; empty if there are no more.
    async fn next(&mut self, listed: &mut read::Listed) -> Result<BTreeMap<UtcDay, Vec<Sealable>>, Problem> {
        let (mut found, mut count) = (BTreeMap::<UtcDay, Vec<Sealable>>::new(), 0_usize);
        // Collected over several shards, so that segments are full.
        while count < RECORDS_MAX {
            let Some(page) = listed.next(self.app, &mut self.fault).await? else { break };
            if !page.sealed.is_empty() {
                // A late publication has restored the due index entry of a sealed record.
                for few in page.sealed.chunks(ledger_core::transaction::MAX_ITEMS) {
                    let unmarked = self.built(unmark(few))?;
                    let _ = self.write(&unmarked).await?;
                }
            }
            count = count.saturating_add(page.waiting.len());
            for record in page.waiting {
                self.oldest = Some(self.oldest.map_or(record.at(), |oldest| oldest.min(record.at())));
                found.entry(record.at().utc_day()).or_default().push(record);
            }
        }
        for records in found.values_mut() {
            records.sort_by(|a, b| (a.at(), a.key()).cmp(&(b.at(), b.key())));
        }
        Ok(found)
    }

    /// Seals records of one day, as many per segment as fit.
    async fn seal_day(
        &mut self,
        mut trail: Leased<Trail>,
        day: UtcDay,
        mut records: Vec<Sealable>,
    ) -> Result<Leased<Trail>, Problem> {
        while !records.is_empty() && !self.is_over() && !self.done.left {
            let sealed = self.app.dynamo().get(&keys::sealed_day(self.tenant, day)).await?;
            let sealed = sealed.as_ref().map(SealedDay::read).transpose()?;
            let batch = self.built(trail.batch(day, sealed.as_ref(), &records, self.app.now()))?;
            let Some(batch) = batch else { break };
            let rejection = match self.write(batch.transaction()).await? {
                WriteOutcome::Applied => {
                    self.done.records = self.done.records.saturating_add(batch.records());
                    self.done.segments = self.done.segments.saturating_add(1);
                    records.drain(..batch.records());
                    trail = batch.into_next();
                    continue;
                }
                WriteOutcome::Rejected(rejection) => rejection,
                WriteOutcome::MarkerExists(_) => return Err(self.broken("a segment found a marker")),
            };
            let dropped = match batch.explain(&rejection) {
                Some(BatchRejection::LeaseLost) => {
                    self.done.left = true;
                    break;
                }
                Some(BatchRejection::Sealed(positions)) => positions,
                Some(BatchRejection::Missing(positions)) => {
                    self.fault = Some(self.broken("a record of the audit trail was removed before it was sealed"));
                    positions
                }
                None => Vec::new(),
            };
            if dropped.is_empty() {
                return Err(self.broken("the audit trail's chain was changed: verify it"));
            }
            let mut at = 0_usize;
            records.retain(|_| {
                let stays = !dropped.contains(&at);
                at = at.saturating_add(1);
                stays
            });
        }
        self.is_short |= !records.is_empty();
        Ok(trail)
    }

    async fn write(&self, transaction: &Transaction) -> Result<WriteOutcome, Problem> {
        self.app.ledger().attempt(self.tenant, Operation::Sealing, transaction).await
    }

    fn built<T>(&self, built: Result<T, BuildError>) -> Result<T, Problem> {
        built.map_err(|error| self.broken(&error.to_string()))
    }

    fn broken(&self, what: &str) -> Problem {
        self.app.ledger().broken(self.tenant, Operation::Sealing, what)
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= RUN_TIME_MAX
    }
}
