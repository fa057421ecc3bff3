//! Queries of the index `due`, and of what is open and listed by the index by owner.
//!
//! Both indexes hold keys alone. An item that was just written may be missing, and one whose work was just done may be
//! included. So each worker reads the item itself before it acts.

use super::query::Query;
use super::range::SortRange;
use crate::ids::Tenant;
use crate::keys;
use crate::time::Timestamp;

/// Records of a shard that are not sealed: journal entries, most of which are also to be published, and trail records.
#[must_use]
pub fn records_unsealed(tenant: &Tenant, shard: u32) -> Query {
    Query::due(keys::publish_partition(tenant, shard), SortRange::ALL)
}

/// Sealed journal entries of a shard that are not published.
#[must_use]
pub fn entries_to_publish_late(tenant: &Tenant, shard: u32) -> Query {
    Query::due(keys::publish_late_partition(tenant, shard), SortRange::ALL)
}

/// All other work of a shard that is due at `now`, the longest due first.
#[must_use]
pub fn work_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    Query::due(keys::due_partition(tenant, shard), SortRange::up_to(keys::due_until(now)))
}

/// The same work whether or not it is due. The first says when the next is due.
#[must_use]
pub fn work_waiting(tenant: &Tenant, shard: u32) -> Query {
    Query::due(keys::due_partition(tenant, shard), SortRange::ALL)
}

/// The keys of operations and events that need review, the one that has waited longest first.
#[must_use]
pub fn attention(tenant: &Tenant) -> Query {
    Query::by_owner(keys::attention_partition(tenant))
}

/// The keys of the open holds of a shard, the one that expires first first.
#[must_use]
pub fn open_holds(tenant: &Tenant, shard: u32) -> Query {
    Query::by_owner(keys::holds_partition(tenant, shard))
}
