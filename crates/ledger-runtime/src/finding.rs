//! Lists by time and searches, merged from the shards of the index by owner.
//!
//! The index is eventually consistent, and gives keys alone. The records are read consistently by them, and a record that
//! does not have what was asked for is left out.

use crate::app::App;
use crate::cursor::{PlacedCursor, TimedCursor};
use crate::problem::Problem;
use crate::request::TimedPage;
use crate::views::Page;
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key, attr};
use ledger_core::reads::{Query, Times};
use std::sync::Arc;
use uuid::Uuid;

/// How often a page reads on while a filter leaves it short. What a request reads is bounded: a page may stay short.
pub const ROUNDS_MAX: usize = 5;

impl App {
    /// Refuses what a tenant does not have while the legacy model holds its customers.
    ///
    /// # Errors
    /// 400 `wrong_state` for such a tenant, 503 if the store cannot be read.
    pub async fn require_split(&self, tenant: &Tenant) -> Result<(), Problem> {
        if self.dynamo().layout(tenant).await?.is_migrating() {
            return Err(Problem::not_yet("The tenant's customers are in a legacy model: end its migration first."));
        }
        Ok(())
    }

    /// The keys of what customers are looked up by, for a change that may say how a name is read. A legacy model has no place
    /// for the reading.
    ///
    /// # Errors
    /// 400 `invalid_field` while such a model holds the customers, 503 if the keys or the layout cannot be had.
    pub async fn keys_of_change(&self, tenant: &Tenant, has_kana: bool) -> Result<Arc<MarkerKeys>, Problem> {
        if has_kana && self.dynamo().layout(tenant).await?.is_migrating() {
            let why = "is not kept while the tenant's customers are in a legacy model";
            return Err(Problem::invalid_field("kana", why));
        }
        self.ledger().marker_keys().await
    }

    /// A page of a list by time, newest first. `queries` are those of its shards, and `keep` makes the view of a record, or
    /// leaves it out. A page may be short, and still have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn listed_page<T>(
        &self,
        tenant: &Tenant,
        page: TimedPage,
        queries: impl Fn(Times) -> Vec<Query>,
        (record, keep): (impl Fn(&Key) -> Key, impl Fn(&Item) -> Result<Option<T>, ItemError>),
    ) -> Result<Page<T>, Problem> {
        let mut after = page.cursor.map(TimedCursor::place);
        let mut items = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let times = Times { from: page.from, until: page.until, after };
            let found = self.entries(tenant, queries(times), page.limit).await?;
            let timed = |(place, key): (String, Key)| {
                let place = keys::place_of(&place).ok_or_else(|| ItemError::invalid(attr::OWNER_SK))?;
                Ok((place, record(&key)))
            };
            let mut found = found.into_iter().map(timed).collect::<Result<Vec<_>, ItemError>>()?;
            found.sort_by(|(a, _), (b, _)| b.cmp(a));
            let is_last = found.len() <= page.limit;
            found.truncate(page.limit);
            let records: Vec<Key> = found.iter().map(|(_, key)| key.clone()).collect();
            let records = self.dynamo().get_many(&records).await?;
            let read = found.len();
            for (seen, ((place, _), record)) in (1_usize..).zip(found.into_iter().zip(records)) {
                after = Some(place);
                items.extend(record.as_ref().map(&keep).transpose()?.flatten());
                if items.len() >= page.limit {
                    let is_end = is_last && seen == read;
                    return Ok(Page { items, next_cursor: after.filter(|_| !is_end).map(cursor) });
                }
            }
            if is_last {
                return Ok(Page { items, next_cursor: None });
            }
        }
        Ok(Page { items, next_cursor: after.map(cursor) })
    }

    /// A page of the result of a search, in the order of the index. `queries` are those of its shards, `record` names the
    /// record of a lookup item, and `keep` makes its view, or leaves it out.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn search_page<T>(
        &self,
        tenant: &Tenant,
        queries: Vec<Query>,
        limit: usize,
        (record, keep): (impl Fn(&Key) -> Key, impl Fn(&Item) -> Result<Option<T>, ItemError>),
    ) -> Result<Page<T>, Problem> {
        let mut found = self.entries(tenant, queries, limit).await?;
        found.sort();
        // While a record is moved from one key to another, the index may have both of its entries.
        found.dedup();
        let is_last = found.len() <= limit;
        found.truncate(limit);
        let next = found.last().filter(|_| !is_last).map(|(place, _)| PlacedCursor::after(place).to_string());
        let records: Vec<Key> = found.iter().map(|(_, key)| record(key)).collect();
        let records = self.dynamo().get_many(&records).await?;
        let views = records.iter().flatten().map(keep);
        let items = views.filter_map(Result::transpose).collect::<Result<_, ItemError>>()?;
        Ok(Page { items, next_cursor: next })
    }

    /// The first entries of each query, at most one more than `limit`: the index's sort key, and the item's key.
    async fn entries(&self, tenant: &Tenant, queries: Vec<Query>, limit: usize) -> Result<Vec<(String, Key)>, Problem> {
        let queries: Vec<Query> = queries.into_iter().map(|query| query.limit(limit.saturating_add(1))).collect();
        let found = try_join_all(queries.iter().map(|query| self.dynamo().query(query))).await?;
        let entry = |item: Item| {
            let key = item.key_text(attr::PK).zip(item.key_text(attr::SK));
            let key = key.and_then(|(pk, sk)| Key::stored(tenant, pk, sk));
            Ok((item.string(attr::OWNER_SK)?, key.ok_or_else(|| ItemError::invalid(attr::PK))?))
        };
        Ok(found.into_iter().flatten().map(entry).collect::<Result<_, ItemError>>()?)
    }
}

fn cursor((at, id): (ledger_core::time::Timestamp, Uuid)) -> String {
    TimedCursor::after(at, id).to_string()
}
