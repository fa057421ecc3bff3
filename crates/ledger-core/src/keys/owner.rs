//! The index by owner: which merchant or customer an item is of, and which merchants and cards a tenant has.

use crate::ids::{CustomerId, MerchantId, Tenant};
use crate::time::Timestamp;

/// The index that lists a merchant's payments and refunds, a customer's top-ups, and what else a tenant has lists of.
///
/// It holds keys alone, none of which changes: an item's entry is written once, however often the item changes. What is
/// listed only while it is open (holds, what needs review) has no keys any longer when it has ended.
pub const INDEX_BY_OWNER: &str = "by_owner";

/// The partition of the index by owner that lists a merchant's records of one shard.
#[must_use]
pub fn owner_partition(tenant: &Tenant, merchant: MerchantId, shard: u32) -> String {
    format!("{tenant}#merchant#{merchant}#{shard}")
}

/// The partition of the index by owner that lists a tenant's merchants: one shard, because they are rarely written.
#[must_use]
pub fn merchants_partition(tenant: &Tenant) -> String {
    format!("{tenant}#merchants#0")
}

/// The partition of the index by owner that lists a tenant's cards of one shard.
#[must_use]
pub fn cards_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#cards#{shard}")
}

/// The partition of the index by owner that lists a customer's top-ups. One customer's are few, so they have one shard.
#[must_use]
pub fn topups_partition(tenant: &Tenant, customer: CustomerId) -> String {
    format!("{tenant}#topups_of#{customer}#0")
}

/// The partition of the index by owner that lists the staff's acts about a customer, by their ids. They are few, so they
/// have one shard.
#[must_use]
pub fn acts_partition(tenant: &Tenant, customer: CustomerId) -> String {
    format!("{tenant}#acts_of#{customer}#0")
}

/// The partition of the index by owner that lists a tenant's settlements: one shard, because they are rarely written.
#[must_use]
pub fn settlements_partition(tenant: &Tenant) -> String {
    format!("{tenant}#settlements#0")
}

/// The partition of the index by owner that lists a tenant's refused payments of one shard, by their [`super::place`].
#[must_use]
pub fn refused_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#refused#{shard}")
}

/// The partition of the index by owner that lists a tenant's open holds of one shard, by [`listed_from`] their expiry.
#[must_use]
pub fn holds_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#holds#{shard}")
}

/// The partition of the index by owner that lists what needs review, by [`listed_from`] the time since when: parked
/// operations and kept events. They are few, so they have one shard.
#[must_use]
pub fn attention_partition(tenant: &Tenant) -> String {
    format!("{tenant}#attention#0")
}

/// The sort key of an item that is listed by an instant: `<instant>#<id>`. Texts of instants sort by time.
#[must_use]
pub fn listed_from(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{at}#{id}")
}
