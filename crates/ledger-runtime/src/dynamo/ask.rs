//! Sends the read requests that `ledger_core::reads` builds: the only module that reads the table.

use super::Dynamo;
use super::convert::{self, Stored};
use super::reads::{ReadError, read_error};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::types::{Get, KeysAndAttributes, ReturnConsumedCapacity, TransactGetItem};
use ledger_core::dynamo::Item;
use ledger_core::keys::Key;
use ledger_core::reads::{QueryRequest, Request, ScanRequest};
use std::collections::{BTreeMap, HashMap};

/// The response to a read.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The items. Those of a snapshot are one per key, in the order of the keys.
    pub(super) items: Vec<Option<Stored>>,
    /// Keys of a batch that DynamoDB did not process.
    pub(super) unprocessed: Vec<Key>,
    /// Where the next page begins; `None` after the last.
    pub(super) next: Option<Item>,
    /// How many items a scan read, before its filter.
    pub(super) scanned: u64,
    /// The read units consumed, rounded up; `None` unless the request asks for them and DynamoDB returns them.
    pub(super) units: Option<u64>,
}

/// Why a read failed.
#[derive(Debug)]
pub(super) enum AskError {
    /// A transactional read conflicted with a transaction in progress.
    Conflict,
    /// Any other failure.
    Read(ReadError),
}

impl From<ReadError> for AskError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<AskError> for ReadError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Conflict => Self::Throttled,
            AskError::Read(error) => error,
        }
    }
}

impl Dynamo {
    /// Sends a read once. The SDK retries it after timeouts and server errors.
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, AskError> {
        // Boxed, because the SDK's futures are large and all five would be part of each caller's future.
        match request {
            Request::GetItem(key) => Ok(Box::pin(self.ask_item(&key)).await?),
            Request::BatchGetItem(keys) => Ok(Box::pin(self.ask_batch(&keys)).await?),
            Request::TransactGetItems(keys) => Box::pin(self.ask_snapshot(&keys)).await,
            Request::Query(query) => Ok(Box::pin(self.ask_page(query)).await?),
            Request::Scan(scan) => Ok(Box::pin(self.ask_scan(scan)).await?),
        }
    }

    async fn ask_item(&self, key: &Key) -> Result<Answer, ReadError> {
        let request = self.client.get_item().table_name(&*self.table).consistent_read(true);
        let answer = request.set_key(Some(convert::key_to_sdk(key))).send().await.map_err(read_error)?;
        Ok(Answer { items: vec![answer.item], ..Answer::default() })
    }

    async fn ask_batch(&self, keys: &[Key]) -> Result<Answer, ReadError> {
        let keys = keys.iter().map(convert::key_to_sdk).collect();
        let keys_and_attributes = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
        let request =
            self.client.batch_get_item().request_items(&*self.table, keys_and_attributes.map_err(incomplete)?);
        let answer = request.send().await.map_err(read_error)?;
        let left = answer.unprocessed_keys.and_then(|mut tables| tables.remove(&*self.table));
        let left = left.into_iter().flat_map(|left| left.keys);
        let unprocessed = left.map(|key| convert::key_from_sdk(&key)).collect::<Option<_>>();
        Ok(Answer {
            items: answer.responses.unwrap_or_default().into_values().flatten().map(Some).collect(),
            unprocessed: unprocessed.ok_or_else(|| ReadError::Unavailable("UnreadableKeys".to_owned()))?,
            ..Answer::default()
        })
    }

    async fn ask_snapshot(&self, keys: &[Key]) -> Result<Answer, AskError> {
        let mut gets = Vec::with_capacity(keys.len());
        for key in keys {
            let get = Get::builder().table_name(&*self.table).set_key(Some(convert::key_to_sdk(key))).build();
            gets.push(TransactGetItem::builder().get(get.map_err(incomplete)?).build());
        }
        match self.client.transact_get_items().set_transact_items(Some(gets)).send().await {
            Ok(answer) => {
                let items = answer.responses.unwrap_or_default().into_iter().map(|got| got.item).collect();
                Ok(Answer { items, ..Answer::default() })
            }
            Err(error) if is_conflict(&error) => Err(AskError::Conflict),
            Err(error) => Err(AskError::Read(read_error(error))),
        }
    }

    async fn ask_page(&self, query: QueryRequest) -> Result<Answer, ReadError> {
        let request = self
            .client
            .query()
            .table_name(&*self.table)
            .consistent_read(query.index.is_none())
            .set_index_name(query.index.map(str::to_owned))
            .key_condition_expression(query.key_condition)
            .set_expression_attribute_names(names(query.names))
            .set_expression_attribute_values(Some(convert::item_to_sdk(query.values)))
            .scan_index_forward(query.forward)
            .set_limit(query.limit)
            .set_exclusive_start_key(query.start.map(convert::item_to_sdk));
        let page = request.send().await.map_err(read_error)?;
        Ok(Answer { items: present(page.items), next: next(page.last_evaluated_key)?, ..Answer::default() })
    }

    async fn ask_scan(&self, scan: ScanRequest) -> Result<Answer, ReadError> {
        let (segment, segments) = scan.segment.unzip();
        let request = self
            .client
            .scan()
            .table_name(&*self.table)
            .consistent_read(true)
            .set_segment(segment)
            .set_total_segments(segments)
            .filter_expression(scan.filter)
            .set_projection_expression(scan.projection.map(str::to_owned))
            .set_expression_attribute_names(names(scan.names))
            .set_expression_attribute_values(Some(convert::item_to_sdk(scan.values)))
            .limit(scan.limit)
            .set_exclusive_start_key(scan.start.map(convert::item_to_sdk))
            .set_return_consumed_capacity(scan.returns_capacity.then_some(ReturnConsumedCapacity::Total));
        let page = request.send().await.map_err(read_error)?;
        Ok(Answer {
            scanned: u64::try_from(page.scanned_count).unwrap_or_default(),
            units: page.consumed_capacity.and_then(|used| used.capacity_units).map(rounded_up),
            items: present(page.items),
            next: next(page.last_evaluated_key)?,
            ..Answer::default()
        })
    }
}

fn names(names: BTreeMap<String, String>) -> Option<HashMap<String, String>> {
    Some(names.into_iter().collect())
}

fn present(items: Option<Vec<Stored>>) -> Vec<Option<Stored>> {
    items.unwrap_or_default().into_iter().map(Some).collect()
}

fn next(key: Option<Stored>) -> Result<Option<Item>, ReadError> {
    Ok(key.filter(|key| !key.is_empty()).map(convert::item_from_sdk).transpose()?)
}

fn incomplete(_: aws_sdk_dynamodb::error::BuildError) -> ReadError {
    ReadError::Refused("IncompleteRead".to_owned())
}

fn is_conflict<R>(error: &SdkError<TransactGetItemsError, R>) -> bool {
    matches!(
        error.as_service_error(),
        Some(TransactGetItemsError::TransactionCanceledException(cancelled))
            if cancelled.cancellation_reasons().iter().any(|reason| reason.code() == Some("TransactionConflict"))
    )
}

/// Rounds the SDK's capacity units up to a whole number.
fn rounded_up(units: impl std::fmt::Display) -> u64 {
    let text = units.to_string();
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse::<u64>().unwrap_or_default();
    whole.saturating_add(u64::from(rest.bytes().any(|digit| digit != b'0')))
}
