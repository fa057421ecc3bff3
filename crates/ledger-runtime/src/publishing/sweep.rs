//! The due index entries of a tenant, page by page over all shards.

use super::Publisher;
use crate::dynamo::{Dynamo, ReadError, Readable};
use crate::metrics::Metric;
use futures::future::try_join_all;
use ledger_core::dynamo::Attributes;
use ledger_core::ids::{Tenant, parse_uuid};
use ledger_core::keys::{Shards, attr};
use ledger_core::operation::Operation;
use ledger_core::reads::{self, Query};
use std::time::Duration;
use uuid::Uuid;

/// How many entries of a shard one query reads.
const PAGE_ITEMS: usize = 100;

/// A pass over a tenant's due index entries, oldest first in each shard.
pub(super) struct Marks(Vec<Shard>);

struct Shard {
    query: Query,
    /// The last index entry that was read.
    after: Option<String>,
    over: bool,
}

/// Whether any entry of a tenant waits to be published, for a function without a queue.
///
/// # Errors
/// [`ReadError`] if the table did not answer.
pub async fn any_waits(dynamo: &Dynamo, tenant: &Tenant, shards: Shards) -> Result<bool, ReadError> {
    Ok(!Marks::of(tenant, shards).next(dynamo).await?.is_empty())
}

impl Marks {
    pub(super) fn of(tenant: &Tenant, shards: Shards) -> Self {
        let shard = |shard| Shard {
            query: reads::entries_to_publish(tenant, shard).limit(PAGE_ITEMS),
            after: None,
            over: false,
        };
        Self((0..shards.count()).map(shard).collect())
    }

    /// Reads the next page of each shard; `None` if all have been read to their end.
    pub(super) async fn more(&mut self, dynamo: &Dynamo) -> Result<Option<Vec<Readable>>, ReadError> {
        if self.0.iter().all(|shard| shard.over) { Ok(None) } else { self.next(dynamo).await.map(Some) }
    }

    /// Reads the next page of each shard.
    pub(super) async fn next(&mut self, dynamo: &Dynamo) -> Result<Vec<Readable>, ReadError> {
        let pages = self.0.iter_mut().filter(|shard| !shard.over).map(|shard| shard.next(dynamo));
        Ok(try_join_all(pages).await?.into_iter().flatten().collect())
    }

    /// Returns an id that no unread index entry precedes; `None` if all have been read.
    pub(super) fn floor(&self) -> Option<Uuid> {
        let open = self.0.iter().filter(|shard| !shard.over);
        // An index entry that is not an id gives no bound.
        open.map(|shard| shard.after.as_deref().and_then(|id| parse_uuid(id).ok()).unwrap_or(Uuid::nil())).min()
    }
}

impl Shard {
    async fn next(&mut self, dynamo: &Dynamo) -> Result<Vec<Readable>, ReadError> {
        let page = self.query.clone().after(self.after.clone());
        let rows = dynamo.query_readable(&page).await?;
        self.over = rows.len() < PAGE_ITEMS;
        if let Some(last) = rows.last().and_then(|row| row.item.key_text(attr::DUE_SK)) {
            self.after = Some(last.to_owned());
        }
        Ok(rows)
    }
}

impl Publisher {
    /// Measures how long the oldest of these entries has been due. Zero is measured too, because the alarm ends only on
    /// a value.
    pub(super) fn measure_oldest(&self, tenant: &Tenant, rows: &[Readable]) {
        let now = self.ledger.clock().now();
        let written = |row: &Readable| row.item.timestamp(attr::CREATED_AT).ok();
        let oldest = rows.iter().filter_map(written).map(|at| now.since(at)).max().unwrap_or(Duration::ZERO);
        self.ledger.metrics().measure(Metric::OldestUnpublished, tenant, Operation::Publish, oldest);
    }
}
