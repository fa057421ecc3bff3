//! Verifies a tenant's chain and the records that it seals. It only reads: read-only credentials are enough.

use super::read::{key_of, records};
use crate::dynamo::{Dynamo, ReadError};
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key, Shards};
use ledger_core::reads;
use ledger_core::sealing::{Chain, Finding, Link, Read, Sealable, SealedDay, Sealing};
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
    /// The last segment of each sealed day.
    pub heads: Vec<Link>,
    /// The last segment of the whole chain.
    pub last: Option<Link>,
}

/// Verifies the days of a trail. What is sealed during the verification is left to the next one.
///
/// # Errors
/// [`ReadError`] if the store cannot be read, or [`ReadError::Throttled`] if segments were written during each attempt.
pub async fn verify(dynamo: &Dynamo, of: &Verify) -> Result<Verified, ReadError> {
    let reader = Reader { dynamo, of };
    let (sealing, days) = reader.begin().await?;
    let mut chain = Chain::new(&of.tenant);
    let mut heads = Vec::new();
    for (key, item) in &days {
        chain.day(key, item);
        heads.extend(SealedDay::read(item).map(|day| day.last));
    }
    reader.segments(&mut chain).await?;
    for (link, key) in chain.named(sealing.as_ref()) {
        chain.outside(&link, dynamo.get(&key).await?.as_ref());
    }
    reader.overdue(&mut chain, sealing.as_ref()).await?;
    let (segments, records) = chain.looked_at();
    let is_still = reader.sealing().await? == sealing;
    let is_whole = (of.from, of.to) == (UtcDay::MIN, UtcDay::MAX);
    let last = sealing.as_ref().and_then(|sealing| sealing.last.clone());
    let findings = chain.finish(sealing.as_ref(), Read { is_whole, is_still }, of.head.as_deref());
    Ok(Verified { findings, segments, records, heads, last })
}

struct Reader<'a> {
    dynamo: &'a Dynamo,
    of: &'a Verify,
}

impl Reader<'_> {
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
                let mut items = Vec::with_capacity(listed.len());
                for item in records(self.dynamo, &listed).await? {
                    items.push(match item {
                        Ok(item) => item,
                        // It has an attribute type that we never write, so it is not what was sealed.
                        Err(ReadError::Unreadable(_)) => Some(Item::new()),
                        Err(error) => return Err(error),
                    });
                }
                chain.records(&segment, &items);
            }
            if rows.len() < PAGE_ITEMS {
                return Ok(());
            }
        }
    }

    /// Reports overdue records. Lists only the oldest of each shard's due index entries and of the acts.
    async fn overdue(&self, chain: &mut Chain, sealing: Option<&Sealing>) -> Result<(), ReadError> {
        let since = sealing.map_or(Timestamp::from_millis(0), |sealing| sealing.acts_until);
        let acts = reads::acts_from(&self.of.tenant, since).limit(LIST);
        let mut listed = self.dynamo.query_readable(&acts).await?;
        for shard in 0..self.of.shards.count() {
            let marked = reads::records_to_seal(&self.of.tenant, shard).limit(LIST);
            listed.extend(self.dynamo.query_readable(&marked).await?);
        }
        let named: Vec<Key> = listed.iter().filter_map(|row| key_of(&self.of.tenant, &row.item)).collect();
        for (key, item) in named.iter().zip(records(self.dynamo, &named).await?) {
            let Ok(Some(item)) = item else { continue };
            let Ok(Some(record)) = Sealable::read(&self.of.tenant, &item) else { continue };
            let is_in_range = (self.of.from..=self.of.to).contains(&record.at().utc_day());
            if is_in_range && self.of.now.since(record.at()) >= OVERDUE_AFTER {
                chain.unsealed(key.clone());
            }
        }
        Ok(())
    }
}
