//! Lists that are sorted by ids, newest first, within a range of time and with filters.
//!
//! A range is a range of keys, so nothing outside of it is read. Other filters are applied to items after they are read;
//! the number of items that a request reads has a bound, so a page may be short, or empty, and still have a cursor.

mod sealed;

use crate::app::App;
use crate::cursor::{Cursor, PairCursor};
use crate::problem::Problem;
use crate::request::{HistoryListing, Listing, RecordListing, TopupListing};
use crate::views::{HistoryView, HoldView, Page, RecordView, SettlementView, TopupView};
use futures::future::try_join_all;
use ledger_core::account::Account;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{CustomerId, MerchantId, PaymentId, Tenant, born_at, least_born_at, parse_uuid};
use ledger_core::journal::HistoryLine;
use ledger_core::keys::{self, Key, Partition, Shards, attr};
use ledger_core::lists::{HoldFilter, RecordFilter};
use ledger_core::payments::PaymentRecord;
use ledger_core::reads::{self, Query};
use ledger_core::settlements::{Settlement, SettlementState};
use ledger_core::topups::TopupRecord;
use uuid::Uuid;

/// The most items of a list that a request with a filter reads.
pub const READ_ITEMS_MAX: usize = 200;
/// The number of records that are read by their keys at once.
const RECORDS_AT_ONCE: usize = 50;

impl App {
    /// A page of a party's history, newest first: its own entries and the references to others'.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn history(
        &self,
        partition: &Partition,
        party: Account,
        HistoryListing { listing, filter }: &HistoryListing,
    ) -> Result<Page<HistoryView>, Problem> {
        let listing = *listing;
        let read = read_max(listing.page.limit, filter.is_everything());
        let found = self.dynamo().history(partition, (listing.from, listing.after()), read).await?;
        let line = |item: &Item| {
            let line = HistoryLine::read(item, Some(party))?;
            Ok(filter.admits(&line).then(|| HistoryView::from(line)))
        };
        Ok(sifted(Found::sorted(found, "transaction_id", read)?, listing, line)?)
    }

    /// A page of a merchant's payments and refunds, newest first, merged from the index's shards.
    ///
    /// The index is eventually consistent: records just written may be missing. It gives the keys alone; the records
    /// are read consistently. A page lacks a record that does not exist, and its cursor is that of the index.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn merchant_records(
        &self,
        tenant: &Tenant,
        (merchant, shards): (MerchantId, Shards),
        listing: Listing,
        filter: &RecordFilter,
    ) -> Result<(Vec<Item>, Option<String>), Problem> {
        let query = |shard| match listing.from {
            None => reads::merchant_records(tenant, merchant, shard),
            Some(from) => reads::merchant_records_from(tenant, (merchant, shard), from),
        };
        let read = read_max(listing.page.limit, filter.is_everything());
        let queries = (0..shards.count()).map(|shard| query(shard).newest_first());
        let found = self.newest_entries(queries.collect(), listing, read).await?;
        self.records_of(tenant, found, listing, |item| filter.admits(item)).await
    }

    /// A page of a merchant's payments and refunds, as the merchant and the operator see it.
    ///
    /// # Errors
    /// 404 if there is no such merchant, 503 if the store cannot be read.
    pub async fn merchant_payments(
        &self,
        tenant: &Tenant,
        merchant: MerchantId,
        wanted: &RecordListing,
    ) -> Result<Page<RecordView>, Problem> {
        let merchant = self.merchant(tenant, merchant).await?;
        let of = (merchant.id, merchant.shards);
        let (items, next_cursor) = self.merchant_records(tenant, of, wanted.listing, &wanted.filter).await?;
        let items = items.iter().map(RecordView::read).collect::<Result<_, ItemError>>()?;
        Ok(Page { items, next_cursor })
    }

    /// A page of a customer's top-ups, newest first.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn topups(
        &self,
        tenant: &Tenant,
        customer: CustomerId,
        TopupListing { listing, filter }: &TopupListing,
    ) -> Result<Page<TopupView>, Problem> {
        let query = reads::topups(tenant, customer, listing.from).newest_first();
        let read = read_max(listing.page.limit, filter.is_everything());
        let found = self.newest_entries(vec![query], *listing, read).await?;
        let (items, next_cursor) = self.records_of(tenant, found, *listing, |item| filter.admits(item)).await?;
        let view = |item| TopupRecord::read(item).map(|topup| TopupView::from(&topup));
        Ok(Page { items: items.iter().map(view).collect::<Result<_, ItemError>>()?, next_cursor })
    }

    /// A page of the settlements of all merchants, newest first, in one state or in any.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn settlements_of_tenant(
        &self,
        tenant: &Tenant,
        listing: Listing,
        (state, to_review): (Option<SettlementState>, bool),
    ) -> Result<Page<SettlementView>, Problem> {
        let query = reads::settlements_of_tenant(tenant, listing.from).newest_first();
        let found = self
            .newest_entries(vec![query], listing, read_max(listing.page.limit, state.is_none() && !to_review))
            .await?;
        let admits = |item: &Item| {
            let is_of_state = state.is_none_or(|state| item.text("state").ok() == Some(state.name()));
            Ok(is_of_state && (!to_review || item.flag("to_review")?))
        };
        let (items, next_cursor) = self.records_of(tenant, found, listing, admits).await?;
        let settlements = items.iter().map(Settlement::read).collect::<Result<Vec<_>, ItemError>>()?;
        Ok(Page { items: self.settlement_views(tenant, &settlements).await?, next_cursor })
    }

    /// A page of what `view` makes of the items of a query of a partition, of which at most `read` are read.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn sifted_list<T>(
        &self,
        query: Query,
        id_attribute: &str,
        (listing, read): (Listing, usize),
        view: impl FnMut(&Item) -> Result<Option<T>, ItemError>,
    ) -> Result<Page<T>, Problem> {
        let found = self.dynamo().query(&query.limit(read)).await?;
        Ok(sifted(Found::sorted(found, id_attribute, read)?, listing, view)?)
    }

    /// A page of the open holds, the one that expires first first.
    ///
    /// Holds that were just opened may be missing.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn open_holds(
        &self,
        tenant: &Tenant,
        (limit, cursor): (usize, Option<PairCursor>),
        filter: HoldFilter,
    ) -> Result<Page<HoldView>, Problem> {
        let shards = self.terms(tenant).await?.due_shards;
        let after = cursor.map(PairCursor::ids).and_then(|(at, id)| Some(keys::listed_from(born_at(at)?, id)));
        let read = read_max(limit, filter.is_everything());
        let queries =
            (0..shards.count()).map(|shard| reads::open_holds(tenant, shard).after(after.clone()).limit(read));
        let queries: Vec<Query> = queries.collect();
        let found = try_join_all(queries.iter().map(|query| self.dynamo().query(query))).await?;
        let mut listed = found.into_iter().flatten().collect::<Vec<Item>>();
        listed.sort_by(|a, b| a.key_text(attr::OWNER_SK).cmp(&b.key_text(attr::OWNER_SK)));
        let mut is_cut = listed.len() >= read;
        listed.truncate(read);
        let key = |item: &Item| Ok(Key::stored(tenant, item.text(attr::PK)?, item.text(attr::SK)?));
        let keys = listed.iter().filter_map(|item| key(item).transpose()).collect::<Result<Vec<Key>, ItemError>>()?;
        let (mut wanted, mut last) = (Vec::new(), None);
        for hold in self.dynamo().get_many(&keys).await?.into_iter().flatten() {
            if wanted.len() >= limit {
                is_cut = true;
                break;
            }
            let (id, at) = (hold.parsed("payment_id", PaymentId::parse)?, hold.timestamp("expires_at")?);
            last = Some(PairCursor::after(least_born_at(at), id.uuid()));
            if filter.admits(&hold)? {
                wanted.push(keys::payment(tenant, id));
            }
        }
        let mut items = Vec::new();
        // The index may lag behind the end of a hold.
        for payment in self.dynamo().get_many(&wanted).await?.into_iter().flatten() {
            items.extend(HoldView::of(&PaymentRecord::read(&payment)?));
        }
        Ok(Page { items, next_cursor: last.filter(|_| is_cut).map(|last| last.to_string()) })
    }

    /// The newest `read` entries of several partitions of the index by owner.
    pub(crate) async fn newest_entries(
        &self,
        queries: Vec<Query>,
        listing: Listing,
        read: usize,
    ) -> Result<Found, Problem> {
        let after = listing.after().map(|id| id.to_string());
        let queries = queries.into_iter().map(|query| query.after(after.clone()).limit(read)).collect::<Vec<_>>();
        let found = try_join_all(queries.iter().map(|query| self.dynamo().query(query))).await?;
        Ok(Found::sorted(found.into_iter().flatten().collect(), attr::OWNER_SK, read)?)
    }

    /// The page of those records that index entries name and `admits` wants, and the next cursor.
    pub(crate) async fn records_of(
        &self,
        tenant: &Tenant,
        found: Found,
        listing: Listing,
        admits: impl Fn(&Item) -> Result<bool, ItemError>,
    ) -> Result<(Vec<Item>, Option<String>), Problem> {
        let limit = listing.page.limit;
        // Each record that does not exist takes the place of one that does.
        let (mut records, mut taken, mut last) = (Vec::new(), 0_usize, None);
        let mut rest = found.items.as_slice();
        let at_once = if found.read > limit.saturating_add(1) { limit.max(RECORDS_AT_ONCE) } else { limit };
        while let Some((some, more)) =
            rest.split_at_checked(at_once.min(rest.len())).filter(|(some, _)| !some.is_empty())
        {
            if taken >= limit {
                return Ok((records, cursor(last)));
            }
            let key = |entry: &Item| Key::stored(tenant, entry.key_text(attr::PK)?, entry.key_text(attr::SK)?);
            let keys = some.iter().map(|(_, entry)| key(entry).ok_or_else(|| ItemError::invalid(attr::PK)));
            let read = self.dynamo().get_many(&keys.collect::<Result<Vec<_>, _>>()?).await?;
            for ((id, _), record) in some.iter().zip(read) {
                if taken >= limit {
                    return Ok((records, cursor(last)));
                }
                last = Some(*id);
                let is_wanted = record.as_ref().map_or(Ok(true), &admits)?;
                taken = taken.saturating_add(is_wanted.into());
                records.extend(record.filter(|_| is_wanted));
            }
            rest = more;
        }
        Ok((records, if found.is_all { None } else { cursor(last) }))
    }
}

/// Items of a list by their ids, newest first.
#[derive(Debug)]
pub(crate) struct Found {
    items: Vec<(Uuid, Item)>,
    /// The most that were read.
    read: usize,
    /// Whether nothing follows them.
    is_all: bool,
}

impl Found {
    /// The items, newest first.
    pub(crate) fn into_items(self) -> Vec<(Uuid, Item)> {
        self.items
    }

    /// Sorts what queries with the limit `read` gave by the id in an attribute, and keeps the newest `read`.
    pub(crate) fn sorted(items: Vec<Item>, id_attribute: &str, read: usize) -> Result<Self, ItemError> {
        let mut items = items
            .into_iter()
            .map(|item| Ok((item.parsed(id_attribute, parse_uuid)?, item)))
            .collect::<Result<Vec<_>, ItemError>>()?;
        items.sort_by(|(a, _), (b, _)| b.cmp(a));
        let is_all = items.len() < read;
        items.truncate(read);
        Ok(Self { items, read, is_all })
    }
}

/// How many items a request reads: one more than it shows, because that shows whether another page follows.
pub(crate) fn read_max(limit: usize, is_everything_wanted: bool) -> usize {
    if is_everything_wanted { limit.saturating_add(1) } else { READ_ITEMS_MAX }
}

/// The page of what `view` makes of the items, and the cursor after the last item that was looked at.
pub(crate) fn sifted<T>(
    found: Found,
    listing: Listing,
    mut view: impl FnMut(&Item) -> Result<Option<T>, ItemError>,
) -> Result<Page<T>, ItemError> {
    let (mut items, mut last) = (Vec::new(), None);
    let least = listing.from.map(least_born_at);
    for (id, item) in &found.items {
        if least.is_some_and(|least| *id < least) {
            return Ok(Page { items, next_cursor: None });
        }
        if items.len() >= listing.page.limit {
            return Ok(Page { items, next_cursor: cursor(last) });
        }
        last = Some(*id);
        items.extend(view(item)?);
    }
    Ok(Page { items, next_cursor: if found.is_all { None } else { cursor(last) } })
}

pub(crate) fn cursor(last: Option<Uuid>) -> Option<String> {
    last.map(|id| Cursor::after(id).to_string())
}

#[cfg(test)]
mod tests;
