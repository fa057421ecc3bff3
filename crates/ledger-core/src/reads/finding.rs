//! Queries of lists and searches. They read the index by owner: a record that was just written may be missing, and one that
//! was just changed may be where it was. Read the items by their keys ([`super::items`]), and compare them.

use super::query::Query;
use super::range::SortRange;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{self, Lookup};
use crate::time::Timestamp;
use uuid::Uuid;

/// A part of a list by time, newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The first instant; `None`: from the first record on.
    pub from: Option<Timestamp>,
    /// The first instant after the part; `None`: up to the last record.
    pub until: Option<Timestamp>,
    /// The place after which the part begins.
    pub after: Option<(Timestamp, Uuid)>,
}

/// The keys of a shard of the tenant's customers, newest first.
#[must_use]
pub fn customers(tenant: &Tenant, shard: u32, times: Times) -> Query {
    by_time(keys::customers_partition(tenant, shard), times)
}

/// The keys of a shard of the markers that refuse a payment of the tenant, newest first.
#[must_use]
pub fn refused_payments(tenant: &Tenant, shard: u32, times: Times) -> Query {
    by_time(keys::refused_partition(tenant, shard), times)
}

/// The keys of a shard of the tenant's terminals, newest first.
#[must_use]
pub fn terminals(tenant: &Tenant, shard: u32, times: Times) -> Query {
    by_time(keys::terminals_partition(tenant, shard), times)
}

/// The keys of a merchant's terminals, newest first.
#[must_use]
pub fn terminals_of(tenant: &Tenant, merchant: MerchantId, times: Times) -> Query {
    by_time(keys::terminals_of_partition(tenant, merchant), times)
}

/// The lookup items of the customers with an e-mail address or a telephone number, by its hash under a key.
#[must_use]
pub fn customers_with(tenant: &Tenant, lookup: Lookup, (key, hash): (&str, &[u8; 32]), after: Option<String>) -> Query {
    Query::by_owner(keys::contact_partition(tenant, lookup, key, hash)).after(after)
}

/// The lookup items of a shard of the customers whose normalized name or kana begins with `prefix`.
#[must_use]
pub fn customers_named(tenant: &Tenant, (lookup, shard): (Lookup, u32), prefix: &str, after: Option<String>) -> Query {
    by_name(keys::names_partition(tenant, lookup, shard), prefix, after)
}

/// The lookup items of the merchants whose normalized name begins with `prefix`.
#[must_use]
pub fn merchants_named(tenant: &Tenant, prefix: &str, after: Option<String>) -> Query {
    by_name(keys::merchant_names_partition(tenant), prefix, after)
}

fn by_time(partition: String, times: Times) -> Query {
    let after = times.after.map(|(at, id)| keys::place(at, id));
    let range = SortRange::made_within(times.from, times.until);
    Query::by_owner_within(partition, range).newest_first().after(after)
}

fn by_name(partition: String, prefix: &str, after: Option<String>) -> Query {
    Query::by_owner_within(partition, SortRange::prefix(prefix)).after(after)
}
