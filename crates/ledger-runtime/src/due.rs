//! The list of a tenant's due work: one reader reads it by pages, divides it by kind, and hands each kind to its handler.
//!
//! The index holds keys alone, and may lag behind the table: a handler reads the item itself before it acts. Work that
//! cannot be done at present stays listed, so no kind is given more than [`OF_A_KIND_MAX`] items at a time, and a page does
//! not end the list: many items of one kind delay no other kind.

use crate::dynamo::{Dynamo, ReadError, Readable};
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::Tenant;
use ledger_core::keys::{DueWork, Key, Shards, Work, attr};
use ledger_core::reads;
use ledger_core::time::Timestamp;
use std::collections::BTreeMap;

/// The number of index entries per page.
const PAGE_ITEMS: usize = 500;
/// The most items of a kind and a shard that are listed at once.
const OF_A_KIND_MAX: usize = 100;

/// An item that the index lists as due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedWork {
    /// The item's key.
    pub key: Key,
    /// When it is due.
    pub at: Timestamp,
    /// Its sort key in the index.
    sort: String,
    /// The id in that.
    id: String,
}

impl ListedWork {
    /// The id in the index, as its kind has it.
    ///
    /// # Errors
    /// [`ItemError`] if it is no such id.
    pub fn id<T, E>(&self, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, ItemError> {
        parse(&self.id).map_err(|_| ItemError::invalid(attr::DUE_SK))
    }

    /// Whether the item, as it was read, is due as it was listed. The index may lag behind the table.
    #[must_use]
    pub fn is_still_due(&self, item: &Item) -> bool {
        item.key_text(attr::DUE_SK) == Some(&self.sort)
    }
}

/// The due work of a tenant, as of one instant, divided by kind.
#[derive(Debug)]
pub struct DueList {
    dynamo: Dynamo,
    tenant: Tenant,
    now: Timestamp,
    kinds: BTreeMap<Work, Kind>,
}

/// The listed work of a kind.
#[derive(Debug, Default)]
struct Kind {
    listed: Vec<ListedWork>,
    /// For each shard that has more, the sort key of the last item that was listed.
    more: Vec<(u32, String)>,
}

/// The work of a kind and a shard.
#[derive(Default)]
struct OfShard {
    listed: Vec<ListedWork>,
    has_more: bool,
}

impl DueList {
    /// Lists the work of these kinds that is due at `now`.
    ///
    /// # Errors
    /// [`ReadError`] if the index cannot be read.
    pub async fn read(
        dynamo: &Dynamo,
        (tenant, shards): (&Tenant, Shards),
        now: Timestamp,
        works: &[Work],
    ) -> Result<Self, ReadError> {
        let mut list = Self { dynamo: dynamo.clone(), tenant: tenant.clone(), now, kinds: BTreeMap::new() };
        list.list(works, (0..shards.count()).map(|shard| (shard, None)).collect()).await?;
        Ok(list)
    }

    /// The next items of a kind, the longest due first; none after the last. Each is returned once, also if it is still due.
    ///
    /// # Errors
    /// [`ReadError`] if the index cannot be read.
    pub async fn next(&mut self, work: Work) -> Result<Vec<ListedWork>, ReadError> {
        let Some(kind) = self.kinds.remove(&work) else { return Ok(Vec::new()) };
        if kind.listed.is_empty() {
            if kind.more.is_empty() {
                return Ok(Vec::new());
            }
            self.list(&[work], kind.more.into_iter().map(|(shard, after)| (shard, Some(after))).collect()).await?;
            return Ok(self.kinds.get_mut(&work).map(|kind| std::mem::take(&mut kind.listed)).unwrap_or_default());
        }
        self.kinds.insert(work, Kind { listed: Vec::new(), more: kind.more });
        Ok(kind.listed)
    }

    /// Whether anything of a kind is listed.
    #[must_use]
    pub fn has(&self, work: Work) -> bool {
        self.kinds.get(&work).is_some_and(|kind| !kind.listed.is_empty())
    }

    /// When the first of the listed work is due.
    #[must_use]
    pub fn first(&self) -> Option<Timestamp> {
        self.kinds.values().flat_map(|kind| &kind.listed).map(|listed| listed.at).min()
    }

    async fn list(&mut self, works: &[Work], from: Vec<(u32, Option<String>)>) -> Result<(), ReadError> {
        let this = &*self;
        let shards = from.into_iter().map(|(shard, after)| async move {
            let kinds = this.shard(works, shard, after).await?;
            Ok::<_, ReadError>((shard, kinds))
        });
        let mut found: BTreeMap<Work, Vec<ListedWork>> = BTreeMap::new();
        let mut more: BTreeMap<Work, Vec<(u32, String)>> = BTreeMap::new();
        for (shard, kinds) in try_join_all(shards).await? {
            for (work, of) in kinds {
                let last = of.listed.last().map(|last| (shard, last.sort.clone()));
                more.entry(work).or_default().extend(last.filter(|_| of.has_more));
                found.entry(work).or_default().extend(of.listed);
            }
        }
        for (work, mut listed) in found {
            listed.sort_by(|a, b| a.sort.cmp(&b.sort));
            self.kinds.insert(work, Kind { listed, more: more.remove(&work).unwrap_or_default() });
        }
        Ok(())
    }

    /// Reads a shard until each kind has as much as is listed at once, or nothing more is due.
    async fn shard(
        &self,
        works: &[Work],
        shard: u32,
        mut after: Option<String>,
    ) -> Result<BTreeMap<Work, OfShard>, ReadError> {
        let mut kinds = BTreeMap::<Work, OfShard>::new();
        loop {
            let page = reads::work_due(&self.tenant, shard, self.now).after(after.take()).limit(PAGE_ITEMS);
            let rows = self.dynamo.query_readable(&page).await?;
            for row in &rows {
                let Some((work, listed)) = self.listed(row) else { continue };
                if !works.contains(&work) {
                    continue;
                }
                let of = kinds.entry(work).or_default();
                if of.listed.len() < OF_A_KIND_MAX {
                    of.listed.push(listed);
                } else {
                    of.has_more = true;
                }
            }
            after = rows.last().and_then(|row| row.item.key_text(attr::DUE_SK)).map(str::to_owned);
            let is_full = works.iter().all(|work| kinds.get(work).is_some_and(|of| of.has_more));
            if rows.len() < PAGE_ITEMS || after.is_none() || is_full {
                return Ok(kinds);
            }
        }
    }

    /// The work that an index entry names.
    fn listed(&self, row: &Readable) -> Option<(Work, ListedWork)> {
        let text = |name| row.item.key_text(name);
        let (sort, sk) = (text(attr::DUE_SK)?, text(attr::SK)?);
        let key = Key::stored(&self.tenant, text(attr::PK)?, sk);
        let named = DueWork::parse(sort).zip(key);
        if named.is_none() {
            tracing::error!(tenant = %self.tenant, item = sk, due = sort, "an item is due for no known work");
        }
        let (DueWork { at, work, id }, key) = named?;
        Some((work, ListedWork { key, at, sort: sort.to_owned(), id: id.to_owned() }))
    }
}
