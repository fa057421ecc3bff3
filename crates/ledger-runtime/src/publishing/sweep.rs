//! Publishing all that is due for a tenant, step by step, for the worker that seals what was published. The same list has
//! the records that are only to be sealed.

use super::{DueEntries, DueEntry, Home, Published, Publisher, Round, Sending, key_of};
use crate::dynamo::{Dynamo, ReadError, Readable};
use crate::metrics::Metric;
use crate::problem::Problem;
use futures::future::try_join_all;
use ledger_core::dynamo::Attributes;
use ledger_core::ids::{Tenant, born_at};
use ledger_core::keys::{Key, Recorded, Shards, Unpublished, attr};
use ledger_core::operation::Operation;
use ledger_core::reads::{self, Query};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;
use uuid::Uuid;

/// How many entries of a shard one query reads.
const PAGE_ITEMS: usize = 100;
/// How many accounts one step reads. With at most 100 entries each, this bounds what a step holds.
const ACCOUNTS_AT_ONCE: usize = 160;
/// A step in which this many accounts wait and none got an event sent: no event is taken at present.
const OUT_OF_SERVICE_ACCOUNTS: usize = 10;

/// A pass over all due entries of a tenant, oldest first.
pub struct Sweep {
    publisher: Publisher,
    tenant: Tenant,
    shards: Shards,
    marks: Marks,
    /// Accounts of the last page that have more.
    homes: Vec<Home>,
    /// The partitions of accounts that were read.
    seen: BTreeSet<String>,
    /// Listed records that are only to be sealed.
    to_seal: Vec<Key>,
    is_measured: bool,
    sending: Sending,
    done: Published,
}

impl fmt::Debug for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sweep of {}", self.tenant)
    }
}

/// A due entry after a step of a sweep.
#[derive(Debug)]
pub struct SweptEntry {
    /// Its key.
    pub key: Key,
    /// The entry, read consistently.
    pub row: Readable,
    /// Whether its event was taken, or it was put aside. If not, it waits.
    pub is_published: bool,
}

/// Whether any entry of a tenant waits to be published, for a function without a queue.
///
/// # Errors
/// [`ReadError`] if the table did not answer.
pub async fn any_waits(dynamo: &Dynamo, tenant: &Tenant, shards: Shards) -> Result<bool, ReadError> {
    let mut marks = Marks::of(tenant, shards);
    while let Some(rows) = marks.more(dynamo).await? {
        if rows.iter().any(|row| matches!(Due::of(tenant, row), Some(Due::Publish(..) | Due::None(_)))) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Sweep {
    pub(super) fn new(publisher: Publisher, tenant: Tenant, shards: Shards) -> Self {
        let marks = Marks::of(&tenant, shards);
        Self {
            publisher,
            tenant,
            shards,
            marks,
            homes: Vec::new(),
            seen: BTreeSet::new(),
            to_seal: Vec::new(),
            is_measured: false,
            sending: Sending::Due,
            done: Published::default(),
        }
    }

    /// Publishes the next few entries and returns them, with those that must wait, which are sealed and published late;
    /// `None` after the last. Accounts and entries that cannot be read are skipped, with the problem in `fault`.
    ///
    /// # Errors
    /// 503 if the index cannot be read.
    pub async fn next(&mut self, fault: &mut Option<Problem>) -> Result<Option<Vec<SweptEntry>>, Problem> {
        if self.homes.is_empty() && !self.next_page(fault).await? {
            return Ok(None);
        }
        let few = self.homes.drain(..self.homes.len().min(ACCOUNTS_AT_ONCE)).collect();
        let round = self.publisher.round(&self.tenant, few, self.sending).await;
        let Round { homes, sent, unsent, done, fault: of_round } = round;
        *fault = fault.take().or(of_round);
        self.done.add(done);
        self.homes.extend(homes.into_iter().filter(Home::has_unread));
        if done.published == 0 && done.waiting >= OUT_OF_SERVICE_ACCOUNTS {
            self.sending = Sending::Nothing;
            self.marks.skip_late();
        }
        Ok(Some(sent.into_iter().chain(unsent).map(SweptEntry::of).collect()))
    }

    /// The records that were listed since the last call and are only to be sealed: trail records, and entries that an earlier
    /// run has published.
    #[must_use]
    pub fn take_to_seal(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.to_seal)
    }

    /// What was published.
    #[must_use]
    pub fn done(&self) -> Published {
        self.done
    }

    /// Reads the next page of each shard; `false` if all have been read to their end.
    async fn next_page(&mut self, fault: &mut Option<Problem>) -> Result<bool, Problem> {
        let Some(rows) = self.marks.more(self.publisher.ledger.dynamo()).await? else { return Ok(false) };
        if !std::mem::replace(&mut self.is_measured, true) {
            self.publisher.measure_oldest(&self.tenant, &rows);
        }
        let mut due_entries = DueEntries::new();
        for due in rows.iter().filter_map(|row| Due::of(&self.tenant, row)) {
            match due {
                Due::Publish(key, _) if self.seen.contains(key.pk()) => {}
                Due::Publish(key, _) => {
                    due_entries.entry(key.pk().to_owned()).or_default().insert(key);
                }
                Due::Seal(key) => self.to_seal.push(key),
                Due::None(key) => match self.publisher.put_aside(&self.tenant, self.shards, &key).await {
                    Ok(done) => self.done.add(done),
                    Err(problem) => *fault = fault.take().or(Some(problem)),
                },
            }
        }
        self.seen.extend(due_entries.keys().cloned());
        let floor = self.marks.floor();
        self.homes.extend(due_entries.into_values().filter_map(|keys| Home::of(keys, floor)));
        Ok(true)
    }
}

impl SweptEntry {
    fn of(entry: DueEntry) -> Self {
        let is_published = entry.is_sent();
        Self { key: entry.key, row: entry.row, is_published }
    }
}

/// What an index entry of a partition of publications is due for.
pub(crate) enum Due {
    /// A journal entry to publish and to seal, with its id.
    Publish(Key, Uuid),
    /// A record that is only to be sealed.
    Seal(Key),
    /// An item that is neither.
    None(Key),
}

impl Due {
    pub(crate) fn of(tenant: &Tenant, row: &Readable) -> Option<Self> {
        let key = key_of(tenant, &row.item)?;
        let due = row.item.key_text(attr::DUE_SK).and_then(Unpublished::parse);
        Some(match (key.recorded(), due) {
            (Some(Recorded::Entry), Some(due)) if due.is_published() => Self::Seal(key),
            // An entry is due under its id, whatever the index says.
            (Some(Recorded::Entry), due) => {
                let id = due.map_or(Uuid::nil(), |due| due.id);
                Self::Publish(key, id)
            }
            (Some(Recorded::Step), _) => Self::Seal(key),
            (Some(Recorded::Act) | None, _) => Self::None(key),
        })
    }
}

/// The due index entries of a tenant, page by page over all shards.
struct Marks(Vec<Shard>);

struct Shard {
    query: Query,
    /// Whether its entries are sealed and late.
    is_late: bool,
    /// The last index entry that was read.
    after: Option<String>,
    /// Whether all of it was read.
    is_read: bool,
    /// Whether it is read no further.
    is_skipped: bool,
}

impl Marks {
    fn of(tenant: &Tenant, shards: Shards) -> Self {
        let shard = |(query, is_late): (Query, bool)| {
            let query = query.limit(PAGE_ITEMS);
            Shard { query, is_late, after: None, is_read: false, is_skipped: false }
        };
        let works = |shard| {
            [(reads::entries_to_publish_late(tenant, shard), true), (reads::records_unsealed(tenant, shard), false)]
        };
        Self((0..shards.count()).flat_map(works).map(shard).collect())
    }

    /// Reads the next page of each shard; `None` if all have been read to their end.
    async fn more(&mut self, dynamo: &Dynamo) -> Result<Option<Vec<Readable>>, ReadError> {
        if self.0.iter().all(Shard::is_over) { Ok(None) } else { self.next(dynamo).await.map(Some) }
    }

    /// Reads the next page of each shard.
    async fn next(&mut self, dynamo: &Dynamo) -> Result<Vec<Readable>, ReadError> {
        let pages = self.0.iter_mut().filter(|shard| !shard.is_over()).map(|shard| shard.next(dynamo));
        Ok(try_join_all(pages).await?.into_iter().flatten().collect())
    }

    /// Reads the entries that are sealed and late no further: while no event is taken, there is nothing to do for them.
    fn skip_late(&mut self) {
        for shard in &mut self.0 {
            shard.is_skipped = shard.is_late;
        }
    }

    /// Returns an id that no unread index entry precedes; `None` if all have been read.
    fn floor(&self) -> Option<Uuid> {
        let open = self.0.iter().filter(|shard| !shard.is_read);
        // An index entry without an id gives no bound.
        let read = |shard: &Shard| shard.after.as_deref().and_then(Unpublished::parse).map(|due| due.id);
        open.map(|shard| read(shard).unwrap_or(Uuid::nil())).min()
    }
}

impl Shard {
    fn is_over(&self) -> bool {
        self.is_read || self.is_skipped
    }

    async fn next(&mut self, dynamo: &Dynamo) -> Result<Vec<Readable>, ReadError> {
        let page = self.query.clone().after(self.after.clone());
        let rows = dynamo.query_readable(&page).await?;
        self.is_read = rows.len() < PAGE_ITEMS;
        if let Some(last) = rows.last().and_then(|row| row.item.key_text(attr::DUE_SK)) {
            self.after = Some(last.to_owned());
        }
        Ok(rows)
    }
}

impl Publisher {
    /// Measures how long the oldest of these entries has been due. Zero is measured too, because the alarm ends only on
    /// a value.
    fn measure_oldest(&self, tenant: &Tenant, rows: &[Readable]) {
        let now = self.ledger.clock().now();
        // The id of an entry is made when its request begins.
        let born = |row: &Readable| match Due::of(tenant, row)? {
            Due::Publish(_, id) => born_at(id),
            Due::Seal(_) | Due::None(_) => None,
        };
        let oldest = rows.iter().filter_map(born).map(|at| now.since(at)).max().unwrap_or(Duration::ZERO);
        self.ledger.metrics().measure(Metric::OldestUnpublished, tenant, Operation::Publish, oldest);
    }
}
