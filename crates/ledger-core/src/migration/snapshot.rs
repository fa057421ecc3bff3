//! One customer in both models, as of one instant.

use super::counterpart::Counterpart;
use super::plan::Concern;
use super::record::{BalanceLocation, FENCE};
use super::setting::Migration;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{CustomerId, Tenant};
use crate::keys::{Key, Partition};
use crate::transaction::TransactItem;
use std::collections::BTreeMap;

/// A customer of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomerRef {
    /// The tenant.
    pub tenant: Tenant,
    /// The customer.
    pub customer: CustomerId,
}

/// The items of a customer in both models.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    items: BTreeMap<Key, Item>,
    unsupported: Vec<(String, UnsupportedType)>,
}

/// A legacy item, with the attributes that could not be read named apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegacyItem {
    /// The readable attributes.
    pub item: Item,
    /// The names of the other attributes, with the reason.
    pub unsupported: Vec<(String, UnsupportedType)>,
}

/// Why an attribute of the God Record cannot be read: its DynamoDB type is one that the ledger does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsupportedType {
    /// DynamoDB's `NULL` type.
    Null,
    /// A set, or any other type.
    Other,
}

/// The actions of one migration step of one customer; not the effect of a request.
// INVARIANT: made in the `migration` module only, each kind by one function that documents what it preserves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change(pub(super) Vec<TransactItem>);

impl Change {
    /// The actions, in the order in which they are written.
    #[must_use]
    pub fn items(&self) -> &[TransactItem] {
        &self.0
    }
}

impl CustomerRef {
    pub(super) fn partition(&self) -> Partition {
        Partition::customer(&self.tenant, self.customer)
    }

    pub(super) fn record(&self) -> Key {
        self.partition().god_record()
    }
}

impl Migration {
    /// The keys of a customer to read in one transaction: the God Record first.
    #[must_use]
    pub fn snapshot_keys(&self, customer_ref: &CustomerRef) -> Vec<Key> {
        let split = self.counterparts(customer_ref).into_iter().map(|counterpart| counterpart.split());
        std::iter::once(customer_ref.record()).chain(split).collect()
    }

    pub(super) fn counterparts(&self, customer_ref: &CustomerRef) -> Vec<Counterpart> {
        Counterpart::all(customer_ref.customer, &customer_ref.partition(), &self.assets)
    }

    pub(super) fn counterparts_of(&self, customer_ref: &CustomerRef, concern: Concern) -> Vec<Counterpart> {
        self.counterparts(customer_ref).into_iter().filter(|counterpart| counterpart.concern() == concern).collect()
    }
}

impl Snapshot {
    /// Makes a snapshot of the items read under [`Migration::snapshot_keys`]. `unsupported` lists the unreadable
    /// attributes of the God Record.
    #[must_use]
    pub fn new(
        items: impl IntoIterator<Item = (Key, Option<Item>)>,
        unsupported: Vec<(String, UnsupportedType)>,
    ) -> Self {
        Self { items: items.into_iter().filter_map(|(key, item)| Some((key, item?))).collect(), unsupported }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)
    }

    pub(super) fn unsupported(&self, attribute: &str) -> Option<UnsupportedType> {
        self.unsupported.iter().find(|(name, _)| name == attribute).map(|(_, unsupported)| *unsupported)
    }

    /// The God Record; `None` if there is none.
    #[must_use]
    pub fn record(&self, customer_ref: &CustomerRef) -> Option<&Item> {
        self.get(&customer_ref.record())
    }

    /// Whether the ledger has adopted the customer.
    #[must_use]
    pub fn is_adopted(&self, customer_ref: &CustomerRef) -> bool {
        self.record(customer_ref).is_some_and(|record| record.contains_key(FENCE))
    }

    /// Which model holds a concern; `None` if the customer is not adopted, or the God Record has been emptied.
    ///
    /// # Errors
    /// [`ItemError`] if the stored value does not have the expected format.
    pub fn truth(&self, customer_ref: &CustomerRef, concern: Concern) -> Result<Option<BalanceLocation>, ItemError> {
        self.record(customer_ref).map_or(Ok(None), |record| BalanceLocation::read(record, concern))
    }

    pub(super) fn fence(&self, customer_ref: &CustomerRef) -> Result<Option<i64>, ItemError> {
        self.record(customer_ref).map_or(Ok(None), |record| record.opt_int(FENCE))
    }
}
