//! Lists of the payments, refunds and top-ups of a whole tenant, found by the segments in which their beginnings are sealed.

use super::{READ_ITEMS_MAX, cursor};
use crate::app::App;
use crate::cursor::SealedCursor;
use crate::problem::Problem;
use crate::request::{Listing, SealedListing};
use crate::sealed_heads;
use crate::views::{Page, RecordView, TopupView};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{self, Key, Partition, attr};
use ledger_core::lists::{ListedKind, RecordFilter, TopupFilter};
use ledger_core::reads;
use ledger_core::sealing::lanes::Binding;
use ledger_core::sealing::{SealedKind, SealedPlace, SealedRange, SealedStep, SealedWalk};
use ledger_core::time::{Timestamp, UtcDay};
use std::collections::VecDeque;
use uuid::Uuid;

/// The most segments that a request reads.
const SEGMENTS_MAX: usize = 64;
/// The most segments that are read at once.
const SEGMENTS_AT_ONCE: usize = 16;
/// The most entries that are read at once.
const ENTRIES_AT_ONCE: usize = 50;
/// The most bindings that are read for the beginning of a list.
const BINDINGS_MAX: usize = 50;

/// How far a request has read the order.
struct Reading {
    walk: SealedWalk,
    /// Entries that the walk has passed and the request has not read.
    passed: VecDeque<(SealedPlace, Key)>,
    segments_left: usize,
    /// Whether the walk is at its end, or needs more segments than are left.
    stopped: Option<Stop>,
}

/// What a list has.
#[derive(Clone, Copy, Debug)]
enum Listed {
    Records(ListedKind),
    Topups,
}

/// Why a walk goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    AtEnd,
    SegmentsRead,
}

impl App {
    /// A page of the payments or refunds of all merchants, those that were sealed last first.
    ///
    /// Entries that are not sealed are missing: the worker seals them within two minutes.
    ///
    /// # Errors
    /// 400 for a cursor of another trail, 503 if the store cannot be read.
    pub async fn sealed_records(
        &self,
        tenant: &Tenant,
        kind: ListedKind,
        (wanted, filter): (&SealedListing, &RecordFilter),
    ) -> Result<Page<RecordView>, Problem> {
        self.sealed_page((tenant, Listed::Records(kind)), wanted, |record| shown(record, filter)).await
    }

    /// A page of the top-ups of all customers, those whose claim was sealed last first.
    ///
    /// # Errors
    /// As [`App::sealed_records`].
    pub async fn sealed_topups(
        &self,
        tenant: &Tenant,
        (wanted, filter): (&SealedListing, &TopupFilter),
    ) -> Result<Page<TopupView>, Problem> {
        let view = |topup: &Item| filter.admits(topup)?.then(|| TopupView::read_with_customer(topup)).transpose();
        self.sealed_page((tenant, Listed::Topups), wanted, view).await
    }

    /// A page of what `view` makes of the records.
    async fn sealed_page<T>(
        &self,
        (tenant, listed): (&Tenant, Listed),
        wanted: &SealedListing,
        view: impl Fn(&Item) -> Result<Option<T>, ItemError>,
    ) -> Result<Page<T>, Problem> {
        let range = SealedRange { from: wanted.from, until: wanted.until };
        let place = self.place_of(tenant, wanted, range).await?;
        let kind = match listed {
            Listed::Records(_) => SealedKind::Entries,
            Listed::Topups => SealedKind::Topups,
        };
        let walk = SealedWalk::new(tenant.clone(), kind, range, place);
        let mut reading = Reading { walk, passed: VecDeque::new(), segments_left: SEGMENTS_MAX, stopped: None };
        let (mut items, mut entries_left) = (Vec::new(), READ_ITEMS_MAX);
        let page = |items, place: Option<&SealedPlace>| {
            let next_cursor = place.map(|place| SealedCursor::at(place.clone()).to_string());
            Ok(Page { items, next_cursor })
        };
        loop {
            let at_once = wanted.limit.clamp(10, ENTRIES_AT_ONCE).min(entries_left);
            let found = self.next_entries(&mut reading, at_once).await?;
            let keys: Vec<Key> = found.iter().map(|(_, key)| key.clone()).collect();
            let records = match listed {
                Listed::Records(kind) => self.opened_records(tenant, kind, &keys).await?,
                Listed::Topups => self.claimed_topups(tenant, &keys).await?,
            };
            let stopped = reading.stopped.filter(|_| reading.passed.is_empty());
            for (at, ((place, _), record)) in (1..).zip(found.iter().zip(records)) {
                items.extend(record.as_ref().map(&view).transpose()?.flatten());
                let is_last = stopped == Some(Stop::AtEnd) && at == found.len();
                if items.len() >= wanted.limit && !is_last {
                    return page(items, Some(place));
                }
            }
            entries_left = entries_left.saturating_sub(found.len());
            match (stopped, found.last()) {
                (Some(Stop::AtEnd), _) => return page(items, None),
                (Some(Stop::SegmentsRead), _) => return page(items, Some(reading.walk.place())),
                (None, Some((last, _))) if entries_left == 0 => return page(items, Some(last)),
                (None, _) => {}
            }
        }
    }

    /// A page of the payments or refunds of a customer's wallet, newest first.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn customer_records(
        &self,
        tenant: &Tenant,
        (kind, customer): (ListedKind, CustomerId),
        listing: Listing,
        filter: &RecordFilter,
    ) -> Result<Page<RecordView>, Problem> {
        let partition = Partition::customer(tenant, customer);
        let query = match listing.from {
            None => reads::history_entries(&partition, listing.after()),
            Some(from) => reads::history_entries_from(&partition, from, listing.after()),
        };
        let found = self.dynamo().query(&query.limit(READ_ITEMS_MAX)).await?;
        let key = |item: &Item| Key::stored(tenant, item.key_text(attr::PK)?, item.key_text(attr::SK)?);
        let (mut items, mut last): (Vec<RecordView>, Option<Uuid>) = (Vec::new(), None);
        let is_all = found.len() < READ_ITEMS_MAX;
        for some in found.chunks(ENTRIES_AT_ONCE) {
            let read = some.iter().map(|item| Some(item.clone())).collect::<Vec<_>>();
            let records = self.records_opened_by(tenant, kind, &read).await?;
            for (entry, record) in some.iter().zip(records) {
                if items.len() >= listing.page.limit {
                    return Ok(Page { items, next_cursor: cursor(last) });
                }
                let id = key(entry).and_then(|key| key.entry()).ok_or_else(|| ItemError::invalid(attr::SK))?.1;
                last = Some(id.uuid());
                items.extend(record.map(|record| shown(&record, filter)).transpose()?.flatten());
            }
        }
        Ok(Page { items, next_cursor: if is_all { None } else { cursor(last) } })
    }

    /// Where a page begins.
    async fn place_of(
        &self,
        tenant: &Tenant,
        wanted: &SealedListing,
        range: SealedRange,
    ) -> Result<SealedPlace, Problem> {
        let heads = sealed_heads::heads(self.dynamo(), tenant).await?;
        if let Some(place) = wanted.cursor.as_ref().map(SealedCursor::place) {
            let is_of = place.is_of(heads.as_ref());
            return if is_of { Ok(place.clone()) } else { Err(SealedCursor::refused()) };
        }
        let bound = match range.sealed_by().filter(|_| heads.is_some()) {
            Some(until) => self.second_binding(tenant, until).await?,
            None => None,
        };
        Ok(bound.map_or_else(|| SealedPlace::first(heads.as_ref()), |binding| SealedPlace::bound(&binding)))
    }

    /// The second of the bindings that were written at an instant or later.
    async fn second_binding(&self, tenant: &Tenant, from: Timestamp) -> Result<Option<Binding>, Problem> {
        let query = reads::bindings(tenant, from.utc_day(), UtcDay::MAX).limit(BINDINGS_MAX);
        let read = |item: &Item| {
            let key = Key::stored(tenant, item.text(attr::PK)?, item.text(attr::SK)?);
            Binding::read(tenant, &key.ok_or_else(|| ItemError::invalid(attr::PK))?, item)
        };
        let found = self.dynamo().query(&query).await?;
        let found = found.iter().map(read).collect::<Result<Vec<_>, ItemError>>()?;
        Ok(found.into_iter().filter(|binding| binding.bound_at >= from).nth(1))
    }

    /// The next `wanted` entries; fewer where the walk stops.
    async fn next_entries(&self, reading: &mut Reading, wanted: usize) -> Result<Vec<(SealedPlace, Key)>, Problem> {
        while reading.passed.len() < wanted && reading.stopped.is_none() {
            match reading.walk.step(reading.segments_left.min(SEGMENTS_AT_ONCE)) {
                SealedStep::Segments(_) if reading.segments_left == 0 => {
                    reading.stopped = Some(Stop::SegmentsRead);
                }
                SealedStep::Segments(keys) => {
                    let items = self.dynamo().get_many(&keys).await?;
                    reading.walk.add_segments(&keys, &items)?;
                    reading.segments_left = reading.segments_left.saturating_sub(keys.len());
                }
                SealedStep::Entries(entries) => reading.passed.extend(entries),
                SealedStep::End => reading.stopped = Some(Stop::AtEnd),
            }
        }
        Ok(reading.passed.drain(..wanted.min(reading.passed.len())).collect())
    }

    async fn claimed_topups(&self, tenant: &Tenant, steps: &[Key]) -> Result<Vec<Option<Item>>, Problem> {
        let topups = steps.iter().filter_map(Key::claimed_topup).map(|id| keys::topup(tenant, id));
        Ok(self.dynamo().get_many(&topups.collect::<Vec<_>>()).await?)
    }

    async fn opened_records(
        &self,
        tenant: &Tenant,
        kind: ListedKind,
        entries: &[Key],
    ) -> Result<Vec<Option<Item>>, Problem> {
        let entries = self.dynamo().get_many(entries).await?;
        self.records_opened_by(tenant, kind, &entries).await
    }

    /// The record that each of the entries opened; `None` for one that opened none of this kind.
    async fn records_opened_by(
        &self,
        tenant: &Tenant,
        kind: ListedKind,
        entries: &[Option<Item>],
    ) -> Result<Vec<Option<Item>>, Problem> {
        let key = |entry: &Option<Item>| {
            let entry = entry.as_ref().map(JournalEntry::read).transpose()?;
            Ok(entry.and_then(|entry| kind.opened_by(tenant, &entry)))
        };
        let keys = entries.iter().map(key).collect::<Result<Vec<Option<Key>>, ItemError>>()?;
        let opened: Vec<Key> = keys.iter().flatten().cloned().collect();
        let mut records = self.dynamo().get_many(&opened).await?.into_iter();
        Ok(keys.into_iter().map(|key| key.and_then(|_| records.next().flatten())).collect())
    }
}

/// The record as a list of the tenant shows it, if the filter admits it.
fn shown(record: &Item, filter: &RecordFilter) -> Result<Option<RecordView>, ItemError> {
    if filter.admits(record)? { RecordView::read_with_merchant(record).map(Some) } else { Ok(None) }
}
