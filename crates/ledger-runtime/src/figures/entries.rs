//! Reads the entries of segments and adds them up by posting day.

use crate::dynamo::{Dynamo, ReadError};
use crate::problem::Problem;
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::figures::{Posted, PostingDays, TalliedEntry, Tally};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, Key, Recorded, attr};
use ledger_core::payments::PaymentRecord;
use ledger_core::reads;
use ledger_core::sealing::lanes::LaneSegment;
use ledger_core::time::{BusinessDate, Timestamp};
use std::collections::BTreeMap;

/// The number of segments whose entries are read at once.
const SEGMENTS_AT_ONCE: u64 = 16;

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
