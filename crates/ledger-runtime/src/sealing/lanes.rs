//! The lanes of a trail: each is sealed by itself, all at once, in full segments while there are records.
//!
//! A run lists what is due, reads it consistently, divides it by lanes, and writes a segment for each lane, until
//! nothing is left or the run's time is over. At most a few segments' records for each lane are held at once.
//!
//! Nothing is held between two writes. A worker that stops anywhere leaves nothing to wait for, and of two workers that
//! write the next segment of a lane, one is rejected and leaves the lane to the other.

mod restored;

use super::proof::segments;
use super::read::{Found, Listed, SHARDS_AT_ONCE, Unsealed, drop_at, drop_first, unmark_sealed};
use super::writer::Writer;
use super::{ACTS_MARGIN, Pass, Sealed, volumes};
use crate::acts::first_acts;
use crate::app::App;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use crate::publishing::Published;
use crate::sealed_heads::{heads as read_heads, heads_at_once};
use futures::future::join_all;
use ledger_core::crediting::{LaneCredits, VolumeLimits};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, Key, Recorded, Shards};
use ledger_core::sealing::Sealable;
use ledger_core::sealing::lanes::{Binding, Heads, LANE_RECORDS_MAX, LaneHead, LaneRejection, Unbound};
use ledger_core::time::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// Sealed acts that a run may list again: to read them each minute costs less than the write that skips them.
const ACTS_LISTED_AGAIN_MAX: usize = 10;

/// A run over a tenant's lanes.
pub(super) struct Run<'a> {
    writer: Writer<'a>,
    began: Instant,
    time_max: Duration,
    volumes: VolumeLimits,
    /// The time of the beginning.
    at: Timestamp,
    heads: Option<Heads>,
    lanes: Vec<Lane>,
    acts: Acts,
    unsealed: Unsealed,
    /// The time of the oldest unsealed record that was found.
    oldest: Option<Timestamp>,
    /// The problem of a record that could not be sealed; the others are sealed all the same.
    fault: Option<Problem>,
}

/// A lane in a run.
struct Lane {
    head: LaneHead,
    /// The open periods of merchants that were read.
    credits: LaneCredits,
    /// Its records, in the order in which they were listed.
    waiting: Vec<Sealable>,
    /// Records that were sealed, or that another worker has sealed, since the lanes were divided.
    ended: Vec<Key>,
    /// The merchants that were credited.
    credited: BTreeSet<MerchantId>,
    done: Sealed,
    /// A problem that stopped the lane, or of a record that was dropped.
    fault: Option<Problem>,
    /// Whether this run seals nothing more in it.
    is_stopped: bool,
}

/// How far the acts are listed.
struct Acts {
    /// Every act whose id has a time before this is listed.
    listed_until: Timestamp,
    /// The number of sealed acts that were listed again and are old enough to be skipped.
    sealed_again: usize,
    /// Whether one could not be read. It is listed again by each run.
    has_unreadable: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(app: &'a App, tenant: &'a Tenant, heads: Option<Heads>, pass: &Pass) -> Self {
        let (writer, began, at) = (Writer { app, tenant }, Instant::now(), app.now());
        let acts = Acts { listed_until: Timestamp::from_millis(0), sealed_again: 0, has_unreadable: false };
        let (lanes, unsealed) = (Vec::new(), Unsealed::default());
        let (time_max, volumes) = (pass.time_max, pass.volumes.clone());
        Self { writer, began, time_max, volumes, at, heads, lanes, acts, unsealed, oldest: None, fault: None }
    }

    /// What was sealed, the time of the oldest record that was found, and the first problem.
    pub(super) fn ended(self) -> (Sealed, Option<Timestamp>, Option<Problem>) {
        let mut done = Sealed::default();
        let mut fault = self.fault;
        for lane in self.lanes {
            done.records = done.records.saturating_add(lane.done.records);
            done.segments = done.segments.saturating_add(lane.done.segments);
            done.left |= lane.done.left;
            fault = fault.or(lane.fault);
        }
        (done, self.oldest, fault)
    }

    pub(super) async fn seal(&mut self, pass: Pass) -> Result<Published, Problem> {
        let shards = pass.shards;
        let acts_until = self.heads.as_ref().and_then(|heads| heads.lanes.first()).map(|lane| lane.acts_until);
        self.acts.listed_until = match acts_until.filter(|until| until.millis() > 0) {
            Some(until) => until,
            // No act is sealed: the first ones are those of the tenant's opening.
            None => first_acts(self.writer.app.dynamo(), self.writer.tenant, self.at).await?,
        };
        let mut listed = Listed::of(self.writer.tenant, pass, (self.acts.listed_until, self.at));
        let mut found = self.list(&mut listed).await?;
        if self.heads.is_none() {
            if found.is_empty() {
                return Ok(listed.published());
            }
            self.open().await?;
        }
        let heads = self.heads.as_ref().map_or(&[][..], |heads| &heads.lanes);
        self.lanes = heads.iter().map(|head| Lane::new(head.clone(), self.volumes.clone())).collect();
        self.check_last_segments().await;
        loop {
            self.divide(found);
            self.write_segments(&listed).await;
            if listed.is_done() || self.is_over() {
                break;
            }
            found = self.list(&mut listed).await?;
        }
        let is_behind = !listed.is_done() || self.lanes.iter().any(Lane::is_behind);
        self.judge_volumes().await;
        self.put_off(shards).await?;
        self.skip_sealed_acts(&listed).await?;
        self.bind(is_behind).await?;
        Ok(listed.published())
    }

    /// Compares the volumes of the merchants that were credited with their limits.
    async fn judge_volumes(&mut self) {
        let credited: BTreeSet<MerchantId> = self.lanes.iter().flat_map(|lane| lane.credited.iter().copied()).collect();
        if !self.volumes.is_empty()
            && let Err(problem) = volumes::judge(self.writer, &self.volumes, &credited).await
        {
            self.fault = self.fault.take().or(Some(problem));
        }
    }

    /// Leaves the published entries of lanes that have a problem to later runs, which only seal them.
    async fn put_off(&self, shards: Shards) -> Result<(), Problem> {
        let Some(lanes) = self.heads.as_ref().map(|heads| heads.trail.lanes) else { return Ok(()) };
        let has_problem = |key: &Key| {
            let lane = usize::try_from(lanes.lane_of(key)).ok().and_then(|lane| self.lanes.get(lane));
            lane.is_some_and(|lane| lane.fault.is_some())
        };
        self.unsealed.put_off(self.writer.app, self.writer.tenant, shards, has_problem).await
    }

    /// Lists as many records as a segment of each lane holds, or all that are left.
    async fn list(&mut self, listed: &mut Listed) -> Result<Vec<Sealable>, Problem> {
        let lanes = self.heads.as_ref().map_or(1, |heads| heads.lanes.len());
        let waiting = self.lanes.iter().map(|lane| lane.waiting.len()).fold(0, usize::saturating_add);
        let wanted = lanes.saturating_mul(LANE_RECORDS_MAX).saturating_sub(waiting);
        let mut found = Vec::new();
        // A page is read in any case, so that a run comes to its end.
        while let Some(page) = listed.next(self.writer.app, lanes.max(SHARDS_AT_ONCE), &mut self.fault).await? {
            let Found { waiting, published, sealed, sealed_acts, acts_listed_until, has_unreadable_act } = page;
            self.unsealed.add(published);
            unmark_sealed(self.writer.app, self.writer.tenant, &sealed).await?;
            // An act that is committed late may have an earlier time in its id.
            let bound = self.at.minus(ACTS_MARGIN);
            let again = sealed_acts.iter().filter(|born| **born < bound).count();
            self.acts.sealed_again = self.acts.sealed_again.saturating_add(again);
            self.acts.has_unreadable |= has_unreadable_act;
            let until =
                if listed.acts_are_done() { Some(bound) } else { acts_listed_until.map(|until| until.min(bound)) };
            self.acts.listed_until = until.map_or(self.acts.listed_until, |until| until.max(self.acts.listed_until));
            for record in &waiting {
                self.oldest = Some(self.oldest.map_or(record.at(), |oldest| oldest.min(record.at())));
            }
            found.extend(waiting);
            if found.len() >= wanted || self.is_over() {
                break;
            }
        }
        Ok(found)
    }

    /// Opens the trail's lanes. If another worker did so first, its lanes are taken.
    async fn open(&mut self) -> Result<(), Problem> {
        let (heads, transaction) = self.writer.built(Heads::open(self.writer.tenant, self.at))?;
        self.heads = match self.writer.write(&transaction).await? {
            WriteOutcome::Applied => Some(heads),
            WriteOutcome::Rejected(_) => {
                let heads = read_heads(self.writer.app.dynamo(), self.writer.tenant).await?;
                Some(heads.ok_or_else(|| self.writer.broken("the audit trail's lanes were removed: verify it"))?)
            }
            WriteOutcome::MarkerExists(_) => return Err(self.writer.broken("the audit trail's lanes found a marker")),
        };
        Ok(())
    }

    fn divide(&mut self, found: Vec<Sealable>) {
        let Some(lanes) = self.heads.as_ref().map(|heads| heads.trail.lanes) else { return };
        for record in found {
            let at = usize::try_from(lanes.lane_of(record.key())).unwrap_or(0);
            if let Some(lane) = self.lanes.get_mut(at).filter(|lane| !lane.is_stopped) {
                lane.waiting.push(record);
            }
        }
    }

    /// Writes the full segments of all lanes, and the rest once everything is listed. One lane's problem does not stop
    /// another.
    async fn write_segments(&mut self, listed: &Listed) {
        let (is_last, acts_until) = (listed.is_done(), self.acts_until());
        let lanes = std::mem::take(&mut self.lanes);
        let this = &*self;
        let written = lanes.into_iter().map(|lane| this.write_lane(lane, is_last, acts_until));
        self.lanes = join_all(written).await;
        for lane in &mut self.lanes {
            self.unsealed.remove(&std::mem::take(&mut lane.ended));
        }
    }

    /// The time before which every act is sealed once all that are listed are sealed; `None` while one that is listed
    /// could not be read, so that it is listed again.
    fn acts_until(&self) -> Option<Timestamp> {
        (!self.acts.has_unreadable).then_some(self.acts.listed_until)
    }

    async fn write_lane(&self, mut lane: Lane, is_last: bool, acts_until: Option<Timestamp>) -> Lane {
        lane.waiting.sort_by(|a, b| (a.at(), a.key()).cmp(&(b.at(), b.key())));
        // An index may list a record twice.
        lane.waiting.dedup_by(|a, b| a.key() == b.key());
        while !lane.is_stopped
            && !self.is_over()
            && (lane.waiting.len() >= LANE_RECORDS_MAX || (is_last && !lane.waiting.is_empty()))
        {
            if let Err(problem) = self.write_segment(&mut lane, acts_until).await {
                // The outcome may be unknown: a later run reads the head again.
                lane.stop();
                lane.fault = Some(problem);
            }
        }
        lane
    }

    async fn write_segment(&self, lane: &mut Lane, acts_until: Option<Timestamp>) -> Result<(), Problem> {
        let credited = lane.waiting.iter().take(LANE_RECORDS_MAX).filter_map(Sealable::credit);
        let merchants: Vec<MerchantId> = credited.map(|credit| credit.merchant).collect();
        self.read_periods(&mut lane.credits, merchants).await?;
        let until = acts_until.filter(|_| lane.head.link.lane == 0).map(|until| lane.acts_until(until));
        let now = self.writer.app.now();
        let batch = lane.head.batch(self.writer.tenant, &lane.waiting, &lane.credits, until, now);
        let Some(batch) = self.writer.built(batch)? else { return Ok(()) };
        let rejection = match self.writer.write(batch.transaction()).await? {
            WriteOutcome::Applied => {
                lane.done.records = lane.done.records.saturating_add(batch.records());
                lane.done.segments = lane.done.segments.saturating_add(1);
                let sealed = lane.waiting.iter().take(batch.records());
                lane.credited.extend(sealed.filter_map(Sealable::credit).map(|credit| credit.merchant));
                lane.ended.extend(drop_first(&mut lane.waiting, batch.records()));
                self.known_whole(lane, batch.into_next());
                return Ok(());
            }
            WriteOutcome::Rejected(rejection) => rejection,
            WriteOutcome::MarkerExists(_) => return Err(self.writer.broken("a segment found a marker")),
        };
        let dropped = match batch.explain(&rejection) {
            Some(LaneRejection::HeadMoved) if rejection.old.is_some() => {
                lane.leave();
                return Ok(());
            }
            Some(LaneRejection::Sealed(positions)) => positions,
            Some(LaneRejection::Missing(positions)) => {
                lane.fault = Some(self.writer.broken("a record of the audit trail was removed before it was sealed"));
                positions
            }
            Some(LaneRejection::HeadSetBack) => {
                let number = lane.head.link.number.saturating_add(1);
                return self.finish(lane, number).await;
            }
            Some(LaneRejection::PeriodClosed) => {
                lane.credits.forget();
                return Ok(());
            }
            Some(LaneRejection::CreditedBeyond) => {
                return Err(self.writer.broken("a merchant was credited beyond the audit trail's head: reconcile"));
            }
            Some(LaneRejection::HeadMoved) | None => Vec::new(),
        };
        if dropped.is_empty() {
            return Err(self.writer.broken("the audit trail's chain was changed: verify it"));
        }
        lane.ended.extend(drop_at(&mut lane.waiting, &dropped));
        Ok(())
    }

    /// Remembers that the segment of this head is whole.
    fn known_whole(&self, lane: &mut Lane, head: LaneHead) {
        self.writer.app.sealed_heads().add(self.writer.tenant, head.link);
        lane.head = head;
    }

    /// Reads the open periods of merchants that are not read yet.
    async fn read_periods(&self, credits: &mut LaneCredits, merchants: Vec<MerchantId>) -> Result<(), Problem> {
        let (merchants, keys): (Vec<MerchantId>, Vec<Key>) =
            credits.unread(self.writer.tenant, merchants).into_iter().unzip();
        if keys.is_empty() {
            return Ok(());
        }
        let items = self.writer.app.dynamo().get_many(&keys).await?;
        for (merchant, item) in merchants.into_iter().zip(&items) {
            credits.read(merchant, item.as_ref())?;
        }
        Ok(())
    }

    /// Skips sealed acts that every later run would list again, where no segment has done so.
    async fn skip_sealed_acts(&mut self, listed: &Listed) -> Result<(), Problem> {
        let Some(until) = self.acts_until().filter(|_| listed.acts_are_done()) else { return Ok(()) };
        let Some(lane) = self.lanes.first().filter(|lane| !lane.is_stopped && !lane.is_behind()) else { return Ok(()) };
        if lane.head.acts_until < until && self.acts.sealed_again > ACTS_LISTED_AGAIN_MAX {
            let moved = self.writer.built(lane.head.acts_sealed_until(self.writer.tenant, until))?;
            let _ = self.writer.write(&moved).await?;
        }
        Ok(())
    }

    /// Writes a binding if one is due. Doubles the number of lanes if this run could not seal everything in its time.
    async fn bind(&self, is_behind: bool) -> Result<(), Problem> {
        let Some(heads) = &self.heads else { return Ok(()) };
        let lanes = self.lanes.iter().map(|lane| lane.head.clone()).collect();
        let known = Heads { lanes, ..heads.clone() };
        let (now, is_raised) = (self.writer.app.now(), is_behind && self.is_over());
        if !is_raised && !known.is_binding_due(now) {
            return Ok(());
        }
        // As of one moment: a binding that another worker has written may name segments that are not known here.
        let (heads, _) = heads_at_once(self.writer.app.dynamo(), self.writer.tenant).await?;
        let heads = heads.ok_or_else(|| self.writer.broken("the audit trail's lanes were removed: verify it"))?;
        if !is_raised && !heads.is_binding_due(now) {
            return Ok(());
        }
        let (tenant, unbound) = (self.writer.tenant, self.unbound(&heads).await?);
        let raised = if is_raised { self.writer.built(heads.raise(tenant, &unbound, now))? } else { None };
        let transaction = match raised {
            Some((_, transaction)) => transaction,
            None if heads.is_binding_due(now) => self.writer.built(heads.bind(tenant, &unbound, now))?.1,
            None => return Ok(()),
        };
        match self.writer.write(&transaction).await? {
            // Another worker has written this binding, or a segment: a later run tries again.
            WriteOutcome::Applied | WriteOutcome::Rejected(_) => Ok(()),
            WriteOutcome::MarkerExists(_) => Err(self.writer.broken("a binding found a marker")),
        }
    }

    /// Reads the segments since the last binding.
    async fn unbound(&self, heads: &Heads) -> Result<Unbound, Problem> {
        let (dynamo, tenant) = (self.writer.app.dynamo(), self.writer.tenant);
        let key = keys::binding(tenant, heads.trail.last.day, heads.trail.last.number);
        let last = dynamo.get(&key).await?.and_then(|item| Binding::read(tenant, &key, &item).ok());
        let unread = last.map(|last| heads.unbound(&last));
        let read = match unread {
            Some(unread) => segments(dynamo, tenant, unread).await?,
            None => None,
        };
        read.ok_or_else(|| self.writer.broken("what was sealed since the last binding is not whole: verify it"))
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.time_max
    }
}

impl Lane {
    fn new(head: LaneHead, volumes: VolumeLimits) -> Self {
        let (waiting, ended, done) = (Vec::new(), Vec::new(), Sealed::default());
        let credits = LaneCredits::new(head.link.lane).counting(volumes);
        Self { head, credits, waiting, ended, credited: BTreeSet::new(), done, fault: None, is_stopped: false }
    }

    /// Leaves the rest to the worker that seals it at the same time.
    fn leave(&mut self) {
        self.done.left = true;
        self.stop();
    }

    /// Seals nothing more in this run.
    fn stop(&mut self) {
        self.waiting.clear();
        self.is_stopped = true;
    }

    /// Whether records are left that this run could have sealed.
    fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The time before which every act is sealed once the next segment is written. `listed_until` is the time before
    /// which every act is listed.
    fn acts_until(&self, listed_until: Timestamp) -> Timestamp {
        let later = self.waiting.iter().skip(LANE_RECORDS_MAX).map(Sealable::key);
        let later = later.filter(|key| key.recorded() == Some(Recorded::Act)).filter_map(Key::born);
        later.fold(listed_until, Timestamp::min)
    }
}
