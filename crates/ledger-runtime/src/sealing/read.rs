//! Lists the records that are due to be sealed, page by page: journal entries as they are published, other records by
//! their due index entries, and acts by the time in their ids. Each is read consistently.

use super::{ACTS_MARGIN, LATE_AFTER, Pass};
use crate::app::App;
use crate::dynamo::{Dynamo, ReadError, Readable};
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::publishing::{Due, Published, Sweep, SweptEntry, mark_published};
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::Tenant;
use ledger_core::keys::{AUDIT_SHARDS, Key, Shards, attr};
use ledger_core::operation::Operation;
use ledger_core::reads::{self, Query};
use ledger_core::sealing::{Sealable, is_sealed, unmark};
use ledger_core::staff::is_act_of_recovery;
use ledger_core::time::{Timestamp, UtcDay};
use ledger_core::transaction::MAX_ITEMS;
use std::collections::{BTreeSet, VecDeque};

/// The number of records per page.
const PAGE_ITEMS: usize = 100;
/// The fewest shards that are listed at once.
pub(super) const SHARDS_AT_ONCE: usize = 4;

/// A list of the due records.
pub(super) struct Listed {
    tenant: Tenant,
    shards_count: Shards,
    /// The entries to publish, listed with the records that are only to be sealed; `None` once all are listed.
    entries: Option<Sweep>,
    /// Whether the last page was one of entries. Pages alternate, so that a backlog of one kind does not stop the other.
    was_of_entries: bool,
    /// What was published.
    published: Published,
    /// The shards of the due index that are not read to their end, where no entries are published.
    shards: VecDeque<Page>,
    /// The acts, which are read after them; `None` once they are read to their end.
    acts: Option<ActsOfDay>,
}

/// The acts of a day that are not read, and the days after it.
struct ActsOfDay {
    /// The instant from which acts are listed.
    from: Timestamp,
    day: UtcDay,
    last_day: UtcDay,
    /// The shards of the day that are not read to their end.
    shards: Vec<Page>,
}

/// The next page of a source.
struct Page {
    query: Query,
    after: Option<String>,
}

/// The records of a few pages.
#[derive(Default)]
pub(super) struct Found {
    pub(super) waiting: Vec<Sealable>,
    /// The waiting entries that this run has published.
    pub(super) published: Vec<Key>,
    /// Sealed records that still have a due index entry.
    pub(super) sealed: Vec<Key>,
    /// The times in the ids of sealed acts.
    pub(super) sealed_acts: Vec<Timestamp>,
    /// Every act whose id has a time before this is listed; `None` if the page has no acts.
    pub(super) acts_listed_until: Option<Timestamp>,
    /// Whether an act cannot be read.
    pub(super) has_unreadable_act: bool,
}

impl Listed {
    /// What is due at `now`. Acts are listed from `acts_from` on, up to ids of clocks that are ahead.
    pub(super) fn of(tenant: &Tenant, pass: Pass, (acts_from, now): (Timestamp, Timestamp)) -> Self {
        let page = |query| Page { query, after: None };
        let listed = if pass.entries.is_none() { pass.shards.count() } else { 0 };
        let shards = (0..listed).map(|shard| page(reads::records_unsealed(tenant, shard))).collect();
        Self {
            tenant: tenant.clone(),
            shards_count: pass.shards,
            entries: pass.entries,
            was_of_entries: false,
            published: Published::default(),
            shards,
            acts: ActsOfDay::of(tenant, acts_from, (acts_from.utc_day(), now.plus(ACTS_MARGIN).utc_day())),
        }
    }

    /// Whether everything is listed.
    pub(super) fn is_done(&self) -> bool {
        self.entries.is_none() && self.shards.is_empty() && self.acts_are_done()
    }

    /// What was published so far.
    pub(super) fn published(&self) -> Published {
        self.entries.as_ref().map_or(self.published, Sweep::done)
    }

    /// Whether every act is listed.
    pub(super) fn acts_are_done(&self) -> bool {
        self.acts.is_none()
    }

    /// The next page of entries, of up to `at_once` shards, or of the acts after them; `None` after the last. A record
    /// that cannot be read is logged, set as `fault` and skipped.
    pub(super) async fn next(
        &mut self,
        app: &App,
        at_once: usize,
        fault: &mut Option<Problem>,
    ) -> Result<Option<Found>, Problem> {
        let mut found = Found::default();
        let is_turn_of_others = self.was_of_entries && !(self.shards.is_empty() && self.acts_are_done());
        self.was_of_entries = false;
        if !is_turn_of_others && let Some(entries) = &mut self.entries {
            self.was_of_entries = true;
            match entries.next(fault).await? {
                Some(swept) => {
                    let to_seal = entries.take_to_seal();
                    self.add_swept(app, &mut found, swept, fault).await?;
                    let items = records(app.dynamo(), &to_seal).await?;
                    for (key, item) in to_seal.into_iter().zip(items) {
                        self.add_marked(&mut found, key, item, fault)?;
                    }
                }
                None => (self.published, self.entries) = (entries.done(), None),
            }
        } else if !self.shards.is_empty() {
            let pages: Vec<Page> = self.shards.drain(..self.shards.len().min(at_once.max(1))).collect();
            let listed = try_join_all(pages.into_iter().map(|page| marked(app.dynamo(), &self.tenant, page))).await?;
            for (next, records) in listed {
                self.shards.extend(next);
                for (key, item) in records {
                    self.add_marked(&mut found, key, item, fault)?;
                }
            }
        } else if let Some(acts) = self.acts.take() {
            let (rows, listed_until, next) = acts.read(app.dynamo(), &self.tenant).await?;
            (self.acts, found.acts_listed_until) = (next, listed_until);
            for row in &rows {
                let Some(key) = key_of(&self.tenant, &row.item) else { continue };
                // The table is read consistently: what is listed is the record itself.
                let record = row.whole().and_then(|item| Sealable::read(&self.tenant, item));
                match record {
                    Ok(Some(record)) => {
                        if row.whole().is_ok_and(is_act_of_recovery) {
                            app.metrics().count(Metric::OwnerRecovery, &self.tenant, Operation::OwnerRecovery);
                        }
                        found.waiting.push(record);
                    }
                    Ok(None) => found.sealed_acts.extend(key.born()),
                    Err(error) => {
                        found.has_unreadable_act = true;
                        self.cannot_be_sealed(&key, error, fault);
                    }
                }
            }
        } else {
            return Ok(None);
        }
        Ok(Some(found))
    }

    async fn add_swept(
        &self,
        app: &App,
        found: &mut Found,
        swept: Vec<SweptEntry>,
        fault: &mut Option<Problem>,
    ) -> Result<(), Problem> {
        let mut not_to_be_sealed = Vec::new();
        for entry in swept {
            let SweptEntry { key, row, is_published } = entry;
            match row.whole().and_then(|item| Sealable::read(&self.tenant, item)) {
                Ok(Some(record)) if is_published => {
                    found.published.push(key);
                    found.waiting.push(record);
                }
                // It is younger: the next run may publish it in time.
                Ok(Some(record)) if app.now().since(record.at()) < LATE_AFTER => {}
                Ok(Some(record)) => found.waiting.push(record.unpublished(&self.tenant, self.shards_count)),
                // It was put aside: it is no entry.
                Ok(None) if is_published && key.entry().is_none() => not_to_be_sealed.push(key),
                Ok(None) if is_published => found.sealed.push(key),
                // It is sealed, and published by a later run.
                Ok(None) => {}
                Err(error) => {
                    self.cannot_be_sealed(&key, error, fault);
                    not_to_be_sealed.extend(is_published.then_some(key));
                }
            }
        }
        mark_published(app.ledger(), &self.tenant, self.shards_count, &not_to_be_sealed).await
    }

    fn add_marked(
        &self,
        found: &mut Found,
        key: Key,
        item: Result<Option<Item>, ReadError>,
        fault: &mut Option<Problem>,
    ) -> Result<(), Problem> {
        let read = |item: Item| -> Result<_, ItemError> {
            let is_left = is_sealed(&item) && item.contains_key(attr::DUE_PK);
            Ok((is_left, Sealable::read(&self.tenant, &item)?))
        };
        // The index may lag: a record that is missing, or sealed by now, is skipped.
        match item.map(|item| item.map(read).transpose()) {
            Ok(Ok(None)) => {}
            Ok(Ok(Some((true, _)))) => found.sealed.push(key),
            Ok(Ok(Some((false, record)))) => found.waiting.extend(record),
            Ok(Err(error)) | Err(ReadError::Unreadable(error)) => self.cannot_be_sealed(&key, error, fault),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn cannot_be_sealed(&self, key: &Key, error: ItemError, fault: &mut Option<Problem>) {
        tracing::error!(tenant = %self.tenant, record = key.sk(), "a record cannot be sealed");
        *fault = Some(error.into());
    }
}

/// Removes the records at these positions and returns their keys.
pub(super) fn drop_at(records: &mut Vec<Sealable>, positions: &[usize]) -> Vec<Key> {
    let mut at = 0_usize;
    let dropped = records.extract_if(.., |_| {
        let is_dropped = positions.contains(&at);
        at = at.saturating_add(1);
        is_dropped
    });
    dropped.map(|record| record.key().clone()).collect()
}

/// Removes the first records and returns their keys.
pub(super) fn drop_first(records: &mut Vec<Sealable>, count: usize) -> Vec<Key> {
    records.drain(..count).map(|record| record.key().clone()).collect()
}

/// Entries that this run has published and not sealed yet.
#[derive(Default)]
pub(super) struct Unsealed(BTreeSet<Key>);

impl Unsealed {
    pub(super) fn add(&mut self, published: Vec<Key>) {
        self.0.extend(published);
    }

    pub(super) fn remove(&mut self, sealed: &[Key]) {
        for key in sealed {
            self.0.remove(key);
        }
    }

    /// Records in the due index entries of those that cannot be sealed that they were published, so that the next run does
    /// not publish them again.
    pub(super) async fn put_off(
        &self,
        app: &App,
        tenant: &Tenant,
        shards: Shards,
        cannot_be_sealed: impl Fn(&Key) -> bool,
    ) -> Result<(), Problem> {
        let entries = self.0.iter().filter(|key| cannot_be_sealed(key)).cloned();
        mark_published(app.ledger(), tenant, shards, &entries.collect::<Vec<_>>()).await
    }
}

type Marked = Vec<(Key, Result<Option<Item>, ReadError>)>;

/// The records that a page of a shard names as only to be sealed, read consistently, and the page after it.
async fn marked(dynamo: &Dynamo, tenant: &Tenant, page: Page) -> Result<(Option<Page>, Marked), Problem> {
    let (rows, next) = page.read(dynamo).await?;
    let to_seal = |row| match Due::of(tenant, row)? {
        Due::Seal(key) => Some(key),
        Due::Publish(..) | Due::None(_) => None,
    };
    let keys: Vec<Key> = rows.iter().filter_map(to_seal).collect();
    let items = records(dynamo, &keys).await?;
    Ok((next, keys.into_iter().zip(items).collect()))
}

impl Page {
    async fn read(mut self, dynamo: &Dynamo) -> Result<(Vec<Readable>, Option<Self>), ReadError> {
        let query = self.query.clone().after(self.after.take()).limit(PAGE_ITEMS);
        let rows = dynamo.query_readable(&query).await?;
        let last = rows.last().and_then(|row| row.item.key_text(self.query.sort_attribute()));
        self.after = last.filter(|_| rows.len() >= PAGE_ITEMS).map(str::to_owned);
        let next = self.after.is_some().then_some(self);
        Ok((rows, next))
    }
}

impl ActsOfDay {
    /// The acts of days from `from` on; `None` if `day` is after the last of them.
    fn of(tenant: &Tenant, from: Timestamp, (day, last_day): (UtcDay, UtcDay)) -> Option<Self> {
        let page = |shard| Page { query: reads::acts_from(tenant, (day, shard), from), after: None };
        let shards = (0..AUDIT_SHARDS.count()).map(page).collect();
        (day <= last_day).then_some(Self { from, day, last_day, shards })
    }

    /// A page of each shard, the time before which every act is listed after it, and what follows.
    async fn read(
        self,
        dynamo: &Dynamo,
        tenant: &Tenant,
    ) -> Result<(Vec<Readable>, Option<Timestamp>, Option<Self>), ReadError> {
        let Self { from, day, last_day, shards } = self;
        let pages = try_join_all(shards.into_iter().map(|page| page.read(dynamo))).await?;
        let (mut rows, mut shards, mut until) = (Vec::new(), Vec::new(), day.end());
        for (page, next) in pages {
            if let Some(next) = next {
                let last = page.last().and_then(|row| key_of(tenant, &row.item)).and_then(|key| key.born());
                // Without a time in the id, the day is listed again.
                until = until.min(last.unwrap_or(from));
                shards.push(next);
            }
            rows.extend(page);
        }
        let next = if shards.is_empty() {
            day.next().and_then(|next| Self::of(tenant, from, (next, last_day)))
        } else {
            Some(Self { from, day, last_day, shards })
        };
        Ok((rows, Some(until), next))
    }
}

/// Removes the due index entries of sealed records.
pub(super) async fn unmark_sealed(app: &App, tenant: &Tenant, sealed: &[Key]) -> Result<(), Problem> {
    for few in sealed.chunks(MAX_ITEMS) {
        let built = unmark(few).map_err(|error| app.ledger().broken(tenant, Operation::Sealing, &error.to_string()))?;
        let _ = app.ledger().attempt(tenant, Operation::Sealing, &built).await?;
    }
    Ok(())
}

/// The items with these keys, in order. One that cannot be read does not fail the others.
pub(super) async fn records(dynamo: &Dynamo, keys: &[Key]) -> Result<Vec<Result<Option<Item>, ReadError>>, ReadError> {
    match dynamo.get_many(keys).await {
        Ok(items) => Ok(items.into_iter().map(Ok).collect()),
        Err(ReadError::Unreadable(_)) => {
            let mut items = Vec::with_capacity(keys.len());
            for key in keys {
                items.push(dynamo.get(key).await);
            }
            Ok(items)
        }
        Err(error) => Err(error),
    }
}

/// The key of a tenant's item.
pub(super) fn key_of(tenant: &Tenant, item: &Item) -> Option<Key> {
    Key::stored(tenant, item.key_text(attr::PK)?, item.key_text(attr::SK)?)
}
