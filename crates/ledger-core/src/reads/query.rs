//! A query of one partition, page by page.

use super::range::{Bounds, SortRange};
use super::request::{QueryRequest, Request};
use crate::dynamo::{Item, Value};
use crate::keys::{INDEX_BY_OWNER, INDEX_DUE, Partition, attr};
use std::collections::BTreeMap;

/// The table or index that a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Table,
    Owner,
    Due,
}

/// A query of one partition of the table or of an index, by default oldest first and without a limit.
///
/// Only the functions of `reads` make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    source: Source,
    partition: String,
    range: SortRange,
    after: Option<String>,
    newest_first: bool,
    limit: Option<usize>,
}

impl Query {
    /// Items of a partition of the table.
    pub(super) fn partition(partition: &Partition, range: SortRange) -> Self {
        Self::of(Source::Table, partition.as_str().to_owned(), range)
    }

    /// Entries of a partition of the index by owner.
    pub(super) fn by_owner(partition: String) -> Self {
        Self::by_owner_within(partition, SortRange::ALL)
    }

    /// Entries of a partition of the index by owner whose sort keys are in a range.
    pub(super) fn by_owner_within(partition: String, range: SortRange) -> Self {
        Self::of(Source::Owner, partition, range)
    }

    /// Items of a partition of the index `due`.
    pub(super) fn due(partition: String, range: SortRange) -> Self {
        Self::of(Source::Due, partition, range)
    }

    fn of(source: Source, partition: String, range: SortRange) -> Self {
        Self { source, partition, range, after: None, newest_first: false, limit: None }
    }

    /// Starts after this sort key, in the direction of the query. The key need not exist.
    #[must_use]
    pub fn after(mut self, sort_key: Option<String>) -> Self {
        self.after = sort_key;
        self
    }

    /// Reads from the largest sort key down.
    #[must_use]
    pub fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// Reads at most this many items.
    #[must_use]
    pub fn limit(mut self, items: usize) -> Self {
        self.limit = Some(items);
        self
    }

    /// The limit; `None` if there is none.
    #[must_use]
    pub fn items_max(&self) -> Option<usize> {
        self.limit
    }

    /// The attribute that sorts the items; [`Query::after`] takes a value of it.
    #[must_use]
    pub fn sort_attribute(&self) -> &'static str {
        self.key_attributes().1
    }

    /// Whether an item of a response belongs to the result, by its sort key.
    ///
    /// A key condition has no range that excludes its bound, so a response may contain the item that [`Query::after`]
    /// names.
    #[must_use]
    pub fn includes(&self, sort_key: &str) -> bool {
        self.after.as_deref() != Some(sort_key)
    }

    /// The request for the next page; `None` if no item can match.
    ///
    /// `found` is the number of items of the result that have been read, and `start` is where the last page ended.
    #[must_use]
    pub fn request(&self, found: usize, start: Option<Item>) -> Option<Request> {
        let range = match (&self.after, self.newest_first) {
            (None, _) => self.range.clone(),
            (Some(after), true) => self.range.clone().at_most(after),
            (Some(after), false) => self.range.clone().at_least(after),
        };
        let (pk, sk) = self.key_attributes();
        let mut names = BTreeMap::from([("#pk".to_owned(), pk.to_owned())]);
        let mut values = Item::from([(":pk".to_owned(), Value::s(&self.partition))]);
        let mut bound = |name: &str, text: &str| {
            names.insert("#sk".to_owned(), sk.to_owned());
            values.insert(name.to_owned(), Value::s(text));
        };
        let key_condition = match range.bounds() {
            Bounds::Nothing => return None,
            Bounds::All => "#pk = :pk",
            Bounds::Prefix(prefix) => {
                bound(":prefix", prefix);
                "#pk = :pk AND begins_with(#sk, :prefix)"
            }
            Bounds::From(low) => {
                bound(":low", low);
                "#pk = :pk AND #sk >= :low"
            }
            Bounds::UpTo(high) => {
                bound(":high", high);
                "#pk = :pk AND #sk <= :high"
            }
            Bounds::Between(low, high) => {
                bound(":low", low);
                bound(":high", high);
                "#pk = :pk AND #sk BETWEEN :low AND :high"
            }
        };
        // One more, because the item that `after` names may be among them. DynamoDB rejects a limit of zero.
        let border = usize::from(self.after.is_some());
        let missing = self.limit.map(|limit| limit.saturating_add(border).saturating_sub(found).max(1));
        Some(Request::Query(QueryRequest {
            index: self.index(),
            key_condition,
            names,
            values,
            forward: !self.newest_first,
            limit: missing.map(|missing| i32::try_from(missing).unwrap_or(i32::MAX)),
            start,
        }))
    }

    fn index(&self) -> Option<&'static str> {
        match self.source {
            Source::Table => None,
            Source::Owner => Some(INDEX_BY_OWNER),
            Source::Due => Some(INDEX_DUE),
        }
    }

    fn key_attributes(&self) -> (&'static str, &'static str) {
        match self.source {
            Source::Table => (attr::PK, attr::SK),
            Source::Owner => (attr::OWNER_PK, attr::OWNER_SK),
            Source::Due => (attr::DUE_PK, attr::DUE_SK),
        }
    }
}
