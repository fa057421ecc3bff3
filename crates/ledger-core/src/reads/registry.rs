//! Reads of the registry.

use super::query::Query;
use super::range::SortRange;
use crate::ids::Tenant;
use crate::keys;

/// The tenants of one shard of the registry, by their names, after the tenant `after`.
#[must_use]
pub fn registered_tenants(shard: u8, after: Option<&Tenant>) -> Query {
    Query::partition(&keys::registry_partition(shard), SortRange::ALL).after(after.map(ToString::to_string))
}
