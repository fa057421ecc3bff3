//! Verifies a tenant's lanes and the records that they seal. It only reads: read-only credentials are enough.

use super::read::{key_of, records};
use crate::acts::first_acts;
use crate::dynamo::{Dynamo, ReadError};
use crate::sealed_heads::heads_at_once;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, AUDIT_SHARDS, Key, Shards};
use ledger_core::reads;
use ledger_core::sealing::lanes::{Binding, BindingLink, LaneChecks, LaneHead, LaneLink};
use ledger_core::sealing::{Fault, Finding, Kind, Sealable};
use ledger_core::time::{Timestamp, UtcDay};
use std::time::Duration;

/// The age at which an unsealed record is overdue. The worker runs each minute.
pub const OVERDUE_AFTER: Duration = Duration::from_secs(30 * 60);
/// The number of segments per page: each is a few kilobytes.
const PAGE_ITEMS: usize = 20;
/// The number of other items per page.
const LIST: usize = 100;

/// The part of a trail to verify.
#[derive(Clone, Debug)]
pub struct Verify {
    /// The tenant of the trail.
    pub tenant: Tenant,
    /// The first day.
    pub from: UtcDay,
    /// The last day, included.
    pub to: UtcDay,
    /// The hash of a segment or binding, recorded elsewhere, that must be in the chain between these days.
    pub head: Option<String>,
    /// The number of shards of the tenant's due index.
    pub shards: Shards,
    /// The present time.
    pub now: Timestamp,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// What is wrong; empty if the trail is whole.
    pub findings: Vec<Finding>,
    /// The number of segments verified.
    pub segments: usize,
    /// The number of records that they seal.
    pub records: u64,
    /// The last binding of each day.
    pub heads: Vec<BindingLink>,
    /// The last segment of each lane.
    pub lanes: Vec<LaneLink>,
    /// The last binding; `None` if nothing is sealed.
    pub last: Option<BindingLink>,
}

/// Verifies the days of a trail. What is sealed during the verification is left to the next one.
///
/// # Errors
/// [`ReadError`] if the store cannot be read.
pub async fn verify(dynamo: &Dynamo, of: &Verify) -> Result<Verified, ReadError> {
    let reader = Reader { dynamo, of };
    let mut verified = Verified::default();
    let has_expected = reader.verify_lanes(&mut verified).await?;
    if of.head.is_some() && !has_expected {
        verified.adds(Fault::OtherHead, Kind::Chain, keys::lanes(&of.tenant));
    }
    for key in reader.overdue().await? {
        verified.adds(Fault::Unsealed, Kind::Record, key);
    }
    verified.findings.sort();
    Ok(verified)
}

struct Reader<'a> {
    dynamo: &'a Dynamo,
    of: &'a Verify,
}

impl Reader<'_> {
    /// Verifies the lanes. Returns whether the expected head is in them.
    async fn verify_lanes(&self, verified: &mut Verified) -> Result<bool, ReadError> {
        let (dynamo, of) = (self.dynamo, self.of);
        let (heads, beyond) = match heads_at_once(self.dynamo, &self.of.tenant).await {
            Ok(heads) => heads,
            Err(ReadError::Unreadable(_)) => {
                verified.adds(Fault::Edited, Kind::Chain, keys::lanes(&of.tenant));
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
                verified.adds(Fault::Missing, Kind::Chain, keys::lanes(&of.tenant));
            }
            return Ok(false);
        };
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
        self.bindings(&mut checks, &mut verified.heads).await?;
        for (lane, range) in heads.lanes.iter().zip(ranges) {
            self.lane(&mut checks, lane, range.first).await?;
        }
        for (link, key) in checks.named() {
            checks.outside(link, &key, dynamo.get(&key).await?.as_ref());
        }
        if let Some(key) = checks.named_binding() {
            checks.outside_binding(&key, dynamo.get(&key).await?.as_ref());
        }
        let (segments, records) = checks.looked_at();
        (verified.segments, verified.records) = (segments, records);
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

    /// The first binding of a query.
    async fn binding(&self, query: reads::Query) -> Result<Option<Binding>, ReadError> {
        let rows = self.dynamo.query_readable(&query.limit(1)).await?;
        let read = |item: &Item| Binding::read(&self.of.tenant, &key_of(&self.of.tenant, item)?, item).ok();
        Ok(rows.first().and_then(|row| read(&row.item)))
    }

    async fn bindings(&self, checks: &mut LaneChecks, heads: &mut Vec<BindingLink>) -> Result<(), ReadError> {
        let mut after = None;
        loop {
            let bindings = reads::bindings(&self.of.tenant, self.of.from, self.of.to);
            let rows = self.dynamo.query_readable(&bindings.after(after.take()).limit(LIST)).await?;
            for row in &rows {
                let Some(key) = key_of(&self.of.tenant, &row.item) else { continue };
                after = Some(key.sk().to_owned());
                let Some(binding) = checks.binding(&key, &row.item) else { continue };
                // The last of each day.
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

    /// The overdue records. Lists only the oldest of each shard's due index entries and of the acts.
    async fn overdue(&self) -> Result<Vec<Key>, ReadError> {
        let mut overdue = Vec::new();
        let heads = match heads_at_once(self.dynamo, &self.of.tenant).await {
            Ok((heads, _)) => heads,
            Err(ReadError::Unreadable(_)) => None,
            Err(error) => return Err(error),
        };
        let lane = heads.as_ref().and_then(|heads| heads.lanes.first());
        let since = match lane.map(|lane| lane.acts_until).filter(|until| until.millis() > 0) {
            Some(until) => until,
            None => first_acts(self.dynamo, &self.of.tenant, self.of.now).await?,
        };
        let mut listed = Vec::new();
        let (mut day, last) = (Some(since.utc_day()), self.of.now.utc_day());
        while let Some(of) = day.filter(|day| *day <= last && listed.len() < LIST) {
            for shard in 0..AUDIT_SHARDS.count() {
                let acts = reads::acts_from(&self.of.tenant, (of, shard), since).limit(LIST);
                listed.extend(self.dynamo.query_readable(&acts).await?);
            }
            day = of.next();
        }
        for shard in 0..self.of.shards.count() {
            let marked = reads::records_unsealed(&self.of.tenant, shard).limit(LIST);
            listed.extend(self.dynamo.query_readable(&marked).await?);
        }
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

impl Verified {
    fn adds(&mut self, fault: Fault, kind: Kind, key: Key) {
        self.findings.push(Finding { fault, kind, key });
    }
}
