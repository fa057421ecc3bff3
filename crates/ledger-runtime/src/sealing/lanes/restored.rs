//! Segments of which a restore has brought back a part: they are finished before anything else is written in their lane.

use super::{Lane, Run};
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use futures::future::join_all;
use ledger_core::crediting::{EntryCredit, LaneCredits};
use ledger_core::keys::{self, Key};
use ledger_core::sealing::lanes::{Finishing, LaneRejection, LaneSegment, WrittenSegment};

impl Run<'_> {
    /// Checks that the transactions of the lanes' last segments are there as a whole, and writes what a restore has not
    /// brought back of them. What this process has written or checked is not read again.
    // INVARIANT: an entry whose stamp a restore has lost, but not its merchant's credit, is not credited again.
    pub(super) async fn check_last_segments(&mut self) {
        let lanes = std::mem::take(&mut self.lanes);
        let this = &*self;
        let checked = lanes.into_iter().map(|mut lane| async move {
            if let Err(problem) = this.check_last_segment(&mut lane).await {
                lane.stop();
                lane.fault = Some(problem);
            }
            lane
        });
        self.lanes = join_all(checked).await;
    }

    async fn check_last_segment(&self, lane: &mut Lane) -> Result<(), Problem> {
        let (app, tenant, last) = (self.writer.app, self.writer.tenant, lane.head.link);
        if app.sealed_heads().has(tenant, &last) {
            return Ok(());
        }
        if last.number > 0 {
            self.finish(lane, last.number).await?;
        }
        let next = last.number.saturating_add(1);
        match app.dynamo().get(&keys::lane_segment(tenant, last.lane, next)).await? {
            Some(_) => self.finish(lane, next).await,
            None => Ok(()),
        }
    }

    /// Finishes a segment if a restore has left a part of its transaction: the lane's last one, or the one after it.
    pub(super) async fn finish(&self, lane: &mut Lane, number: u64) -> Result<(), Problem> {
        let changed = || self.writer.broken("the audit trail's chain was changed: verify it");
        let (app, tenant) = (self.writer.app, self.writer.tenant);
        let key = keys::lane_segment(tenant, lane.head.link.lane, number);
        let item = app.dynamo().get(&key).await?.ok_or_else(changed)?;
        let segment = LaneSegment::read(tenant, &key, &item).map_err(|_| changed())?;
        let listed: Vec<Key> = segment.records.into_iter().map(|(key, _)| key).collect();
        let records = app.dynamo().get_many(&listed).await?;
        let credited = records.iter().flatten().filter_map(|record| EntryCredit::read(record).ok().flatten());
        let mut credits = LaneCredits::new(lane.head.link.lane).counting(self.volumes.clone());
        self.read_periods(&mut credits, credited.map(|credit| credit.merchant).collect()).await?;
        let written = WrittenSegment { item: &item, records: &records, credits: &credits };
        let batch = match self.writer.built(lane.head.finish(tenant, written, app.now()))? {
            Finishing::Whole => {
                let head = lane.head.clone();
                self.known_whole(lane, head);
                return Ok(());
            }
            Finishing::Torn(batch) => batch,
            Finishing::Unreadable => return Err(changed()),
        };
        match self.writer.write(batch.transaction()).await? {
            WriteOutcome::Applied => {
                tracing::warn!(%tenant, segment = key.sk(), "a restored segment was finished");
                lane.done.records = lane.done.records.saturating_add(batch.records());
                lane.waiting.retain(|record| !listed.contains(record.key()));
                self.known_whole(lane, batch.into_next());
                Ok(())
            }
            // Another worker has written a segment since the head was read.
            WriteOutcome::Rejected(rejection)
                if batch.explain(&rejection) == Some(LaneRejection::HeadMoved) && rejection.old.is_some() =>
            {
                lane.leave();
                Ok(())
            }
            WriteOutcome::Rejected(_) | WriteOutcome::MarkerExists(_) => Err(changed()),
        }
    }
}
