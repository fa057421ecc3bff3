//! Keys of the registry, which is a table of its own.

use super::{Key, Partition};
use crate::ids::Tenant;
use sha2::{Digest as _, Sha256};

/// The number of partitions of the registry.
pub const REGISTRY_SHARDS: u8 = 16;

/// A tenant's item in the registry.
#[must_use]
pub fn registered_tenant(tenant: &Tenant) -> Key {
    let [first, ..] = <[u8; 32]>::from(Sha256::digest(tenant.as_str()));
    registry_partition(first.checked_rem(REGISTRY_SHARDS).unwrap_or(0)).item(tenant.as_str())
}

/// A partition of the registry. It has no tenant: it lists them.
pub(crate) fn registry_partition(shard: u8) -> Partition {
    Partition(format!("tenants#{shard}"))
}
