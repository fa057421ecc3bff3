//! What lists and searches find customers, merchants and terminals by, and a customer's file the acts about the customer.
//!
//! A `PROFILE` has index keys that list it by time. A lookup item beside it has index keys for one value: a keyed hash of
//! an e-mail address or a telephone number, or a name. It is written with the profile, in one transaction, and whole: the
//! last change of a value is the last change of its item too. A value that is removed leaves an item without index keys.

mod index;
mod normal;

pub use index::{IndexKind, Indexing, IndexingError, KINDS, Kept};

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::idempotency::{KeyId, MarkerKeys};
use crate::ids::{CardId, CustomerId, MerchantId, Tenant, TerminalId};
use crate::keys::{self, Lookup, Partition, Shards, attr};
use crate::reads::{self, Query};
use crate::time::Timestamp;
use crate::transaction::{Role, TransactItem};
use std::fmt;
use uuid::Uuid;

/// A value that is searched, in the form in which values are compared. It prints as its kind.
#[derive(Clone, PartialEq, Eq)]
pub struct Sought {
    lookup: Lookup,
    form: String,
}

impl Sought {
    /// The form of a value; `None` if the text is no such value.
    #[must_use]
    pub fn parse(lookup: Lookup, text: &str) -> Option<Self> {
        Some(Self { lookup, form: form(lookup, text)? })
    }

    /// The kind of value.
    #[must_use]
    pub fn lookup(&self) -> Lookup {
        self.lookup
    }

    /// Whether a profile has the value: the same telephone number or e-mail address, or a name that begins so.
    ///
    /// # Errors
    /// [`ItemError`] if the attribute has another type.
    pub fn is_in(&self, profile: &Item) -> Result<bool, ItemError> {
        let stored = profile.opt_text(self.lookup.name())?.and_then(|text| form(self.lookup, text));
        Ok(stored.is_some_and(|stored| match self.lookup {
            Lookup::Email | Lookup::Phone | Lookup::Merchant => stored == self.form,
            Lookup::Name | Lookup::Kana => stored.starts_with(&self.form),
        }))
    }

    /// The queries that find the lookup items of customers, after a sort key of the index.
    #[must_use]
    pub fn of_customers(&self, tenant: &Tenant, keys: &MarkerKeys, after: Option<&str>) -> Vec<Query> {
        let after = || after.map(str::to_owned);
        match self.lookup {
            Lookup::Email | Lookup::Phone => {
                let hashes = keys.ids().filter_map(|id| Some((id, self.hash(tenant, keys, id)?)));
                let query =
                    |(id, hash): (&KeyId, _)| reads::customers_with(tenant, self.lookup, (id.as_str(), &hash), after());
                hashes.map(query).collect()
            }
            Lookup::Name | Lookup::Kana => (0..keys::LISTED_SHARDS.count())
                .map(|shard| reads::customers_named(tenant, (self.lookup, shard), &self.form, after()))
                .collect(),
            Lookup::Merchant => Vec::new(),
        }
    }

    /// The query that finds the lookup items of merchants by name, after a sort key of the index.
    #[must_use]
    pub fn of_merchants(&self, tenant: &Tenant, after: Option<&str>) -> Query {
        reads::merchants_named(tenant, &self.form, after.map(str::to_owned))
    }

    fn hash(&self, tenant: &Tenant, keys: &MarkerKeys, id: &KeyId) -> Option<[u8; 32]> {
        keys.lookup(id, &[tenant.as_str(), self.lookup.name(), &self.form])
    }
}

impl fmt::Debug for Sought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sought").field("lookup", &self.lookup).finish_non_exhaustive()
    }
}

/// The form in which values of a kind are compared; `None` if the text is no such value.
fn form(lookup: Lookup, text: &str) -> Option<String> {
    let form = match lookup {
        Lookup::Phone => normal::phone(text)?,
        Lookup::Email => normal::email(text),
        Lookup::Name => normal::name(text),
        Lookup::Kana => normal::kana(text),
        Lookup::Merchant => text.to_owned(),
    };
    (!form.is_empty()).then_some(form)
}

/// The form in which e-mail addresses are compared, those of staff as well.
pub(crate) fn address(email: &str) -> String {
    normal::email(email)
}

/// The index keys of a record in a list.
pub(crate) fn listed(partition: String, sort_key: String) -> Item {
    Item::from([(attr::OWNER_PK.to_owned(), Value::S(partition)), (attr::OWNER_SK.to_owned(), Value::S(sort_key))])
}

/// The index keys of a customer's profile.
pub(crate) fn customer(tenant: &Tenant, id: CustomerId, created_at: Timestamp) -> Item {
    let shard = keys::listed_shard(id.uuid());
    listed(keys::customers_partition(tenant, shard), keys::place(created_at, id.uuid()))
}

/// The index keys of a terminal's profile.
pub(crate) fn terminal(tenant: &Tenant, id: TerminalId, created_at: Timestamp) -> Item {
    let shard = keys::listed_shard(id.uuid());
    listed(keys::terminals_partition(tenant, shard), keys::place(created_at, id.uuid()))
}

/// The index keys of a card.
pub(crate) fn card(tenant: &Tenant, id: CardId) -> Item {
    let shard = keys::shard_of(id.uuid(), Shards::CARDS);
    listed(keys::cards_partition(tenant, shard), id.to_string())
}

/// A customer's lookup item for a value, without index keys if there is none.
fn customer_lookup(tenant: &Tenant, id: CustomerId, (lookup, text): (Lookup, Option<&str>), keys: &MarkerKeys) -> Item {
    let Some(sought) = text.and_then(|text| Sought::parse(lookup, text)) else { return Item::new() };
    match lookup {
        Lookup::Email | Lookup::Phone => {
            let current = keys.current();
            let Some(hash) = sought.hash(tenant, keys, current) else { return Item::new() };
            listed(keys::contact_partition(tenant, lookup, current.as_str(), &hash), id.to_string())
        }
        Lookup::Name | Lookup::Kana => {
            let partition = keys::names_partition(tenant, lookup, keys::listed_shard(id.uuid()));
            listed(partition, keys::named_place(&sought.form, id.uuid()))
        }
        Lookup::Merchant => Item::new(),
    }
}

/// Writes a customer's lookup item for a value that is set, or removed, in the same transaction.
pub(crate) fn write_customer(
    tenant: &Tenant,
    id: CustomerId,
    value: (Lookup, Option<&str>),
    keys: &MarkerKeys,
) -> TransactItem {
    write(&Partition::customer(tenant, id), value.0, customer_lookup(tenant, id, value, keys))
}

/// A merchant's lookup item for its name.
fn merchant_lookup(tenant: &Tenant, id: MerchantId, name: &str) -> Item {
    match Sought::parse(Lookup::Name, name) {
        Some(sought) => listed(keys::merchant_names_partition(tenant), keys::named_place(&sought.form, id.uuid())),
        None => Item::new(),
    }
}

/// Writes a merchant's lookup item for a name that is set in the same transaction.
pub(crate) fn write_merchant(tenant: &Tenant, id: MerchantId, name: &str) -> TransactItem {
    write(&Partition::merchant(tenant, id), Lookup::Name, merchant_lookup(tenant, id, name))
}

/// The lookup item that lists a terminal among those of its merchant.
fn terminal_lookup(tenant: &Tenant, id: TerminalId, merchant: MerchantId, created_at: Timestamp) -> Item {
    listed(keys::terminals_of_partition(tenant, merchant), keys::place(created_at, id.uuid()))
}

/// Writes the lookup item that lists a terminal, which is registered in the same transaction, among those of its merchant.
pub(crate) fn write_terminal(tenant: &Tenant, id: TerminalId, merchant: MerchantId, at: Timestamp) -> TransactItem {
    write(&Partition::terminal(tenant, id), Lookup::Merchant, terminal_lookup(tenant, id, merchant, at))
}

/// Replaces a lookup item. It needs no guard: the profile is written in the same transaction.
fn write(of: &Partition, lookup: Lookup, item: Item) -> TransactItem {
    TransactItem::put(Role::Lookup, keys::lookup(of, lookup), item, Vec::new())
}

/// The id in the sort key of a lookup item in the index: the whole of it, or what follows the last `#`.
#[must_use]
pub fn id_of_place(place: &str) -> Option<Uuid> {
    let (_, id) = place.rsplit_once('#').unwrap_or(("", place));
    crate::ids::parse_uuid(id).ok()
}
