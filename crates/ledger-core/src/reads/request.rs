//! Requests as they are sent, without the table's name.

use crate::dynamo::Item;
use crate::keys::Key;
use std::collections::BTreeMap;

/// A request that reads the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// One item, strongly consistent.
    GetItem(Key),
    /// Up to 100 distinct items, each strongly consistent; not as of one instant.
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
    /// `ExclusiveStartKey`: where the page before ended.
    pub start: Option<Item>,
}

/// A `Scan` request of the table itself, which is read consistently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRequest {
    /// `Segment` and `TotalSegments`; `None` for a scan without segments.
    pub segment: Option<(i32, i32)>,
    /// `FilterExpression`.
    pub filter: &'static str,
    /// `ProjectionExpression`.
    pub projection: Option<&'static str>,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: Item,
    /// `Limit`: the number of items read, before the filter.
    pub limit: i32,
    /// `ExclusiveStartKey`: where the page before ended.
    pub start: Option<Item>,
    /// Whether the response has the consumed capacity (`ReturnConsumedCapacity = TOTAL`).
    pub returns_capacity: bool,
}
