//! Queries of merchants, their records and their settlements.

use super::accounts::newest;
use super::query::Query;
use super::range::SortRange;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::keys::{self, Partition, sk};
use uuid::Uuid;

/// The tenant's merchants. One that was just written may be missing.
#[must_use]
pub fn merchants(tenant: &Tenant) -> Query {
    Query::by_owner(keys::merchants_partition(tenant))
}

/// The merchant's payments and refunds of a shard. One that was just written may be missing.
#[must_use]
pub fn merchant_records(tenant: &Tenant, merchant: MerchantId, shard: u32) -> Query {
    Query::by_owner(keys::owner_partition(tenant, merchant, shard))
}

/// The merchant's settlements, newest first, after the settlement `after`.
#[must_use]
pub fn settlements(tenant: &Tenant, merchant: MerchantId, after: Option<Uuid>) -> Query {
    newest(&Partition::merchant(tenant, merchant), sk::SETTLEMENT, after)
}

/// The lists of the settlement's records, one for each transaction that took some.
#[must_use]
pub fn settled_batches(tenant: &Tenant, merchant: MerchantId, settlement: SettlementId) -> Query {
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::prefix(keys::settled_prefix(settlement)))
}
