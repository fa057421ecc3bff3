//! Lists the records that are due to be sealed, page by page: by their due index entries, and acts by the time in their
//! ids. Each is then read consistently.

use crate::app::App;
use crate::dynamo::{Dynamo, ReadError};
use crate::problem::Problem;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::Tenant;
use ledger_core::keys::{Key, Shards, attr};
use ledger_core::reads;
use ledger_core::sealing::{Sealable, is_sealed};
use ledger_core::time::Timestamp;

/// The number of records per page.
const PAGE_ITEMS: usize = 100;

/// A list of the due records.
pub(super) struct Listed {
    tenant: Tenant,
    /// The sources that are not read to their end. The last is read now.
    sources: Vec<Source>,
    after: Option<String>,
}

enum Source {
    /// A shard of the due index.
    Marks(u32),
    /// Acts whose ids were created at or after this time.
    Acts(Timestamp),
}

/// The records of a page.
#[derive(Default)]
pub(super) struct Found {
    pub(super) waiting: Vec<Sealable>,
    /// Sealed records that still have a due index entry.
    pub(super) sealed: Vec<Key>,
}

impl Listed {
    pub(super) fn of(tenant: &Tenant, shards: Shards, acts_from: Timestamp) -> Self {
        let mut sources = vec![Source::Acts(acts_from)];
        sources.extend((0..shards.count()).rev().map(Source::Marks));
        Self { tenant: tenant.clone(), sources, after: None }
    }

    /// The next page; `None` after the last. A record that cannot be read is logged, set as `fault` and skipped.
    pub(super) async fn next(&mut self, app: &App, fault: &mut Option<Problem>) -> Result<Option<Found>, Problem> {
        let Some(source) = self.sources.last() else { return Ok(None) };
        let (query, is_marked) = match source {
            Source::Marks(shard) => (reads::records_to_seal(&self.tenant, *shard), true),
            Source::Acts(from) => (reads::acts_from(&self.tenant, *from), false),
        };
        let sort_key = query.sort_attribute();
        let rows = app.dynamo().query_readable(&query.after(self.after.take()).limit(PAGE_ITEMS)).await?;
        match rows.last().and_then(|row| row.item.key_text(sort_key)) {
            Some(last) if rows.len() >= PAGE_ITEMS => self.after = Some(last.to_owned()),
            Some(_) | None => {
                let _ = self.sources.pop();
            }
        }
        let keys: Vec<Key> = rows.iter().filter_map(|row| key_of(&self.tenant, &row.item)).collect();
        let mut found = Found::default();
        for (key, item) in keys.iter().zip(records(app.dynamo(), &keys).await?) {
            // The index may lag: a missing record is skipped. A sealed act has no due index entry to remove.
            match item.map(|item| item.map(|item| (is_sealed(&item), Sealable::read(&self.tenant, &item)))) {
                Ok(None) => {}
                Ok(Some((true, _))) if is_marked => found.sealed.push(key.clone()),
                Ok(Some((_, Ok(record)))) => found.waiting.extend(record),
                Ok(Some((_, Err(_)))) | Err(ReadError::Unreadable(_)) => {
                    tracing::error!(tenant = %self.tenant, record = key.sk(), "a record cannot be sealed");
                    *fault = Some(Problem::internal());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(found))
    }
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
