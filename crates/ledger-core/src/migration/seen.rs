//! Reading a split record through a layout: what is asked of the store, and what its answer means.

use super::adopt;
use super::counterpart::Counterpart;
use super::legacy::Unadoptable;
use super::plan::Concern;
use super::record::{FENCE, Truth};
use super::setting::{Layout, Migration};
use super::snapshot::LegacyItem;
use crate::dynamo::{Item, ItemError, Value};
use crate::keys::{Key, Partition};

/// Why a customer's record in the legacy model cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// The ledger could not take the customer over: the legacy system left what it cannot keep.
    #[error(transparent)]
    Unadoptable(#[from] Unadoptable),
    /// It does not look as we write it.
    #[error(transparent)]
    Unreadable(#[from] ItemError),
}

/// How a split record that may stand elsewhere is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    migration: &'a Migration,
    counterpart: Counterpart,
}

impl Layout {
    /// How an item is read; `None` if it stands under its own key and nowhere else.
    #[must_use]
    pub fn reading(&self, key: &Key) -> Option<Reading<'_>> {
        match self {
            Self::Split => None,
            Self::Migrating(migration) => Counterpart::of(key).map(|counterpart| Reading { migration, counterpart }),
        }
    }

    /// The keys of a customer's balances that may stand elsewhere, in the order in which a query gives them; none if all
    /// stand under their own keys.
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
    /// What is read, of one instant: the God Record, the legacy item, the split record.
    #[must_use]
    pub fn keys(&self) -> [Key; 3] {
        let split = self.counterpart.split();
        [split.partition().god_record(), self.counterpart.legacy(self.migration.phase.model()), split]
    }

    /// The split record, from wherever the truth is: for a customer where their own God Record says so, else where the
    /// phase says. One whom the ledger has not taken over stands in the God Record.
    ///
    /// # Errors
    /// [`Unseen`] if it cannot be read where it stands.
    pub fn item(&self, legacy: [Option<LegacyItem>; 2], split: Option<Item>) -> Result<Option<Item>, Unseen> {
        let [record, legacy] = legacy;
        let concern = self.counterpart.concern();
        let by_phase = self.migration.phase.stage(concern).reads_split();
        let is_split = match record.as_ref().map(|record| Truth::read(&record.item, concern)).transpose()? {
            Some(Some(Truth::Legacy)) => false,
            Some(Some(Truth::Split)) | None => true,
            Some(Some(Truth::Both)) => by_phase,
            // One that says nothing has been left for good, or not been taken over yet.
            Some(None) if record.as_ref().is_some_and(|record| record.item.contains_key(FENCE)) => true,
            Some(None) => self.migration.begins_split(concern),
        };
        match record {
            _ if is_split => Ok(split),
            None => Ok(None),
            Some(record) => self.view(&record.item, legacy.unwrap_or_default()),
        }
    }

    fn view(&self, record: &Item, legacy: LegacyItem) -> Result<Option<Item>, Unseen> {
        let runs = |asset| self.migration.assets.iter().any(|spec| spec.asset() == asset);
        let taken_over = record.contains_key(FENCE);
        let stands = match self.counterpart.asset() {
            Some(asset) if !taken_over => runs(asset),
            Some(_) => self.counterpart.stands_in(&legacy.item),
            None => true,
        };
        if !stands {
            return Ok(None);
        }
        if !taken_over {
            adopt::is_adoptable(self.migration, &self.counterpart, &legacy)?;
        }
        let mut view = self.counterpart.view_of(&legacy)?;
        if self.counterpart.concern() == Concern::Profile {
            let accounts = i64::try_from(self.migration.assets.len()).unwrap_or(i64::MAX);
            view.entry("accounts".to_owned()).or_insert(Value::int(accounts));
        }
        Ok(Some(view))
    }
}
