//! Reads the entries of segments and adds them up by posting day.

use crate::dynamo::{Dynamo, ReadError};
use crate::problem::Problem;
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::figures::{ChainPlace, Posted, PostingDays, TalliedEntry, Tally};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, Key, Recorded, attr};
use ledger_core::payments::PaymentRecord;
use ledger_core::reads;
use ledger_core::sealing::Segment;
use ledger_core::sealing::lanes::LaneSegment;
use ledger_core::time::{BusinessDate, Timestamp, UtcDay};
use std::collections::BTreeMap;

/// The number of segments whose entries are read at once.
const SEGMENTS_AT_ONCE: u64 = 16;
/// The number of segments of the chain of days whose entries are read at once.
const CHAIN_SEGMENTS_AT_ONCE: usize = 16;
/// The most segments of the chain of days in a batch.
pub(super) const CHAIN_BATCH_SEGMENTS_MAX: usize = 128;

/// The entries of segments, added up.
pub(super) struct Entries<'a> {
    dynamo: &'a Dynamo,
    tenant: &'a Tenant,
    days: &'a PostingDays,
    /// The instant from which on entries are left out.
    before: Option<Timestamp>,
    /// Whether merchants have shops.
    shops: BTreeMap<MerchantId, bool>,
    pub(super) tally: Tally,
    /// The number of entries.
    pub(super) count: u64,
}

impl<'a> Entries<'a> {
    /// No entries yet. `days` has the closings that decide where they are posted.
    pub(super) fn new(dynamo: &'a Dynamo, tenant: &'a Tenant, days: &'a PostingDays) -> Self {
        Self { dynamo, tenant, days, before: None, shops: BTreeMap::new(), tally: Tally::default(), count: 0 }
    }

    /// Leaves out what balances have from `before` on.
    pub(super) fn before(self, before: Option<Timestamp>) -> Self {
        Self { before, ..self }
    }

    /// Adds the entries of the segments after `from` up to `to` of a lane, or up to the first segment with an entry of a day
    /// after `until`. Returns the last segment that was added.
    pub(super) async fn add(
        &mut self,
        (lane, from, to): (u32, u64, u64),
        until: Option<BusinessDate>,
    ) -> Result<u64, Problem> {
        let (dynamo, tenant) = (self.dynamo, self.tenant);
        let mut last = from;
        while last < to {
            let wanted = usize::try_from(to.saturating_sub(last).min(SEGMENTS_AT_ONCE)).unwrap_or(1);
            let after = keys::lane_segment(tenant, lane, last).sk().to_owned();
            let items = dynamo.query(&reads::lane_segments(tenant, lane).after(Some(after)).limit(wanted)).await?;
            if items.is_empty() {
                return Err(missing(lane));
            }
            for (number, mut entries) in try_join_all(items.iter().map(|item| segment(dynamo, tenant, item))).await? {
                if number != last.saturating_add(1) {
                    return Err(missing(lane));
                }
                let posted = |entry: &TalliedEntry| self.days.posted((lane, number), entry.created_at);
                if until.is_some_and(|until| entries.iter().any(|entry| posted(entry).day > until)) {
                    return Ok(last);
                }
                let posted: Vec<_> = entries.iter().map(posted).collect();
                self.find_shops(&mut entries).await?;
                self.add_all(posted.into_iter().zip(&entries))?;
                last = number;
            }
        }
        Ok(last)
    }

    /// Adds the entries of the segments of the chain of days after `from` up to `to`. They were sealed before the first day
    /// was closed, so each is posted to its own day.
    pub(super) async fn add_chain(&mut self, from: Option<ChainPlace>, to: ChainPlace) -> Result<(), Problem> {
        let (mut after, mut is_over) = (from, false);
        while !is_over {
            let page = chain_segments(self.dynamo, self.tenant, after).await?;
            for segments in page.chunks(CHAIN_SEGMENTS_AT_ONCE) {
                let segments: Vec<_> = segments.iter().filter(|segment| ChainPlace::of(&segment.link) <= to).collect();
                let read = segments.iter().map(|segment| {
                    let keys = segment.records.iter().map(|(key, _)| key.clone()).collect();
                    entries_of(self.dynamo, keys)
                });
                for mut entries in try_join_all(read).await? {
                    let own = |entry: &TalliedEntry| PostingDays::default().posted((0, 0), entry.created_at);
                    self.find_shops(&mut entries).await?;
                    self.add_all(entries.iter().map(|entry| (own(entry), entry)))?;
                }
            }
            after = page.last().map(|segment| ChainPlace::of(&segment.link));
            is_over = after.is_none_or(|last| last >= to);
        }
        Ok(())
    }

    fn add_all<'e>(&mut self, entries: impl Iterator<Item = (Posted, &'e TalliedEntry)>) -> Result<(), Problem> {
        for (posted, entry) in entries.filter(|(posted, _)| self.before.is_none_or(|before| posted.at < before)) {
            self.tally.add(posted, entry).map_err(|_| Problem::internal())?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    /// Finds the shops of payments to merchants that have shops. A payment with a shop was made after that was opened, and
    /// its record keeps it.
    async fn find_shops(&mut self, entries: &mut [TalliedEntry]) -> Result<(), Problem> {
        let mut of_shops = Vec::new();
        for entry in entries.iter_mut() {
            let (Some(payment), Some(merchant)) = (entry.payment, entry.merchants().next()) else { continue };
            let has_shops = match self.shops.get(&merchant) {
                Some(has_shops) => *has_shops,
                None => {
                    let first = reads::shops(self.tenant, merchant, None).limit(1);
                    let has_shops = !self.dynamo.query(&first).await?.is_empty();
                    self.shops.insert(merchant, has_shops);
                    has_shops
                }
            };
            if has_shops {
                of_shops.push((keys::payment(self.tenant, payment), entry));
            }
        }
        let keys: Vec<Key> = of_shops.iter().map(|(key, _)| key.clone()).collect();
        for ((key, entry), item) in of_shops.into_iter().zip(self.dynamo.get_many(&keys).await?) {
            entry.shop = PaymentRecord::read(&item.ok_or_else(|| ItemError::missing(key.sk()))?)?.shop;
        }
        Ok(())
    }
}

/// A segment's number and its entries.
async fn segment(dynamo: &Dynamo, tenant: &Tenant, item: &Item) -> Result<(u64, Vec<TalliedEntry>), ReadError> {
    let key = Key::stored(tenant, item.text(attr::PK)?, item.text(attr::SK)?);
    let segment = LaneSegment::read(tenant, &key.ok_or_else(|| ItemError::invalid(attr::PK))?, item)?;
    let number = segment.link.number;
    Ok((number, entries_of(dynamo, segment.records.into_iter().map(|(key, _)| key).collect()).await?))
}

/// The first segments of the chain of days after a place.
pub(super) async fn chain_segments(
    dynamo: &Dynamo,
    tenant: &Tenant,
    after: Option<ChainPlace>,
) -> Result<Vec<Segment>, ReadError> {
    let all = reads::segments(tenant, UtcDay::MIN, UtcDay::MAX);
    let after = after.map(|ChainPlace { day, number }| keys::seal(tenant, day, number).sk().to_owned());
    let items = dynamo.query(&all.after(after).limit(CHAIN_BATCH_SEGMENTS_MAX)).await?;
    Ok(items.iter().map(|item| Segment::read(tenant, item)).collect::<Result<_, _>>()?)
}

/// The entries among sealed records.
async fn entries_of(dynamo: &Dynamo, mut records: Vec<Key>) -> Result<Vec<TalliedEntry>, ReadError> {
    records.retain(|key| key.recorded() == Some(Recorded::Entry));
    let items = dynamo.get_many(&records).await?;
    let entry = |(key, item): (&Key, &Option<Item>)| {
        TalliedEntry::read(item.as_ref().ok_or_else(|| ItemError::missing(key.sk()))?)
    };
    Ok(records.iter().zip(&items).map(entry).collect::<Result<_, _>>()?)
}

fn missing(lane: u32) -> Problem {
    tracing::error!(lane, "a segment of the audit trail is missing: verify the trail");
    Problem::internal()
}
