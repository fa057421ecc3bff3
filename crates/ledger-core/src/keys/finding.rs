//! Keys of lists and searches: partitions of the index by owner, and the items that are there to be found only.

use super::{Key, Partition, Shards, shard_of};
use crate::ids::{CustomerId, MerchantId, SubjectId, Tenant, parse_uuid};
use crate::time::Timestamp;
use crate::words::words;
use uuid::Uuid;

/// The number of partitions over which customers and terminals are spread. It never changes: a list reads all of them.
pub const LISTED_SHARDS: Shards = Shards::LISTED;

/// The prefix of the sort keys of lookup items.
pub const LOOKUP: &str = "LOOKUP#";

words! {
    /// What a record is looked up by, beside its id.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Lookup {
        /// A customer's e-mail address.
        Email = "email",
        /// A customer's telephone number.
        Phone = "phone",
        /// The name of a customer or a merchant.
        Name = "name",
        /// How a customer's name is read.
        Kana = "kana",
        /// The merchant of a terminal.
        Merchant = "merchant_id",
    }
}

impl Lookup {
    /// Those of a customer.
    pub const OF_CUSTOMER: [Self; 4] = [Self::Email, Self::Phone, Self::Name, Self::Kana];
}

/// A partition that lists a tenant's customers by [`place`].
#[must_use]
pub fn customers_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#customers#{shard}")
}

/// A partition that lists a tenant's terminals by [`place`].
#[must_use]
pub fn terminals_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#terminals#{shard}")
}

/// The partition that lists a merchant's terminals by [`place`].
#[must_use]
pub fn terminals_of_partition(tenant: &Tenant, merchant: MerchantId) -> String {
    format!("{tenant}#terminals_of#{merchant}")
}

/// The partition that lists the customers with an e-mail address or a telephone number, by their ids. `hash` is that of
/// the value under the key.
#[must_use]
pub fn contact_partition(tenant: &Tenant, lookup: Lookup, key: &str, hash: &[u8; 32]) -> String {
    format!("{tenant}#{}#{key}#{}", lookup.name(), hex::encode(hash))
}

/// A partition that lists customers by [`named_place`].
#[must_use]
pub fn names_partition(tenant: &Tenant, lookup: Lookup, shard: u32) -> String {
    format!("{tenant}#{}#{shard}", lookup.name())
}

/// The partition that lists merchants by [`named_place`]: one shard, because they are rarely written.
#[must_use]
pub fn merchant_names_partition(tenant: &Tenant) -> String {
    format!("{tenant}#merchant_names#0")
}

/// The shard of a customer or a terminal in the lists.
#[must_use]
pub fn listed_shard(id: Uuid) -> u32 {
    shard_of(id, LISTED_SHARDS)
}

/// The sort key of a record in a list by time.
#[must_use]
pub fn place(at: Timestamp, id: Uuid) -> String {
    format!("{at}#{id}")
}

/// The time and the id in the sort key of a list by time; `None` for any other text.
#[must_use]
pub fn place_of(text: &str) -> Option<(Timestamp, Uuid)> {
    let (at, id) = text.split_once('#')?;
    Some((Timestamp::parse(at).ok()?, parse_uuid(id).ok()?))
}

/// The sort key of a record in a list by name.
#[must_use]
pub fn named_place(name: &str, id: Uuid) -> String {
    format!("{name}#{id}")
}

/// The item by which a partition's holder is looked up.
#[must_use]
pub fn lookup(of: &Partition, lookup: Lookup) -> Key {
    of.item(format!("{LOOKUP}{}", lookup.name()))
}

/// The item that says whose sign-in a subject is. It is in the partition of the customer that would have the subject as id.
#[must_use]
pub fn sign_in(tenant: &Tenant, subject: SubjectId) -> Key {
    Partition::customer(tenant, CustomerId::new(subject.uuid())).item(format!("{LOOKUP}sign_in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_read_as_written_and_sorts_by_time_and_then_by_id() {
        let id = |last: u8| Uuid::parse_str(&format!("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d{last:02x}")).unwrap();
        let at = |millis: i64| Timestamp::from_millis(millis);
        let places = [(at(-1), id(9)), (at(999), id(2)), (at(1000), id(1)), (at(1000), id(2))];
        let texts: Vec<String> = places.iter().map(|(at, id)| place(*at, *id)).collect();
        assert!(texts.is_sorted(), "{texts:?}");
        for (text, of) in texts.iter().zip(places) {
            assert_eq!(place_of(text), Some(of));
        }
        for other in [
            "",
            "#",
            "2026-11-21T09:30:00.000Z",
            "2026-11-21T09:30:00.000Z#x",
            "x#019389d2-7c1e-7a52-9c3f-2b1f6a0c4d09",
        ] {
            assert_eq!(place_of(other), None, "{other}");
        }
    }
}
