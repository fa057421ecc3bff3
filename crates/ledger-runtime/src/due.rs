//! The list of a tenant's due work: one reader reads it by pages, divides it by kind, and hands each kind to its handler.
//!
//! The index holds keys alone, and may lag behind the table: a handler reads the item itself before it acts. Work that
//! cannot be done at present stays listed, so no kind is given more than [`OF_A_KIND_MAX`] items at a time, and a page does
//! not end the list: many items of one kind delay no other kind.

use crate::dynamo::{Dynamo, ReadError, Readable};
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::Tenant;
use ledger_core::keys::{DueKind, DueWork, Key, Shards, attr};
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
    kinds: BTreeMap<DueKind, Kind>,
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
        kinds: &[DueKind],
    ) -> Result<Self, ReadError> {
        let mut list = Self { dynamo: dynamo.clone(), tenant: tenant.clone(), now, kinds: BTreeMap::new() };
        list.list(kinds, (0..shards.count()).map(|shard| (shard, None)).collect()).await?;
        Ok(list)
    }

    /// The next items of a kind, the longest due first; none after the last. Each is returned once, also if it is still due.
    ///
    /// # Errors
    /// [`ReadError`] if the index cannot be read.
    pub async fn next(&mut self, of: impl Into<DueKind>) -> Result<Vec<ListedWork>, ReadError> {
        let of = of.into();
        let Some(kind) = self.kinds.remove(&of) else { return Ok(Vec::new()) };
        if kind.listed.is_empty() {
            if kind.more.is_empty() {
                return Ok(Vec::new());
            }
            self.list(&[of], kind.more.into_iter().map(|(shard, after)| (shard, Some(after))).collect()).await?;
            return Ok(self.kinds.get_mut(&of).map(|kind| std::mem::take(&mut kind.listed)).unwrap_or_default());
        }
        self.kinds.insert(of, Kind { listed: Vec::new(), more: kind.more });
        Ok(kind.listed)
    }

    /// Whether anything of a kind is listed.
    #[must_use]
    pub fn has(&self, of: impl Into<DueKind>) -> bool {
        self.kinds.get(&of.into()).is_some_and(|kind| !kind.listed.is_empty())
    }

    /// When the first of the listed work is due.
    #[must_use]
    pub fn first(&self) -> Option<Timestamp> {
        self.kinds.values().flat_map(|kind| &kind.listed).map(|listed| listed.at).min()
    }

    async fn list(&mut self, wanted: &[DueKind], from: Vec<(u32, Option<String>)>) -> Result<(), ReadError> {
        let this = &*self;
        let shards = from.into_iter().map(|(shard, after)| async move {
            let kinds = this.shard(wanted, shard, after).await?;
            Ok::<_, ReadError>((shard, kinds))
        });
        let mut found: BTreeMap<DueKind, Vec<ListedWork>> = BTreeMap::new();
        let mut more: BTreeMap<DueKind, Vec<(u32, String)>> = BTreeMap::new();
        for (shard, kinds) in try_join_all(shards).await? {
            for (kind, of) in kinds {
                let last = of.listed.last().map(|last| (shard, last.sort.clone()));
                more.entry(kind).or_default().extend(last.filter(|_| of.has_more));
                found.entry(kind).or_default().extend(of.listed);
            }
        }
        for (kind, mut listed) in found {
            listed.sort_by(|a, b| a.sort.cmp(&b.sort));
            self.kinds.insert(kind, Kind { listed, more: more.remove(&kind).unwrap_or_default() });
        }
        Ok(())
    }

    /// Reads a shard until each kind has as much as is listed at once, or nothing more is due.
    async fn shard(
        &self,
        wanted: &[DueKind],
        shard: u32,
        mut after: Option<String>,
    ) -> Result<BTreeMap<DueKind, OfShard>, ReadError> {
        let mut kinds = BTreeMap::<DueKind, OfShard>::new();
        loop {
            let page = reads::work_due(&self.tenant, shard, self.now).after(after.take()).limit(PAGE_ITEMS);
            let rows = self.dynamo.query_readable(&page).await?;
            for row in &rows {
                let Some((kind, listed)) = self.listed(row) else { continue };
                if !wanted.contains(&kind) {
                    continue;
                }
                let of = kinds.entry(kind).or_default();
                if of.listed.len() < OF_A_KIND_MAX {
                    of.listed.push(listed);
                } else {
                    of.has_more = true;
                }
            }
            after = rows.last().and_then(|row| row.item.key_text(attr::DUE_SK)).map(str::to_owned);
            let is_full = wanted.iter().all(|kind| kinds.get(kind).is_some_and(|of| of.has_more));
            if rows.len() < PAGE_ITEMS || after.is_none() || is_full {
                return Ok(kinds);
            }
        }
    }

    /// The work that an index entry names.
    fn listed(&self, row: &Readable) -> Option<(DueKind, ListedWork)> {
        let text = |name| row.item.key_text(name);
        let (sort, sk) = (text(attr::DUE_SK)?, text(attr::SK)?);
        let key = Key::stored(&self.tenant, text(attr::PK)?, sk);
        let named = DueWork::parse(sort).zip(key);
        if named.is_none() {
            tracing::error!(tenant = %self.tenant, item = sk, due = sort, "an item is due for no known work");
        }
        let (DueWork { at, kind, id }, key) = named?;
        Some((kind, ListedWork { key, at, sort: sort.to_owned(), id: id.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Step, Store, now};
    use ledger_core::keys::{JobKind, Work};
    use serde_json::json;

    const HOLD: DueKind = DueKind::Work(Work::Hold);
    const GRANT: DueKind = DueKind::Job(JobKind::Grant);
    const FILE: DueKind = DueKind::Job(JobKind::File);

    fn demo() -> Tenant {
        Tenant::parse("demo").unwrap()
    }

    /// The sort keys of items of a kind, a millisecond apart.
    fn due(kind: DueKind, first: i64, count: i64) -> impl Iterator<Item = String> {
        (first..first.saturating_add(count)).map(move |at| kind.sort_key(Timestamp::from_millis(at), at))
    }

    /// The answer to a query of the index that begins at a position.
    fn page(index: &[String], from: usize) -> Step {
        let row = |sort: &String| {
            let (uuid, kind) = (format!("demo#payment#{sort}"), "HOLD");
            json!({"uuid": {"S": uuid}, "type": {"S": kind}, "_due_pk": {"S": "demo#due#0"}, "_due_sk": {"S": sort}})
        };
        Step::Ok(json!({"Items": index[from..].iter().take(PAGE_ITEMS).map(row).collect::<Vec<_>>()}))
    }

    async fn read(store: &Store, kinds: &[DueKind]) -> DueList {
        DueList::read(&store.dynamo(), (&demo(), Shards::ONE), now(), kinds).await.unwrap()
    }

    /// Everything of a kind, by what each call returns.
    async fn all(list: &mut DueList, kind: DueKind) -> Vec<Vec<String>> {
        let mut parts = Vec::new();
        loop {
            let part = list.next(kind).await.unwrap();
            if part.is_empty() {
                return parts;
            }
            parts.push(part.into_iter().map(|listed| listed.sort).collect());
        }
    }

    #[tokio::test]
    async fn many_items_of_a_kind_delay_no_other_kind() {
        let holds: Vec<String> = due(HOLD, 0, 1_200).collect();
        let grants: Vec<String> = due(GRANT, 2_000, 2).collect();
        let index = [holds.clone(), grants.clone()].concat();
        // Three pages until the grants behind the holds, then one for each part of the holds but the first.
        let from = [0, 500, 1_000].into_iter().chain((100..1_200).step_by(OF_A_KIND_MAX));
        let store = Store::script(from.map(|from| page(&index, from)).collect::<Vec<_>>());
        let mut list = read(&store, &[HOLD, GRANT]).await;
        assert_eq!((store.seen().len(), list.first()), (3, Some(Timestamp::from_millis(0))));
        assert!(list.has(HOLD) && list.has(GRANT) && !list.has(FILE));
        assert_eq!(all(&mut list, GRANT).await, [grants]);
        assert_eq!(store.seen().len(), 3, "what is listed is not read again");
        let parts = all(&mut list, HOLD).await;
        assert!(parts.iter().all(|part| part.len() == OF_A_KIND_MAX));
        assert_eq!(parts.concat(), holds, "each once, the longest due first");
        assert!(store.is_through());
        let seen = store.seen();
        for (query, after) in seen.iter().zip([None, Some(499), Some(999), Some(99), Some(199)]) {
            let expected = after.map(|after| index[after].as_str());
            let found = expected.is_none_or(|sort| query.body.to_string().contains(sort));
            assert!(found, "{expected:?}: {}", query.body);
        }
        assert_eq!(all(&mut list, FILE).await, Vec::<Vec<String>>::new());
    }

    /// More items than are listed at once fail in every run, and stay due before all others.
    #[tokio::test]
    async fn items_that_always_fail_do_not_stop_those_behind_them() {
        let failing: Vec<String> = due(HOLD, 0, 150).collect();
        for run in 0..3 {
            let behind: Vec<String> = due(HOLD, 1_000_i64.saturating_add(run), 1).collect();
            let index = [failing.clone(), behind].concat();
            let store = Store::script([page(&index, 0), page(&index, OF_A_KIND_MAX)]);
            let mut list = read(&store, &[HOLD]).await;
            assert_eq!(all(&mut list, HOLD).await.concat(), index, "run {run}");
            assert!(store.is_through());
        }
    }
}
