//! One customer in both models, as of one instant.

use super::counterpart::Counterpart;
use super::plan::Concern;
use super::record::{FENCE, Truth};
use super::setting::Migration;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{CustomerId, Tenant};
use crate::keys::{Key, Partition};
use crate::transaction::TransactItem;
use std::collections::BTreeMap;

/// Which customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whose {
    /// Whose table.
    pub tenant: Tenant,
    /// Which customer.
    pub customer: CustomerId,
}

/// What stands of a customer.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    items: BTreeMap<Key, Item>,
    odd: Vec<(String, Odd)>,
}

/// A legacy item, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegacyItem {
    /// What can be read.
    pub item: Item,
    /// The attributes that cannot be.
    pub odd: Vec<(String, Odd)>,
}

/// An attribute of the God Record that is of a kind which the ledger does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// DynamoDB's null: nothing is there.
    Null,
    /// A set, or something else.
    Other,
}

/// What is written for one customer's move: no effect of anybody's request.
// INVARIANT: made in this module only, each kind by one function that says what it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change(pub(super) Vec<TransactItem>);

impl Change {
    /// The actions.
    #[must_use]
    pub fn items(&self) -> &[TransactItem] {
        &self.0
    }
}

impl Whose {
    pub(super) fn partition(&self) -> Partition {
        Partition::customer(&self.tenant, self.customer)
    }

    pub(super) fn record(&self) -> Key {
        self.partition().god_record()
    }
}

impl Migration {
    /// What has to be read of a customer, together: the God Record first.
    #[must_use]
    pub fn snapshot_keys(&self, whose: &Whose) -> Vec<Key> {
        let split = self.counterparts(whose).into_iter().map(|counterpart| counterpart.split());
        std::iter::once(whose.record()).chain(split).collect()
    }

    pub(super) fn counterparts(&self, whose: &Whose) -> Vec<Counterpart> {
        Counterpart::all(whose.customer, &whose.partition(), &self.assets)
    }

    pub(super) fn counterparts_of(&self, whose: &Whose, concern: Concern) -> Vec<Counterpart> {
        self.counterparts(whose).into_iter().filter(|counterpart| counterpart.concern() == concern).collect()
    }
}

impl Snapshot {
    /// From what was read under [`Migration::snapshot_keys`], and what of the God Record could not be.
    #[must_use]
    pub fn new(items: impl IntoIterator<Item = (Key, Option<Item>)>, odd: Vec<(String, Odd)>) -> Self {
        Self { items: items.into_iter().filter_map(|(key, item)| Some((key, item?))).collect(), odd }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)
    }

    pub(super) fn odd(&self, attribute: &str) -> Option<Odd> {
        self.odd.iter().find(|(name, _)| name == attribute).map(|(_, odd)| *odd)
    }

    /// The God Record.
    #[must_use]
    pub fn record(&self, whose: &Whose) -> Option<&Item> {
        self.get(&whose.record())
    }

    /// Whether the ledger has taken the customer over.
    #[must_use]
    pub fn is_adopted(&self, whose: &Whose) -> bool {
        self.record(whose).is_some_and(|record| record.contains_key(FENCE))
    }

    /// Where a concern stands; `None` of a customer whom the ledger has not taken over, or has left for good.
    ///
    /// # Errors
    /// [`ItemError`] if the God Record does not say so as we write it.
    pub fn truth(&self, whose: &Whose, concern: Concern) -> Result<Option<Truth>, ItemError> {
        self.record(whose).map_or(Ok(None), |record| Truth::read(record, concern))
    }

    pub(super) fn fence(&self, whose: &Whose) -> Result<Option<i64>, ItemError> {
        self.record(whose).map_or(Ok(None), |record| record.opt_int(FENCE))
    }
}
