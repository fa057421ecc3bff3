//! Reads. All of them are consistent, but for queries of an index, which cannot be.

use super::{Dynamo, convert};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Get, KeysAndAttributes, TransactGetItem};
use ledger_core::dynamo::{Item, ItemError, Value};
use ledger_core::keys::{INDEX_BY_OWNER, INDEX_DUE, Key, Partition, attr, sk};
use ledger_core::migration::Layout;
use ledger_core::retry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// DynamoDB's bound for one BatchGetItem or TransactGetItems.
const KEYS_MAX: usize = 100;
/// How often keys that were left unprocessed, or met a transaction, are asked for again.
const ROUNDS_MAX: u32 = 5;
/// A page of a query ends at 1 MB; our lists are far smaller.
const PAGES_MAX: u32 = 32;
/// Sorts after every character of a sort key.
const LAST: char = '\u{10ffff}';

/// Why a read has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The store asks for a pause.
    #[error("the store is throttled")]
    Throttled,
    /// The store did not answer, or with an error of its own.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// The read itself is wrong: a missing table, permission or a malformed key.
    #[error("the store refused the read ({0}): check the table's name and the role's permissions")]
    Refused(String),
    /// An item does not look as we write it.
    #[error(transparent)]
    Unreadable(#[from] ItemError),
}

/// An item, as far as it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable {
    /// What can be read: all that we have written, its keys among it.
    pub item: Item,
    /// An attribute that cannot be.
    pub odd: Option<ItemError>,
}

impl Readable {
    /// The whole item.
    ///
    /// # Errors
    /// [`ItemError`] names what cannot be read.
    pub fn whole(&self) -> Result<&Item, ItemError> {
        self.odd.as_ref().map_or(Ok(&self.item), |odd| Err(odd.clone()))
    }
}

/// Which sort keys a query asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKeys {
    /// Every one of the partition.
    All,
    /// Those that begin so.
    Prefix(String),
    /// Those between two, both included.
    Between(String, String),
    /// Those up to one, included.
    UpTo(String),
}

/// A query of one partition, of the table or of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuerySpec {
    partition: String,
    index: Option<&'static str>,
    sort_keys: SortKeys,
    after: Option<String>,
    newest_first: bool,
    limit: usize,
}

impl QuerySpec {
    /// Items of a partition, oldest first, 100 at most.
    #[must_use]
    pub fn partition(partition: &Partition, sort_keys: SortKeys) -> Self {
        Self::of(partition.as_str().to_owned(), None, sort_keys)
    }

    /// Items of a partition of the index `by_owner`. What was just written may be missing.
    #[must_use]
    pub fn by_owner(partition: String, sort_keys: SortKeys) -> Self {
        Self::of(partition, Some(INDEX_BY_OWNER), sort_keys)
    }

    /// Items of a partition of the index `due`. What was just written may be missing.
    #[must_use]
    pub fn due(partition: String, sort_keys: SortKeys) -> Self {
        Self::of(partition, Some(INDEX_DUE), sort_keys)
    }

    fn of(partition: String, index: Option<&'static str>, sort_keys: SortKeys) -> Self {
        Self { partition, index, sort_keys, after: None, newest_first: false, limit: 100 }
    }

    /// Only what comes after this sort key, in the direction of the query. It need not exist.
    #[must_use]
    pub fn after(mut self, sort_key: Option<String>) -> Self {
        self.after = sort_key;
        self
    }

    /// From the greatest sort key down.
    #[must_use]
    pub fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// At most so many items.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    fn key_names(&self) -> (&'static str, &'static str) {
        match self.index {
            Some(INDEX_BY_OWNER) => (attr::OWNER_PK, attr::OWNER_SK),
            Some(INDEX_DUE) => (attr::DUE_PK, attr::DUE_SK),
            Some(_) | None => (attr::PK, attr::SK),
        }
    }

    /// The least and the greatest sort key asked for, both included; `after` is one of them and is
    /// taken out of the result again, since a key condition has no "between, without the border".
    fn bounds(&self) -> (Option<String>, Option<String>) {
        let (low, high) = match &self.sort_keys {
            SortKeys::All => (None, None),
            SortKeys::Prefix(prefix) => (Some(prefix.clone()), Some(format!("{prefix}{LAST}"))),
            SortKeys::Between(low, high) => (Some(low.clone()), Some(high.clone())),
            SortKeys::UpTo(high) => (None, Some(high.clone())),
        };
        match (&self.after, self.newest_first) {
            (None, _) => (low, high),
            (Some(after), true) => (low, Some(high.map_or(after.clone(), |high| high.min(after.clone())))),
            (Some(after), false) => (Some(low.map_or(after.clone(), |low| low.max(after.clone()))), high),
        }
    }
}

impl Dynamo {
    /// An item as it is; a customer's split record from wherever the tenant's layout has it.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known.
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

    /// An item under its own key.
    pub(super) async fn get_stored(&self, key: &Key) -> Result<Option<Item>, ReadError> {
        let request = self.client.get_item().table_name(&*self.table).consistent_read(true);
        let answer = request.set_key(Some(convert::key_to_sdk(key))).send().await.map_err(read_error)?;
        Ok(answer.item.map(convert::item_from_sdk).transpose()?)
    }

    /// Items as they are, in the order of the keys, in one round trip per 100. Each is consistent;
    /// together they may straddle a transaction.
    ///
    /// # Errors
    /// [`ReadError`] if one of them is not known.
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
        for chunk in wanted.chunks(KEYS_MAX) {
            self.get_chunk(chunk, &mut found).await?;
        }
        Ok(keys.iter().map(|key| found.get(&(key.pk().to_owned(), key.sk().to_owned())).cloned()).collect())
    }

    async fn get_chunk(&self, keys: &[Key], found: &mut BTreeMap<(String, String), Item>) -> Result<(), ReadError> {
        let mut wanted = Some(keys.iter().map(convert::key_to_sdk).collect::<Vec<_>>());
        for round in 0..ROUNDS_MAX {
            let Some(keys) = wanted.take() else { return Ok(()) };
            if round > 0 {
                tokio::time::sleep(retry::backoff(round, self.entropy.jitter())).await;
            }
            let asked = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
            let asked = asked.map_err(|_| ReadError::Refused("IncompleteRead".to_owned()))?;
            let request = self.client.batch_get_item().request_items(&*self.table, asked);
            let answer = request.send().await.map_err(read_error)?;
            for item in answer.responses.unwrap_or_default().into_values().flatten() {
                let item = convert::item_from_sdk(item)?;
                if let (Some(Value::S(pk)), Some(Value::S(sk))) = (item.get(attr::PK), item.get(attr::SK)) {
                    found.insert((pk.clone(), sk.clone()), item);
                }
            }
            wanted = answer
                .unprocessed_keys
                .and_then(|mut tables| tables.remove(&*self.table))
                .map(|left| left.keys)
                .filter(|left| !left.is_empty());
        }
        match wanted {
            Some(_) => Err(ReadError::Throttled),
            None => Ok(()),
        }
    }

    /// Which of these a layout may have elsewhere.
    async fn moving(&self, keys: &[Key]) -> Result<Vec<Key>, ReadError> {
        let mut moving = Vec::new();
        for key in keys {
            if self.layout_of(key).await?.is_some_and(|layout| layout.reading(key).is_some()) {
                moving.push(key.clone());
            }
        }
        Ok(moving)
    }

    /// At most 100 items as they were at one instant, in the order of the keys; a customer's split records from
    /// wherever the tenant's layout has them.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known; [`ReadError::Throttled`] if they are written to all the time.
    pub async fn get_together(&self, keys: &[Key]) -> Result<Vec<Option<Item>>, ReadError> {
        let mut layouts = Vec::with_capacity(keys.len());
        for key in keys {
            layouts.push(self.layout_of(key).await?);
        }
        let reading = |key, layout: &Option<Arc<Layout>>| {
            layout.as_ref().and_then(|layout| layout.reading(key)).map(|reading| reading.keys())
        };
        let asked: Vec<Vec<Key>> = keys
            .iter()
            .zip(&layouts)
            .map(|(key, layout)| reading(key, layout).map_or_else(|| vec![key.clone()], Vec::from))
            .collect();
        let mut wanted: Vec<Key> = asked.into_iter().flatten().collect();
        wanted.sort();
        wanted.dedup();
        let stored = self.get_stored_together(&wanted).await?;
        let stored: BTreeMap<&Key, _> =
            wanted.iter().zip(stored).filter_map(|(key, item)| Some((key, item?))).collect();
        let whole = |key: &Key| stored.get(key).cloned().map(convert::item_from_sdk).transpose();
        // What the ledger never wrote in a legacy item may be of any kind.
        let readable = |key: &Key| stored.get(key).cloned().map(|item| convert::readable(item).item);
        let items = keys.iter().zip(&layouts).map(|(key, layout)| {
            match layout.as_ref().and_then(|layout| layout.reading(key)) {
                Some(reading) => {
                    let [record, legacy, split] = reading.keys();
                    Ok(reading.item([readable(&record), readable(&legacy), whole(&split)?]))
                }
                None => Ok(whole(key)?),
            }
        });
        items.collect()
    }

    /// Items under their own keys as they were at one instant, as the SDK has them.
    pub(super) async fn get_stored_together(
        &self,
        keys: &[Key],
    ) -> Result<Vec<Option<HashMap<String, AttributeValue>>>, ReadError> {
        let mut gets = Vec::with_capacity(keys.len());
        for key in keys {
            let get = Get::builder().table_name(&*self.table).set_key(Some(convert::key_to_sdk(key))).build();
            let get = get.map_err(|_| ReadError::Refused("IncompleteRead".to_owned()))?;
            gets.push(TransactGetItem::builder().get(get).build());
        }
        for round in 0..ROUNDS_MAX {
            if round > 0 {
                tokio::time::sleep(retry::backoff(round, self.entropy.jitter())).await;
            }
            match self.client.transact_get_items().set_transact_items(Some(gets.clone())).send().await {
                Ok(answer) => {
                    return Ok(answer.responses.unwrap_or_default().into_iter().map(|got| got.item).collect());
                }
                Err(error) if met_a_write(&error) => {}
                Err(error) => return Err(read_error(error)),
            }
        }
        Err(ReadError::Throttled)
    }

    /// The balances of a partition's account, wherever they stand.
    ///
    /// # Errors
    /// [`ReadError`] if one of them is not known.
    pub async fn balances(&self, partition: &Partition) -> Result<Vec<Item>, ReadError> {
        match self.moving_balances(partition).await? {
            Some(items) => Ok(items),
            None => self.query(&QuerySpec::partition(partition, SortKeys::Prefix(sk::BALANCE.to_owned()))).await,
        }
    }

    /// The items that a query asks for.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known.
    pub async fn query(&self, spec: &QuerySpec) -> Result<Vec<Item>, ReadError> {
        let items = self.rows(spec).await?;
        Ok(items.into_iter().map(convert::item_from_sdk).collect::<Result<_, _>>()?)
    }

    /// The same where one item that cannot be read must not hide the others: of such a one there is what
    /// can be read.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known.
    pub async fn query_readable(&self, spec: &QuerySpec) -> Result<Vec<Readable>, ReadError> {
        Ok(self.rows(spec).await?.into_iter().map(convert::readable).collect())
    }

    async fn rows(&self, spec: &QuerySpec) -> Result<Vec<HashMap<String, AttributeValue>>, ReadError> {
        let (pk, sk) = spec.key_names();
        let mut names = HashMap::from([("#pk".to_owned(), pk.to_owned())]);
        let mut values = HashMap::from([(":pk".to_owned(), AttributeValue::S(spec.partition.clone()))]);
        let (low, high) = spec.bounds();
        if let (Some(low), Some(high)) = (&low, &high)
            && low > high
        {
            return Ok(Vec::new());
        }
        let condition = match (&low, &high) {
            (Some(_), Some(_)) => "#pk = :pk AND #sk BETWEEN :low AND :high",
            (Some(_), None) => "#pk = :pk AND #sk >= :low",
            (None, Some(_)) => "#pk = :pk AND #sk <= :high",
            (None, None) => "#pk = :pk",
        };
        if low.is_some() || high.is_some() {
            names.insert("#sk".to_owned(), sk.to_owned());
        }
        for (name, bound) in [(":low", low), (":high", high)] {
            if let Some(bound) = bound {
                values.insert(name.to_owned(), AttributeValue::S(bound));
            }
        }
        // One more, for `after` itself is among them.
        let wanted = spec.limit.saturating_add(usize::from(spec.after.is_some()));
        let mut items = Vec::new();
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let missing = wanted.saturating_sub(items.len());
            let request = self
                .client
                .query()
                .table_name(&*self.table)
                .set_index_name(spec.index.map(str::to_owned))
                .consistent_read(spec.index.is_none())
                .key_condition_expression(condition)
                .set_expression_attribute_names(Some(names.clone()))
                .set_expression_attribute_values(Some(values.clone()))
                .scan_index_forward(!spec.newest_first)
                .limit(i32::try_from(missing).unwrap_or(i32::MAX))
                .set_exclusive_start_key(start.take());
            let page = request.send().await.map_err(read_error)?;
            items.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() || items.len() >= wanted {
                break;
            }
        }
        if let Some(after) = &spec.after {
            items.retain(|item| item.get(sk) != Some(&AttributeValue::S(after.clone())));
        }
        items.truncate(spec.limit);
        Ok(items)
    }
}

fn met_a_write<R>(error: &SdkError<TransactGetItemsError, R>) -> bool {
    matches!(
        error.as_service_error(),
        Some(TransactGetItemsError::TransactionCanceledException(cancelled))
            if cancelled.cancellation_reasons().iter().any(|reason| reason.code() == Some("TransactionConflict"))
    )
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
