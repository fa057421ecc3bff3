//! Verifies a tenant's chain and the records that it seals. It only reads: read-only credentials are enough.

use super::read::{key_of, records};
use crate::dynamo::{Dynamo, ReadError};
use crate::sealed_heads::heads_at_once;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key, Shards};
use ledger_core::reads;
use ledger_core::sealing::lanes::{Binding, Heads, LaneChecks, LaneHead, LaneLink};
use ledger_core::sealing::{Chain, Fault, Finding, Kind, Link, Read, Sealable, SealedDay, Sealing, Segment};
use ledger_core::time::{Timestamp, UtcDay};
use std::time::Duration;

/// The age at which an unsealed record is overdue. The worker runs each minute.
pub const OVERDUE_AFTER: Duration = Duration::from_secs(30 * 60);
/// The number of segments per page: each is a few kilobytes.
const PAGE_ITEMS: usize = 20;
/// The number of other items per page.
const LIST: usize = 100;
/// The number of times that the start state is read again while segments are being written.
const TRIES: u32 = 10;

/// The part of a trail to verify.
#[derive(Clone, Debug)]
pub struct Verify {
    /// The tenant of the trail.
    pub tenant: Tenant,
    /// The first day.
    pub from: UtcDay,
    /// The last day, included.
    pub to: UtcDay,
    /// The hash of a segment, recorded elsewhere, that must be in the chain between these days.
    pub head: Option<String>,
    /// The number of shards of the tenant's due index.
    pub shards: Shards,
    /// The present time.
    pub now: Timestamp,
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What is wrong; empty if the trail is whole.
    pub findings: Vec<Finding>,
    /// The number of segments verified.
    pub segments: usize,
    /// The number of records that they seal.
    pub records: u64,
    /// The last segment of each sealed day in the chain of days, and the last binding of each day.
    pub heads: Vec<Link>,
    /// The last segment of each lane.
    pub lanes: Vec<LaneLink>,
    /// The end of the whole chain: the last binding, or the last segment of the chain of days if there are no lanes.
    pub last: Option<Link>,
}

/// Verifies the days of a trail, in both forms of chains. What is sealed during the verification is left to the next one.
///
/// # Errors
/// [`ReadError`] if the store cannot be read, or [`ReadError::Throttled`] if segments were written during each attempt.
pub async fn verify(dynamo: &Dynamo, of: &Verify) -> Result<Verified, ReadError> {
    let reader = Reader { dynamo, of };
    let mut found = reader.verify_days().await?;
    let has_expected = reader.verify_lanes(&mut found).await? || found.has_expected;
    let mut verified = found.verified;
    if of.head.is_some() && !has_expected {
        let key = if found.has_lanes { keys::seal_head(&of.tenant) } else { keys::sealing(&of.tenant) };
        verified.findings.push(Finding { fault: Fault::OtherHead, kind: Kind::Chain, key });
    }
    verified.findings.sort();
    Ok(verified)
}

/// The result of a verification so far.
struct FoundSoFar {
    verified: Verified,
    has_expected: bool,
    has_lanes: bool,
}

struct Reader<'a> {
    dynamo: &'a Dynamo,
    of: &'a Verify,
}

impl Reader<'_> {
    /// Verifies the chain of days.
    async fn verify_days(&self) -> Result<FoundSoFar, ReadError> {
        let (dynamo, of) = (self.dynamo, self.of);
        let (sealing, days) = self.begin().await?;
        let mut chain = Chain::new(&of.tenant);
        let mut heads = Vec::new();
        for (key, item) in &days {
            chain.day(key, item);
            heads.extend(SealedDay::read(item).map(|day| day.last));
        }
        self.segments(&mut chain).await?;
        for (link, key) in chain.named(sealing.as_ref()) {
            chain.outside(&link, dynamo.get(&key).await?.as_ref());
        }
        let (segments, records) = chain.looked_at();
        let is_still = self.sealing().await? == sealing;
        let is_whole = (of.from, of.to) == (UtcDay::MIN, UtcDay::MAX);
        let has_expected = of.head.as_ref().is_some_and(|head| chain.has_hash(head));
        let last = sealing.as_ref().and_then(|sealing| sealing.last.clone());
        // The acts are listed from where either form of chain has sealed them.
        let heads_now = self.lane_heads().await?;
        let acts_until = match &heads_now {
            Some(heads) => heads.lanes.first().map(|lane| lane.acts_until),
            None => sealing.as_ref().map(|sealing| sealing.acts_until),
        };
        for key in self.overdue(acts_until).await? {
            chain.unsealed(key);
        }
        let findings = chain.finish(sealing.as_ref(), Read { is_whole, is_still });
        let verified = Verified { findings, segments, records, heads, lanes: Vec::new(), last };
        Ok(FoundSoFar { verified, has_expected, has_lanes: false })
    }

    /// Verifies the lanes. Returns whether the expected head is in them.
    async fn verify_lanes(&self, found: &mut FoundSoFar) -> Result<bool, ReadError> {
        let (dynamo, of) = (self.dynamo, self.of);
        let (heads, beyond) = match heads_at_once(self.dynamo, &self.of.tenant).await {
            Ok(heads) => heads,
            Err(ReadError::Unreadable(_)) => {
                found.has_lanes = true;
                found.adds(Fault::Edited, keys::seal_head(&of.tenant));
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let Some(heads) = heads else {
            // Nothing of the lanes may be there without their head.
            let bindings = reads::bindings(&of.tenant, UtcDay::MIN, UtcDay::MAX).limit(1);
            let segments = reads::lane_segments(&of.tenant, 0).limit(1);
            let left = !dynamo.query_readable(&bindings).await?.is_empty()
                || !dynamo.query_readable(&segments).await?.is_empty();
            if left || !beyond.is_empty() {
                found.has_lanes = true;
                found.adds(Fault::Missing, keys::seal_head(&of.tenant));
            }
            return Ok(false);
        };
        found.has_lanes = true;
        let before = match of.from.previous() {
            Some(day) => self.binding(reads::bindings(&of.tenant, UtcDay::MIN, day).newest_first()).await?,
            None => None,
        };
        let until = match of.to.next() {
            Some(day) => self.binding(reads::bindings(&of.tenant, day, UtcDay::MAX)).await?,
            None => None,
        };
        let ranges = heads.between(before.as_ref(), until.as_ref());
        let mut checks = LaneChecks::new(&of.tenant, heads.clone(), ranges.clone(), before, of.head.as_deref());
        self.bindings(&mut checks, &mut found.verified.heads).await?;
        for (lane, range) in heads.lanes.iter().zip(ranges) {
            self.lane(&mut checks, lane, range.first).await?;
        }
        for (link, key) in checks.named() {
            checks.outside(link, &key, dynamo.get(&key).await?.as_ref());
        }
        for (link, by) in checks.named_days() {
            let item = dynamo.get(&keys::seal(&of.tenant, link.day, link.number)).await?;
            checks.outside_day(&link, &by, item.as_ref().map(Segment::digest).as_deref());
        }
        if let Some(key) = checks.named_binding() {
            checks.outside_binding(&key, dynamo.get(&key).await?.as_ref());
        }
        let (segments, records) = checks.looked_at();
        let verified = &mut found.verified;
        verified.segments = verified.segments.saturating_add(segments);
        verified.records = verified.records.saturating_add(records);
        verified.lanes = heads.lanes.iter().map(|lane| lane.link).filter(|link| link.number > 0).collect();
        verified.last = Some(heads.trail.last.clone());
        let has_expected = checks.has_expected();
        // A head that cannot be read now is found by the next verification.
        let again = heads_at_once(self.dynamo, &self.of.tenant)
            .await
            .ok()
            .and_then(|(again, _)| again)
            .unwrap_or_else(|| heads.clone());
        verified.findings.extend(checks.finish(&again, &beyond));
        Ok(has_expected)
    }

    async fn lane_heads(&self) -> Result<Option<Heads>, ReadError> {
        match heads_at_once(self.dynamo, &self.of.tenant).await {
            Ok((heads, _)) => Ok(heads),
            Err(ReadError::Unreadable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The first binding of a query.
    async fn binding(&self, query: reads::Query) -> Result<Option<Binding>, ReadError> {
        let rows = self.dynamo.query_readable(&query.limit(1)).await?;
        let read = |item: &Item| Binding::read(&self.of.tenant, &key_of(&self.of.tenant, item)?, item).ok();
        Ok(rows.first().and_then(|row| read(&row.item)))
    }

    async fn bindings(&self, checks: &mut LaneChecks, heads: &mut Vec<Link>) -> Result<(), ReadError> {
        let mut after = None;
        loop {
            let bindings = reads::bindings(&self.of.tenant, self.of.from, self.of.to);
            let rows = self.dynamo.query_readable(&bindings.after(after.take()).limit(LIST)).await?;
            for row in &rows {
                let Some(key) = key_of(&self.of.tenant, &row.item) else { continue };
                after = Some(key.sk().to_owned());
                let Some(binding) = checks.binding(&key, &row.item) else { continue };
                // The last of each day, instead of the last segment of the chain of days.
                heads.retain(|head| head.day != binding.link.day);
                heads.push(binding.link);
            }
            if rows.len() < LIST {
                return Ok(());
            }
        }
    }

    /// Verifies the segments of a lane from a number on, and the records that they seal.
    async fn lane(&self, checks: &mut LaneChecks, lane: &LaneHead, first: u64) -> Result<(), ReadError> {
        let (tenant, number) = (&self.of.tenant, lane.link.lane);
        let mut after = Some(keys::lane_segment(tenant, number, first.saturating_sub(1)).sk().to_owned());
        loop {
            let query = reads::lane_segments(tenant, number).after(after.take()).limit(PAGE_ITEMS);
            let rows = self.dynamo.query_readable(&query).await?;
            let mut is_over = rows.len() < PAGE_ITEMS;
            for row in &rows {
                let Some(key) = key_of(tenant, &row.item) else { continue };
                after = Some(key.sk().to_owned());
                let Some(segment) = checks.segment(&key, &row.item) else {
                    // One beyond the range is enough; one that cannot be read is skipped.
                    is_over |= checks.is_past(&key);
                    continue;
                };
                let listed: Vec<Key> = segment.records.iter().map(|(key, _)| key.clone()).collect();
                checks.records(&segment, &self.read_records(&listed).await?);
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// The items with these keys, in order.
    async fn read_records(&self, keys: &[Key]) -> Result<Vec<Option<Item>>, ReadError> {
        let read = |item| match item {
            Ok(item) => Ok(item),
            // It has an attribute type that we never write, so it is not what was sealed.
            Err(ReadError::Unreadable(_)) => Ok(Some(Item::new())),
            Err(error) => Err(error),
        };
        records(self.dynamo, keys).await?.into_iter().map(read).collect()
    }

    /// The state of the chain and of each day, as of one moment.
    async fn begin(&self) -> Result<(Option<Sealing>, Vec<(Key, Item)>), ReadError> {
        for _ in 0..TRIES {
            let sealing = self.sealing().await?;
            let days = self.days().await?;
            let segments = |sealing: &Option<Sealing>| sealing.as_ref().map(|sealing| sealing.segments);
            if segments(&self.sealing().await?) == segments(&sealing) {
                return Ok((sealing, days));
            }
        }
        Err(ReadError::Throttled)
    }

    async fn sealing(&self) -> Result<Option<Sealing>, ReadError> {
        let item = self.dynamo.get(&keys::sealing(&self.of.tenant)).await?;
        Ok(item.as_ref().map(Sealing::read).transpose()?)
    }

    async fn days(&self) -> Result<Vec<(Key, Item)>, ReadError> {
        let rows = self.dynamo.query(&reads::sealed_days(&self.of.tenant, self.of.from, self.of.to)).await?;
        Ok(rows.into_iter().filter_map(|item| Some((key_of(&self.of.tenant, &item)?, item))).collect())
    }

    /// Verifies every segment of these days, and the records that it seals.
    async fn segments(&self, chain: &mut Chain) -> Result<(), ReadError> {
        let mut after = None;
        loop {
            let segments = reads::segments(&self.of.tenant, self.of.from, self.of.to);
            let query = segments.after(after.take()).limit(PAGE_ITEMS);
            let rows = self.dynamo.query_readable(&query).await?;
            for row in &rows {
                let Some(key) = key_of(&self.of.tenant, &row.item) else { continue };
                after = Some(key.sk().to_owned());
                let Some(segment) = chain.segment(&key, &row.item) else { continue };
                let listed: Vec<Key> = segment.records.iter().map(|(key, _)| key.clone()).collect();
                let items = self.read_records(&listed).await?;
                chain.records(&segment, &items);
            }
            if rows.len() < PAGE_ITEMS {
                return Ok(());
            }
        }
    }

    /// The overdue records. Lists only the oldest of each shard's due index entries and of the acts.
    async fn overdue(&self, acts_until: Option<Timestamp>) -> Result<Vec<Key>, ReadError> {
        let mut overdue = Vec::new();
        let since = acts_until.unwrap_or(Timestamp::from_millis(0));
        let acts = reads::acts_from(&self.of.tenant, since).limit(LIST);
        let mut listed = self.dynamo.query_readable(&acts).await?;
        for shard in 0..self.of.shards.count() {
            let marked = reads::records_to_seal(&self.of.tenant, shard).limit(LIST);
            listed.extend(self.dynamo.query_readable(&marked).await?);
        }
        let crediting = reads::entries_to_seal_and_credit(&self.of.tenant).limit(LIST);
        listed.extend(self.dynamo.query_readable(&crediting).await?);
        let named: Vec<Key> = listed.iter().filter_map(|row| key_of(&self.of.tenant, &row.item)).collect();
        for (key, item) in named.iter().zip(records(self.dynamo, &named).await?) {
            let Ok(Some(item)) = item else { continue };
            let Ok(Some(record)) = Sealable::read(&self.of.tenant, &item) else { continue };
            let is_in_range = (self.of.from..=self.of.to).contains(&record.at().utc_day());
            if is_in_range && self.of.now.since(record.at()) >= OVERDUE_AFTER {
                overdue.push(key.clone());
            }
        }
        Ok(overdue)
    }
}

impl FoundSoFar {
    fn adds(&mut self, fault: Fault, key: Key) {
        self.verified.findings.push(Finding { fault, kind: Kind::Chain, key });
    }
}
