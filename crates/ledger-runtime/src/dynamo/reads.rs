//! Reads. All are strongly consistent, except queries of an index, which DynamoDB cannot read consistently.

use super::ask::AskError;
use super::convert::Stored;
use super::{Dynamo, convert};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use ledger_core::customer_state::is_closed_wallet;
use ledger_core::dynamo::{Item, ItemError, Value};
use ledger_core::form::check_form;
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{Key, Partition, attr};
use ledger_core::migration::{Layout, LegacyReadError, Unadoptable};
use ledger_core::reads::{self, Query, Request};
use ledger_core::retry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often unprocessed keys, or a snapshot that conflicted with a transaction, are read again.
const ROUNDS_MAX: u32 = 5;

/// Why a read failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// DynamoDB throttled the read.
    #[error("the store is throttled")]
    Throttled,
    /// DynamoDB did not answer, or answered with a server error.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// The read itself is invalid: a missing table, a missing permission or a malformed key.
    #[error("the store refused the read ({0}): check the table's name and the role's permissions")]
    Refused(String),
    /// An item is not in the format that the ledger writes.
    #[error(transparent)]
    Unreadable(#[from] ItemError),
    /// A customer's God Record holds data that the ledger cannot keep: needs review.
    #[error(transparent)]
    Unadoptable(#[from] Unadoptable),
}

impl From<LegacyReadError> for ReadError {
    fn from(unseen: LegacyReadError) -> Self {
        match unseen {
            LegacyReadError::Unadoptable(error) => Self::Unadoptable(error),
            LegacyReadError::Unreadable(error) => Self::Unreadable(error),
        }
    }
}

/// An item, as far as it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable {
    /// The readable attributes: all that the ledger has written, with the keys.
    pub item: Item,
    /// The names of the unreadable attributes.
    pub unsupported: Vec<String>,
}

impl Readable {
    /// Returns the item if all of it is readable.
    ///
    /// # Errors
    /// [`ItemError`] names an unreadable attribute, or `f` if a later release wrote the item.
    pub fn whole(&self) -> Result<&Item, ItemError> {
        check_form(&self.item)?;
        self.unsupported.first().map_or(Ok(&self.item), |unsupported| Err(ItemError::unknown_type(unsupported)))
    }
}

impl Dynamo {
    /// Reads an item. A customer's split record is read where the tenant's layout has it.
    ///
    /// # Errors
    /// [`ReadError`] if the read fails.
    pub async fn get(&self, key: &Key) -> Result<Option<Item>, ReadError> {
        if let Some(layout) = self.layout_of(key).await?
            && layout.reading(key).is_some()
        {
            return Ok(Box::pin(self.get_together(std::slice::from_ref(key))).await?.into_iter().flatten().next());
        }
        let item = self.get_stored(key).await?;
        self.note_layout(key, item.as_ref());
        Ok(item)
    }

    /// Reads the item under this key, without regard to layouts.
    pub(super) async fn get_stored(&self, key: &Key) -> Result<Option<Item>, ReadError> {
        let answer = self.ask(reads::item(key)).await?;
        Ok(answer.items.into_iter().flatten().next().map(convert::item_from_sdk).transpose()?)
    }

    /// Reads the item under this key, without regard to layouts and as far as it is readable.
    ///
    /// # Errors
    /// [`ReadError`] if the read fails.
    pub async fn get_readable(&self, key: &Key) -> Result<Option<Readable>, ReadError> {
        let answer = self.ask(reads::item(key)).await?;
        Ok(answer.items.into_iter().flatten().next().map(convert::readable))
    }

    /// Reads items, in the order of the keys, with one round trip per 100.
    ///
    /// Each item is consistent, but a transaction may be applied between the reads of two.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Item>>, ReadError> {
        let mut found = BTreeMap::<(String, String), Item>::new();
        let mut wanted = keys.to_vec();
        wanted.sort();
        wanted.dedup();
        for key in self.moving(&wanted).await? {
            wanted.retain(|wanted| *wanted != key);
            if let Some(item) = self.get(&key).await? {
                found.insert((key.pk().to_owned(), key.sk().to_owned()), item);
            }
        }
        for request in reads::items(&wanted) {
            for item in self.get_batch(request).await? {
                let item = convert::item_from_sdk(item)?;
                if let (Some(Value::S(pk)), Some(Value::S(sk))) = (item.get(attr::PK), item.get(attr::SK)) {
                    found.insert((pk.clone(), sk.clone()), item);
                }
            }
        }
        Ok(keys.iter().map(|key| found.get(&(key.pk().to_owned(), key.sk().to_owned())).cloned()).collect())
    }

    /// Reads those items that exist, in no order, as far as they are readable, with one round trip per 100.
    ///
    /// Each item is read under its own key, whatever the tenant's layout.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn stored_many(&self, keys: &[Key]) -> Result<Vec<Readable>, ReadError> {
        let mut found = Vec::with_capacity(keys.len());
        for request in reads::items(keys) {
            found.extend(self.get_batch(request).await?.into_iter().map(convert::readable));
        }
        Ok(found)
    }

    async fn get_batch(&self, request: Request) -> Result<Vec<Stored>, ReadError> {
        let (mut found, mut requests) = (Vec::new(), vec![request]);
        for round in 0..ROUNDS_MAX {
            if round > 0 {
                tokio::time::sleep(retry::backoff(round, self.entropy.jitter())).await;
            }
            let mut unprocessed = Vec::new();
            for request in std::mem::take(&mut requests) {
                let answer = self.ask(request).await?;
                unprocessed.extend(answer.unprocessed);
                found.extend(answer.items.into_iter().flatten());
            }
            requests = reads::items(&unprocessed);
            if requests.is_empty() {
                return Ok(found);
            }
        }
        Err(ReadError::Throttled)
    }

    /// Returns those of these keys whose items a layout may have elsewhere.
    async fn moving(&self, keys: &[Key]) -> Result<Vec<Key>, ReadError> {
        let mut moving = Vec::new();
        for key in keys {
            if self.layout_of(key).await?.is_some_and(|layout| layout.reading(key).is_some()) {
                moving.push(key.clone());
            }
        }
        Ok(moving)
    }

    /// Reads at most 100 items as of one moment, in the order of the keys. Customers' split records are read where the
    /// tenant's layout has them.
    ///
    /// # Errors
    /// [`ReadError`] if the read fails; [`ReadError::Throttled`] if it conflicted with writes in every round.
    pub async fn get_together(&self, keys: &[Key]) -> Result<Vec<Option<Item>>, ReadError> {
        let mut layouts = Vec::with_capacity(keys.len());
        for key in keys {
            layouts.push(self.layout_of(key).await?);
        }
        let reading = |key, layout: &Option<Arc<Layout>>| {
            layout.as_ref().and_then(|layout| layout.reading(key)).map(|reading| reading.keys())
        };
        let requested: Vec<Vec<Key>> = keys
            .iter()
            .zip(&layouts)
            .map(|(key, layout)| reading(key, layout).map_or_else(|| vec![key.clone()], Vec::from))
            .collect();
        let mut wanted: Vec<Key> = requested.into_iter().flatten().collect();
        wanted.sort();
        wanted.dedup();
        let stored = self.get_stored_together(&wanted).await?;
        let stored: BTreeMap<&Key, _> =
            wanted.iter().zip(stored).filter_map(|(key, item)| Some((key, item?))).collect();
        let whole = |key: &Key| stored.get(key).cloned().map(convert::item_from_sdk).transpose();
        // Legacy items may have attributes of any type.
        let legacy_item = |key: &Key| stored.get(key).cloned().map(convert::legacy_item);
        let items = keys.iter().zip(&layouts).map(|(key, layout)| {
            match layout.as_ref().and_then(|layout| layout.reading(key)) {
                Some(reading) => {
                    let [record, legacy, split] = reading.keys();
                    Ok(reading.item([legacy_item(&record), legacy_item(&legacy)], whole(&split)?)?)
                }
                None => Ok(whole(key)?),
            }
        });
        items.collect()
    }

    /// Reads the items under these keys as of one moment, without regard to layouts.
    pub(super) async fn get_stored_together(&self, keys: &[Key]) -> Result<Vec<Option<Stored>>, ReadError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let request = reads::snapshot(keys).ok_or_else(|| ReadError::Refused("UnaskableSnapshot".to_owned()))?;
        for round in 0..ROUNDS_MAX {
            if round > 0 {
                tokio::time::sleep(retry::backoff(round, self.entropy.jitter())).await;
            }
            match self.ask(request.clone()).await {
                Ok(answer) => return Ok(answer.items),
                Err(AskError::Conflict) => {}
                Err(AskError::Read(error)) => return Err(error),
            }
        }
        Err(ReadError::Throttled)
    }

    /// Reads the balances of a partition's account, where the tenant's layout has them.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn balances(&self, partition: &Partition) -> Result<Vec<Item>, ReadError> {
        match self.moving_balances(partition).await? {
            Some(items) => Ok(items),
            None => self.query(&reads::balances(partition)).await,
        }
    }

    /// Whether a customer's wallet is closed.
    ///
    /// # Errors
    /// [`ReadError`] if the profile cannot be read.
    pub(crate) async fn is_closed(&self, tenant: &Tenant, customer: CustomerId) -> Result<bool, ReadError> {
        let profile = self.get(&Partition::customer(tenant, customer).profile()).await?;
        Ok(profile.as_ref().is_some_and(is_closed_wallet))
    }

    /// Reads the items of a query.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails or an item is unreadable.
    pub async fn query(&self, query: &Query) -> Result<Vec<Item>, ReadError> {
        let items = self.rows(query).await?;
        Ok(items.into_iter().map(convert::item_from_sdk).collect::<Result<_, _>>()?)
    }

    /// Reads the items of a query as far as they are readable, so that an unreadable item does not hide the others.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn query_readable(&self, query: &Query) -> Result<Vec<Readable>, ReadError> {
        Ok(self.rows(query).await?.into_iter().map(convert::readable).collect())
    }

    /// Reads items of the legacy system, whose attributes may have any type: sets become lists, and nulls are dropped.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn query_legacy(&self, query: &Query) -> Result<Vec<Item>, ReadError> {
        Ok(self.rows(query).await?.into_iter().map(convert::kept).collect())
    }

    /// Counts the items of a query. It holds one page of them at a time.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn count(&self, query: &Query) -> Result<usize, ReadError> {
        let mut count = 0_usize;
        self.pages(query, |page| count = count.saturating_add(page.len())).await?;
        Ok(count.min(query.items_max().unwrap_or(usize::MAX)))
    }

    async fn rows(&self, query: &Query) -> Result<Vec<Stored>, ReadError> {
        let mut rows = Vec::new();
        self.pages(query, |page| rows.extend(page)).await?;
        rows.truncate(query.items_max().unwrap_or(usize::MAX));
        Ok(rows)
    }

    async fn pages(&self, query: &Query, mut each: impl FnMut(Vec<Stored>) + Send) -> Result<(), ReadError> {
        let sort_attribute = query.sort_attribute();
        let mut found = 0_usize;
        let mut request = query.request(0, None);
        while let Some(page) = request.take() {
            let answer = self.ask(page).await?;
            let mut rows: Vec<Stored> = answer.items.into_iter().flatten().collect();
            rows.retain(|row| {
                let sort_key = row.get(sort_attribute).and_then(|key| key.as_s().ok());
                sort_key.is_none_or(|sort_key| query.includes(sort_key))
            });
            found = found.saturating_add(rows.len());
            each(rows);
            let is_full = query.items_max().is_some_and(|items| found >= items);
            request = answer.next.filter(|_| !is_full).and_then(|next| query.request(found, Some(next)));
        }
        Ok(())
    }
}

pub(super) fn read_error<E: ProvideErrorMetadata, R>(error: SdkError<E, R>) -> ReadError {
    match error {
        SdkError::ConstructionFailure(_) => ReadError::Refused("ConstructionFailure".to_owned()),
        SdkError::TimeoutError(_) => ReadError::Unavailable("Timeout".to_owned()),
        SdkError::DispatchFailure(_) => ReadError::Unavailable("DispatchFailure".to_owned()),
        SdkError::ResponseError(_) => ReadError::Unavailable("UnreadableResponse".to_owned()),
        SdkError::ServiceError(error) => match super::Answer::of(error.err().code()) {
            super::Answer::Throttled => ReadError::Throttled,
            super::Answer::Refused => ReadError::Refused(error.err().code().unwrap_or_default().to_owned()),
            super::Answer::Cancelled | super::Answer::Unlisted => {
                ReadError::Unavailable(error.err().code().unwrap_or("Unlisted").to_owned())
            }
        },
        other => ReadError::Unavailable(other.code().unwrap_or("Unlisted").to_owned()),
    }
}
