//! Reading a split record through a layout: which items to read, and how to combine them.

use super::adopt;
use super::counterpart::Counterpart;
use super::legacy::Unadoptable;
use super::plan::Concern;
use super::record::{BalanceLocation, FENCE};
use super::setting::{Layout, Migration};
use super::snapshot::LegacyItem;
use crate::dynamo::{Item, ItemError, Value};
use crate::keys::{Key, Partition};

/// Why a record in the legacy model cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LegacyReadError {
    /// The customer is not adopted, and the ledger could not adopt what the legacy system left.
    #[error(transparent)]
    Unadoptable(#[from] Unadoptable),
    /// A stored value does not have the expected format.
    #[error(transparent)]
    Unreadable(#[from] ItemError),
}

/// How to read a split record that the legacy model may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    migration: &'a Migration,
    counterpart: Counterpart,
}

impl Layout {
    /// How to read an item; `None` if it can only be under its own key.
    #[must_use]
    pub fn reading(&self, key: &Key) -> Option<Reading<'_>> {
        match self {
            Self::Split => None,
            Self::Migrating(migration) => Counterpart::of(key).map(|counterpart| Reading { migration, counterpart }),
        }
    }

    /// The keys of a customer's balances that the legacy model may hold, in the order of a query.
    ///
    /// Empty if all of them are under their own keys.
    #[must_use]
    pub fn balances(&self, customer: &Partition) -> Vec<Key> {
        match self {
            Self::Split => Vec::new(),
            Self::Migrating(migration) => {
                let mut keys: Vec<Key> = migration.assets.iter().map(|spec| customer.balance(spec.asset())).collect();
                keys.sort();
                keys
            }
        }
    }
}

impl Reading<'_> {
    /// The keys to read as of one instant: the God Record, the legacy item, the split record.
    #[must_use]
    pub fn keys(&self) -> [Key; 3] {
        let split = self.counterpart.split();
        [split.partition().god_record(), self.counterpart.legacy(self.migration.phase.model()), split]
    }

    /// The split record, from the model that is the truth.
    ///
    /// The God Record decides; where it says that both models hold the concern, the phase decides. For a customer who
    /// is not adopted, the stage of the concern in phase 0 decides. Without a God Record, it is the split record.
    ///
    /// # Errors
    /// [`LegacyReadError`] if the record cannot be read in that model.
    pub fn item(&self, legacy: [Option<LegacyItem>; 2], split: Option<Item>) -> Result<Option<Item>, LegacyReadError> {
        let [record, legacy] = legacy;
        let concern = self.counterpart.concern();
        let by_phase = self.migration.phase.stage(concern).reads_split();
        let is_split = match record.as_ref().map(|record| BalanceLocation::read(&record.item, concern)).transpose()? {
            Some(Some(BalanceLocation::Legacy)) => false,
            Some(Some(BalanceLocation::Split)) | None => true,
            Some(Some(BalanceLocation::Both)) => by_phase,
            // Without the attribute, the God Record has been emptied (it has a fence) or the customer is not adopted.
            Some(None) if record.as_ref().is_some_and(|record| record.item.contains_key(FENCE)) => true,
            Some(None) => self.migration.begins_split(concern),
        };
        match record {
            _ if is_split => Ok(split),
            None => Ok(None),
            Some(record) => self.view(&record.item, legacy.unwrap_or_default()),
        }
    }

    fn view(&self, record: &Item, legacy: LegacyItem) -> Result<Option<Item>, LegacyReadError> {
        let has_asset = |asset| self.migration.assets.iter().any(|spec| spec.asset() == asset);
        let is_adopted = record.contains_key(FENCE);
        let is_present = match self.counterpart.asset() {
            Some(asset) if !is_adopted => has_asset(asset),
            Some(_) => self.counterpart.is_present_in(&legacy.item),
            None => true,
        };
        if !is_present {
            return Ok(None);
        }
        if !is_adopted {
            adopt::check_adoptable(self.migration, &self.counterpart, &legacy)?;
        }
        let mut view = self.counterpart.view_of(&legacy)?;
        if self.counterpart.concern() == Concern::Profile {
            let accounts = i64::try_from(self.migration.assets.len()).unwrap_or(i64::MAX);
            view.entry("accounts".to_owned()).or_insert(Value::int(accounts));
        }
        Ok(Some(view))
    }
}
