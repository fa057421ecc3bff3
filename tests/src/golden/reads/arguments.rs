//! The arguments of questions, parsed.

use super::question::ItemKey;
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{Key, Partition, TotalsOf, tenant_of};
use ledger_core::time::{BusinessDate, Timestamp, UtcDay};
use uuid::Uuid;

pub(super) fn slug(text: &str) -> Tenant {
    Tenant::parse(text).unwrap()
}

pub(super) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(super) fn day(text: &str) -> UtcDay {
    UtcDay::parse(text).unwrap()
}

pub(super) fn date(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

pub(super) fn totals_of(text: &str) -> TotalsOf {
    TotalsOf::parse(text).unwrap()
}

pub(super) fn key((pk, sk): &ItemKey) -> Key {
    Key::stored(&tenant_of(pk).unwrap(), pk, sk).unwrap()
}

pub(super) fn keys(keys: &[ItemKey]) -> Vec<Key> {
    keys.iter().map(key).collect()
}

pub(super) fn partition(pk: &str) -> Partition {
    key(&(pk.to_owned(), "x".to_owned())).partition()
}

pub(super) fn id(text: &str) -> Uuid {
    Uuid::parse_str(text).unwrap()
}

pub(super) fn after(text: Option<&String>) -> Option<Uuid> {
    text.map(|text| id(text))
}

pub(super) fn merchant(text: &str) -> MerchantId {
    MerchantId::parse(text).unwrap()
}
