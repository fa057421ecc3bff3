//! What is due to be sealed, page by page: by its marks, and acts by the birth of their ids. What is listed is
//! read consistently before it counts.

use crate::app::App;
use crate::dynamo::{Dynamo, ReadError};
use crate::problem::Problem;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::Tenant;
use ledger_core::keys::{Key, Shards, attr};
use ledger_core::reads;
use ledger_core::sealing::{Sealable, is_sealed};
use ledger_core::time::Timestamp;

/// How many records are listed at a time.
const PAGE: usize = 100;

/// A walk over what is due.
pub(super) struct Listed {
    tenant: Tenant,
    /// What has not been listed to its end, the present source last.
    sources: Vec<Source>,
    after: Option<String>,
}

enum Source {
    /// A shard of the marks.
    Marks(u32),
    /// Acts whose ids were born since.
    Acts(Timestamp),
}

/// What a page holds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) waiting: Vec<Sealable>,
    /// What is sealed, and is listed as if it were not.
    pub(super) sealed: Vec<Key>,
}

impl Listed {
    pub(super) fn of(tenant: &Tenant, shards: Shards, acts_from: Timestamp) -> Self {
        let mut sources = vec![Source::Acts(acts_from)];
        sources.extend((0..shards.count()).rev().map(Source::Marks));
        Self { tenant: tenant.clone(), sources, after: None }
    }

    /// The next page; `None` behind the last. A record that cannot be read is logged and left.
    pub(super) async fn next(&mut self, app: &App, fault: &mut Option<Problem>) -> Result<Option<Found>, Problem> {
        let Some(source) = self.sources.last() else { return Ok(None) };
        let (query, is_marked) = match source {
            Source::Marks(shard) => (reads::records_to_seal(&self.tenant, *shard), true),
            Source::Acts(from) => (reads::acts_from(&self.tenant, *from), false),
        };
        let sort_key = query.sort_attribute();
        let rows = app.dynamo().query_readable(&query.after(self.after.take()).limit(PAGE)).await?;
        match rows.last().and_then(|row| row.item.key_text(sort_key)) {
            Some(last) if rows.len() >= PAGE => self.after = Some(last.to_owned()),
            Some(_) | None => {
                let _ = self.sources.pop();
            }
        }
        let keys: Vec<Key> = rows.iter().filter_map(|row| key_of(&self.tenant, &row.item)).collect();
        let mut found = Found::default();
        for (key, item) in keys.iter().zip(records(app.dynamo(), &keys).await?) {
            // The index may be behind, and an act may be sealed; but it is not there to be removed.
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

/// What stands under keys, in their order. One that cannot be read does not hide the others.
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

/// The key of an item of a tenant's.
pub(super) fn key_of(tenant: &Tenant, item: &Item) -> Option<Key> {
    Key::stored(tenant, item.key_text(attr::PK)?, item.key_text(attr::SK)?)
}
