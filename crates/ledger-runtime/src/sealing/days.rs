//! The chain of days: one worker at a time seals a tenant's trail, by a lease.
//!
//! Tenants whose trail has no lanes are sealed by this, as the release before lanes did.

use super::read::{Listed, SHARDS_AT_ONCE, Unsealed, drop_at, drop_first, unmark_sealed};
use super::writer::Writer;
use super::{ACTS_MARGIN, Pass, Sealed};
use crate::app::App;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use crate::publishing::Published;
use ledger_core::ids::Tenant;
use ledger_core::keys;
use ledger_core::lease::Leased;
use ledger_core::sealing::{BatchRejection, RECORDS_MAX, Sealable, SealedDay, Sealing, Trail};
use ledger_core::time::{Timestamp, UtcDay};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

pub(super) struct Run<'a> {
    writer: Writer<'a>,
    began: Instant,
    time_max: Duration,
    pub(super) done: Sealed,
    /// The time of the oldest unsealed record that was found.
    pub(super) oldest: Option<Timestamp>,
    /// The problem of a record that could not be sealed; the others are sealed all the same.
    pub(super) fault: Option<Problem>,
    /// Whether the run's time ended before all listed records were sealed.
    is_short: bool,
    unsealed: Unsealed,
}

impl<'a> Run<'a> {
    pub(super) fn new(app: &'a App, tenant: &'a Tenant, time_max: Duration) -> Self {
        let (began, done) = (Instant::now(), Sealed::default());
        let (writer, unsealed) = (Writer { app, tenant }, Unsealed::default());
        Self { writer, began, time_max, done, oldest: None, fault: None, is_short: false, unsealed }
    }

    pub(super) async fn seal(&mut self, pass: Pass) -> Result<Published, Problem> {
        let shards = pass.shards;
        let ended = self.seal_listed(pass).await;
        if ended.is_err() || self.fault.is_some() {
            self.unsealed.put_off(self.writer.app, self.writer.tenant, shards, |_| true).await?;
        }
        ended
    }

    async fn seal_listed(&mut self, pass: Pass) -> Result<Published, Problem> {
        let began = self.writer.app.now();
        let seen = self.writer.app.dynamo().get(&keys::sealing(self.writer.tenant)).await?;
        let seen = seen.as_ref().map(Sealing::read).transpose()?;
        let acts_until = seen.as_ref().map_or(Timestamp::from_millis(0), |seen| seen.acts_until);
        let mut listed = Listed::of(self.writer.tenant, pass, acts_until);
        let mut found = self.next(&mut listed).await?;
        if found.is_empty() {
            return Ok(listed.published());
        }
        let taken = self.writer.built(Trail::take(self.writer.tenant, seen.as_ref(), began))?;
        let Some((mut trail, take)) = taken else {
            self.done.left = true;
            return Ok(listed.published());
        };
        match self.writer.write(&take).await? {
            WriteOutcome::Applied => {}
            // Another worker took the lease first.
            WriteOutcome::Rejected(_) => {
                self.done.left = true;
                return Ok(listed.published());
            }
            WriteOutcome::MarkerExists(_) => return Err(self.writer.broken("a lease found a marker")),
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
            return Ok(listed.published());
        }
        // If a listed record was not sealed, `acts_until` stays, so that the record is listed again.
        let is_done = found.is_empty() && self.fault.is_none() && !self.is_short;
        let until = if is_done { began.minus(ACTS_MARGIN).max(acts_until) } else { acts_until };
        let release = self.writer.built(trail.release(until, self.writer.app.now()))?;
        let _ = self.writer.write(&release).await?;
        Ok(listed.published())
    }

    /// The next due records, by day, oldest first; empty if there are no more.
    async fn next(&mut self, listed: &mut Listed) -> Result<BTreeMap<UtcDay, Vec<Sealable>>, Problem> {
        let (mut found, mut count) = (BTreeMap::<UtcDay, Vec<Sealable>>::new(), 0_usize);
        // Collected over several shards, so that segments are full.
        while count < RECORDS_MAX {
            if self.is_over() {
                self.is_short |= !listed.is_done();
                break;
            }
            let Some(page) = listed.next(self.writer.app, SHARDS_AT_ONCE, &mut self.fault).await? else { break };
            unmark_sealed(self.writer.app, self.writer.tenant, &page.sealed).await?;
            // Only the seal of a lane credits merchants: such entries wait until the trail has lanes.
            let waiting: Vec<Sealable> = page.waiting.into_iter().filter(|record| record.credit().is_none()).collect();
            self.unsealed.add(page.published);
            count = count.saturating_add(waiting.len());
            for record in waiting {
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
            let sealed = self.writer.app.dynamo().get(&keys::sealed_day(self.writer.tenant, day)).await?;
            let sealed = sealed.as_ref().map(SealedDay::read).transpose()?;
            let batch = self.writer.built(trail.batch(day, sealed.as_ref(), &records, self.writer.app.now()))?;
            let Some(batch) = batch else { break };
            let rejection = match self.writer.write(batch.transaction()).await? {
                WriteOutcome::Applied => {
                    self.done.records = self.done.records.saturating_add(batch.records());
                    self.done.segments = self.done.segments.saturating_add(1);
                    self.unsealed.remove(&drop_first(&mut records, batch.records()));
                    trail = batch.into_next();
                    continue;
                }
                WriteOutcome::Rejected(rejection) => rejection,
                WriteOutcome::MarkerExists(_) => return Err(self.writer.broken("a segment found a marker")),
            };
            let dropped = match batch.explain(&rejection) {
                Some(BatchRejection::LeaseLost) => {
                    self.done.left = true;
                    break;
                }
                Some(BatchRejection::Sealed(positions)) => positions,
                Some(BatchRejection::Missing(positions)) => {
                    self.fault =
                        Some(self.writer.broken("a record of the audit trail was removed before it was sealed"));
                    positions
                }
                None => Vec::new(),
            };
            if dropped.is_empty() {
                return Err(self.writer.broken("the audit trail's chain was changed: verify it"));
            }
            self.unsealed.remove(&drop_at(&mut records, &dropped));
        }
        self.is_short |= !records.is_empty();
        Ok(trail)
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.time_max
    }
}
