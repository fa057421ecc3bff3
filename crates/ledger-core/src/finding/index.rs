//! Writing what lists and searches find records by, where it is missing or was made with an earlier key.

use super::{card, customer, customer_lookup, listed, merchant_lookup, terminal, terminal_lookup};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update};
use crate::failure::Failure;
use crate::idempotency::MarkerKeys;
use crate::ids::{CardId, CustomerId, MerchantId, Tenant, TerminalId, TopupId};
use crate::keys::{self, Key, Lookup, Partition, attr};
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};

/// A kind of record that is listed or searched.
#[derive(Clone, Copy, Debug)]
pub struct IndexKind {
    /// The name, in the plural.
    pub name: &'static str,
    /// The kind of its partition.
    partition: &'static str,
    /// Whether its record has this sort key.
    is_record: fn(&str) -> bool,
    /// The role of its record.
    role: Role,
    /// Its lookup items.
    lookups: &'static [Lookup],
    /// The attributes that they are made of.
    fields: &'static [&'static str],
    wanted: fn(&Tenant, &Partition, &Item, &MarkerKeys) -> Result<Wanted, ItemError>,
}

/// Every kind, in the order of its records in a partition.
pub const KINDS: &[IndexKind] = &[
    IndexKind {
        name: "customers",
        partition: "customer",
        is_record: is_profile,
        role: Role::Profile,
        lookups: &Lookup::OF_CUSTOMER,
        fields: &["email", "phone", "name", "kana"],
        wanted: of_customer,
    },
    IndexKind {
        name: "merchants",
        partition: "merchant",
        is_record: is_profile,
        role: Role::Profile,
        lookups: &[Lookup::Name],
        fields: &["name"],
        wanted: of_merchant,
    },
    IndexKind {
        name: "terminals",
        partition: "terminal",
        is_record: is_profile,
        role: Role::Profile,
        lookups: &[Lookup::Merchant],
        fields: &[],
        wanted: of_terminal,
    },
    IndexKind {
        name: "cards",
        partition: "card",
        is_record: |sort_key| sort_key == "card",
        role: Role::Card,
        lookups: &[],
        fields: &[],
        wanted: of_card,
    },
    IndexKind {
        name: "top-ups",
        partition: "topup",
        is_record: |sort_key| sort_key == "TOPUP",
        role: Role::Topup,
        lookups: &[],
        fields: &[],
        wanted: of_topup,
    },
];

fn is_profile(sort_key: &str) -> bool {
    sort_key == "PROFILE"
}

/// What lists and searches need of a record.
struct Wanted {
    /// The index keys of the record; empty if it has them from its beginning.
    record: Item,
    /// The lookup items, in the order of [`IndexKind::lookups`].
    lookups: Vec<Item>,
}

/// A record, with the items that it is found by.
#[derive(Clone, Copy, Debug)]
pub struct Indexing<'a> {
    kind: &'static IndexKind,
    key: &'a Key,
}

/// How many of a record's items are as they must be.
#[derive(Clone, Debug)]
pub enum Kept {
    /// All of them.
    Whole,
    /// Not all: how many differ, and the transaction that writes them.
    Differs(usize, Transaction),
}

/// Why a record cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexingError {
    /// The record cannot be read.
    #[error(transparent)]
    Stored(#[from] ItemError),
    /// The transaction cannot be built, which one of this form always can.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl<'a> Indexing<'a> {
    /// The record under this key; `None` if records of its kind are neither listed nor searched.
    #[must_use]
    pub fn of(key: &'a Key) -> Option<Self> {
        let kind =
            KINDS.iter().find(|kind| (kind.is_record)(key.sk()) && key.partition_kind() == Some(kind.partition))?;
        Some(Self { kind, key })
    }

    /// The kind of the record.
    #[must_use]
    pub fn kind(&self) -> &'static IndexKind {
        self.kind
    }

    /// The keys of the record and of its lookup items.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        let of = self.key.partition();
        std::iter::once(self.key.clone())
            .chain(self.kind.lookups.iter().map(|lookup| keys::lookup(&of, *lookup)))
            .collect()
    }

    /// Compares the items of [`Indexing::keys`], as they were read. What differs is written if the record is as it was
    /// read; else the transaction fails with `StalePlan`.
    ///
    /// # Errors
    /// [`IndexingError`] if the record cannot be read.
    pub fn compare(&self, tenant: &Tenant, items: &[Option<Item>], keys: &MarkerKeys) -> Result<Kept, IndexingError> {
        let Some(record) = items.first().and_then(Option::as_ref) else { return Ok(Kept::Whole) };
        let of = self.key.partition();
        let wanted = (self.kind.wanted)(tenant, &of, record, keys)?;
        let mut guards = vec![exists()];
        guards.extend(self.kind.fields.iter().map(|name| as_read(name, record)));
        let mut writes = Vec::new();
        let has_keys = wanted.record.iter().all(|(name, value)| record.get(name) == Some(value));
        writes.push(if has_keys {
            TransactItem::check(self.kind.role, self.key.clone(), guards)
        } else {
            guards.push(as_read(attr::OWNER_PK, record));
            let update = wanted.record.iter().fold(Update::new(), |update, (name, value)| match name.as_str() {
                attr::OWNER_PK => update.set(attr::OWNER_PK, attr::OWNER_PK, value.clone()),
                _ => update.set(attr::OWNER_SK, attr::OWNER_SK, value.clone()),
            });
            TransactItem::update(self.kind.role, self.key.clone(), update, guards)
        });
        let stored = items.iter().skip(1);
        for ((lookup, wanted), stored) in self.kind.lookups.iter().zip(wanted.lookups).zip(stored) {
            let differs = [attr::OWNER_PK, attr::OWNER_SK]
                .iter()
                .any(|name| stored.as_ref().and_then(|stored| stored.get(*name)) != wanted.get(*name));
            if differs {
                writes.push(super::write(&of, *lookup, wanted));
            }
        }
        let differing = writes.len().saturating_sub(usize::from(has_keys));
        if differing == 0 {
            return Ok(Kept::Whole);
        }
        Ok(Kept::Differs(differing, Transaction::unkeyed(writes)?))
    }
}

/// Requires that an attribute is as it was read. Fails with `StalePlan`.
fn as_read(name: &'static str, record: &Item) -> Clause {
    let condition = match record.get(name) {
        Some(seen) => Condition::compare(name, Cmp::Eq, name, seen.clone()),
        // What the legacy model writes for an absent text may be read as absent.
        None => Condition::absent(name).or(Condition::null(name)),
    };
    Clause { condition, failure: Failure::StalePlan }
}

fn of_customer(tenant: &Tenant, of: &Partition, profile: &Item, keys: &MarkerKeys) -> Result<Wanted, ItemError> {
    let id = of.profile().customer().ok_or_else(|| ItemError::invalid(attr::PK))?;
    let lookup = |lookup: &Lookup| Ok(customer_lookup(tenant, id, (*lookup, profile.opt_text(lookup.name())?), keys));
    Ok(Wanted {
        record: customer(tenant, id, profile.timestamp(attr::CREATED_AT)?),
        lookups: Lookup::OF_CUSTOMER.iter().map(lookup).collect::<Result<_, ItemError>>()?,
    })
}

fn of_merchant(tenant: &Tenant, _: &Partition, profile: &Item, _: &MarkerKeys) -> Result<Wanted, ItemError> {
    let id = profile.parsed("merchant_id", MerchantId::parse)?;
    Ok(Wanted { record: Item::new(), lookups: vec![merchant_lookup(tenant, id, profile.text("name")?)] })
}

fn of_terminal(tenant: &Tenant, _: &Partition, profile: &Item, _: &MarkerKeys) -> Result<Wanted, ItemError> {
    let id = profile.parsed("terminal_id", TerminalId::parse)?;
    let at = profile.timestamp(attr::CREATED_AT)?;
    // A counter has no merchant.
    let merchant = profile.opt_parsed("merchant_id", MerchantId::parse)?;
    let lookup = merchant.map(|merchant| terminal_lookup(tenant, id, merchant, at));
    Ok(Wanted { record: terminal(tenant, id, at), lookups: vec![lookup.unwrap_or_default()] })
}

fn of_card(tenant: &Tenant, _: &Partition, item: &Item, _: &MarkerKeys) -> Result<Wanted, ItemError> {
    Ok(Wanted { record: card(tenant, item.parsed("card_id", CardId::parse)?), lookups: Vec::new() })
}

fn of_topup(tenant: &Tenant, _: &Partition, topup: &Item, _: &MarkerKeys) -> Result<Wanted, ItemError> {
    let (id, customer) = (topup.parsed("topup_id", TopupId::parse)?, topup.parsed("customer_id", CustomerId::parse)?);
    let record = listed(keys::topups_partition(tenant, customer), id.to_string());
    Ok(Wanted { record, lookups: Vec::new() })
}
