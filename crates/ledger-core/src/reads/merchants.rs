//! Merchants, their records and their settlements.

use super::accounts::newest;
use super::query::Query;
use super::range::SortRange;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::keys::{self, Partition, sk};
use uuid::Uuid;

/// Which merchants does the tenant have? What was just written may be missing.
#[must_use]
pub fn merchants(tenant: &Tenant) -> Query {
    Query::by_owner(keys::merchants_partition(tenant))
}

/// Which payments and refunds of a shard does the merchant have? What was just written may be missing.
#[must_use]
pub fn merchant_records(tenant: &Tenant, merchant: MerchantId, shard: u32) -> Query {
    Query::by_owner(keys::owner_partition(tenant, merchant, shard))
}

/// Which settlements does the merchant have, newest first, after the settlement `after`?
#[must_use]
pub fn settlements(tenant: &Tenant, merchant: MerchantId, after: Option<Uuid>) -> Query {
    newest(&Partition::merchant(tenant, merchant), sk::SETTLEMENT, after)
}

/// Which records does the settlement have, by the lists of its transactions?
#[must_use]
pub fn settled_batches(tenant: &Tenant, merchant: MerchantId, settlement: SettlementId) -> Query {
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::prefix(keys::settled_prefix(settlement)))
}
