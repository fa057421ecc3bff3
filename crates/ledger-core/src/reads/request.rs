//! The requests exactly as they are sent, but for the table's name.

use crate::dynamo::Item;
use crate::keys::Key;
use std::collections::BTreeMap;

/// A request that reads the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// One item, consistently.
    GetItem(Key),
    /// Up to 100 distinct items, each consistently; together they may straddle a transaction.
    BatchGetItem(Vec<Key>),
    /// Up to 100 distinct items as of one instant.
    TransactGetItems(Vec<Key>),
    /// A page of a partition of the table or of an index.
    Query(QueryRequest),
    /// A page of the table.
    Scan(ScanRequest),
}

/// A `Query` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryRequest {
    /// The index; `None` for the table itself, which is read consistently.
    pub index: Option<&'static str>,
    /// `KeyConditionExpression`.
    pub key_condition: &'static str,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: Item,
    /// `ScanIndexForward`.
    pub forward: bool,
    /// `Limit`; `None` for as many items as fit into a page of 1 MB.
    pub limit: Option<i32>,
    /// `ExclusiveStartKey`, as the page before has given it.
    pub start: Option<Item>,
}

/// A `Scan` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRequest {
    /// `Segment` and `TotalSegments`; `None` for a scan in one.
    pub segment: Option<(i32, i32)>,
    /// `FilterExpression`.
    pub filter: &'static str,
    /// `ProjectionExpression`.
    pub projection: Option<&'static str>,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: Item,
    /// `Limit`: items that are read, before the filter.
    pub limit: i32,
    /// `ExclusiveStartKey`, as the page before has given it.
    pub start: Option<Item>,
    /// Whether the answer names the capacity that it consumed (`ReturnConsumedCapacity = TOTAL`).
    pub returns_capacity: bool,
}
