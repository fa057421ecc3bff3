//! Queries of merchants, their records and their settlements, and of the tenant's cards.

use super::accounts::newest;
use super::query::Query;
use super::range::SortRange;
use crate::ids::{MerchantId, SettlementId, Tenant, TransactionId, least_born_at};
use crate::keys::{self, Partition, sk};
use crate::time::{CLOCK_SKEW, Timestamp};
use uuid::Uuid;

/// The keys of the tenant's merchants. One that was just written may be missing.
#[must_use]
pub fn merchants(tenant: &Tenant) -> Query {
    Query::by_owner(keys::merchants_partition(tenant))
}

/// The keys of the merchant's payments and refunds of a shard. One that was just written may be missing.
#[must_use]
pub fn merchant_records(tenant: &Tenant, merchant: MerchantId, shard: u32) -> Query {
    Query::by_owner(keys::owner_partition(tenant, merchant, shard))
}

/// The keys of the tenant's cards of a shard, by id. One that was just written may be missing.
#[must_use]
pub fn cards(tenant: &Tenant, shard: u32) -> Query {
    Query::by_owner(keys::cards_partition(tenant, shard))
}

/// The keys of the merchant's payments and refunds of a shard whose ids are of `from` or later, as
/// [`merchant_records`].
#[must_use]
pub fn merchant_records_from(tenant: &Tenant, (merchant, shard): (MerchantId, u32), from: Timestamp) -> Query {
    let range = SortRange::ALL.at_least(&least_born_at(from).to_string());
    Query::by_owner_within(keys::owner_partition(tenant, merchant, shard), range)
}

/// The merchant's settlements, newest first, after the settlement `after`.
#[must_use]
pub fn settlements(tenant: &Tenant, merchant: MerchantId, after: Option<Uuid>) -> Query {
    newest(&Partition::merchant(tenant, merchant), sk::SETTLEMENT, after)
}

/// The keys of the settlements of all of a tenant's merchants: all of them, or those whose ids are of `from` or later. One
/// that was just opened may be missing.
#[must_use]
pub fn settlements_of_tenant(tenant: &Tenant, from: Option<Timestamp>) -> Query {
    let range = from.map_or(SortRange::ALL, |from| SortRange::ALL.at_least(&least_born_at(from).to_string()));
    Query::by_owner_within(keys::settlements_partition(tenant), range)
}

/// The lists of the settlement's records, one for each transaction that took some.
#[must_use]
pub fn settled_batches(tenant: &Tenant, merchant: MerchantId, settlement: SettlementId) -> Query {
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::prefix(keys::settled_prefix(settlement)))
}

/// What the merchant is credited with in each lane of the audit trail.
#[must_use]
pub fn lane_credits(tenant: &Tenant, merchant: MerchantId) -> Query {
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::prefix(sk::CREDITED))
}

/// The merchant's shops, newest first, after the shop `after`.
#[must_use]
pub fn shops(tenant: &Tenant, merchant: MerchantId, after: Option<Uuid>) -> Query {
    newest(&Partition::merchant(tenant, merchant), sk::SHOP, after)
}

/// The merchant's closed periods.
#[must_use]
pub fn periods(tenant: &Tenant, merchant: MerchantId) -> Query {
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::prefix(sk::PERIOD))
}

/// The merchant's closed periods that settlements gave back, with those that a later settlement has taken.
#[must_use]
pub fn periods_given_back(tenant: &Tenant, merchant: MerchantId) -> Query {
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::prefix(sk::PERIOD_BACK))
}

/// The merchant's returned payouts, with those that a later settlement has taken.
#[must_use]
pub fn returned_payouts(tenant: &Tenant, merchant: MerchantId) -> Query {
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::prefix(sk::RETURNED))
}

/// The merchant's bonuses on cash, in any state, of the top-ups from `from` on that began by `until`.
#[must_use]
pub fn cash_bonuses(tenant: &Tenant, merchant: MerchantId, from: Option<TransactionId>, until: Timestamp) -> Query {
    let low = from.map_or_else(|| sk::CASH_BONUS.to_owned(), |from| format!("{}{from}", sk::CASH_BONUS));
    let high = format!("{}{}", sk::CASH_BONUS, least_born_at(until.plus(CLOCK_SKEW)));
    Query::partition(&Partition::merchant(tenant, merchant), SortRange::between(low, high))
}
