//! Customers, wherever a migration has them. What is written to a customer's split records is written where the
//! tenant's phase asks for it, and what is read of them is read from where the truth is; nobody above this file knows.

use super::reads::{ReadError, Readable};
use super::{Cancellation, Dynamo, WriteError, convert};
use crate::cache::Cache;
use crate::clock::Clock;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key, Partition};
use ledger_core::migration::{
    Adoption, Cancelled, Change, Concern, Copying, Layout, Migration, Snapshot, Stale, Unadoptable, Whose, adopt, copy,
};
use ledger_core::transaction::{TransactItem, Transaction};
use std::sync::Arc;

/// How often one transaction is placed again because a customer did not stand where it was to be written.
const ROUNDS_MAX: u32 = 8;

/// Where tenants keep their customers, through a cache of a minute.
#[derive(Clone, Debug)]
pub(super) struct Layouts {
    cache: Arc<Cache<Tenant, Arc<Layout>>>,
    clock: Clock,
}

/// Why a customer could not be brought to where a phase needs them. Nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BringError {
    /// The God Record holds what the ledger cannot keep: a person has to look.
    #[error(transparent)]
    Unadoptable(#[from] Unadoptable),
    /// What stands of the customer cannot be copied or compared: it does not look as we write it, or a sum cannot be held
    /// exactly.
    #[error("the customer cannot be moved: {0}")]
    Unreadable(ItemError),
    /// The tenant's setting has changed.
    #[error("the tenant's migration has moved on")]
    Fenced,
    /// Others were at the customer all the time.
    #[error("the customer is written to all the time")]
    Busy,
    /// The store did not tell.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store did not take it, or nobody knows whether it did: the next look will tell.
    #[error(transparent)]
    Write(WriteError),
}

impl Layouts {
    pub(super) fn new(clock: Clock) -> Self {
        Self { cache: Arc::default(), clock }
    }
}

impl Dynamo {
    /// The same store by another clock.
    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { layouts: Layouts { clock, ..self.layouts }, ..self }
    }

    /// The same store, which has just read that a tenant keeps its customers in split records.
    #[cfg(test)]
    pub(crate) fn knowing_split(self, tenant: &Tenant) -> Self {
        let _ = self.remember(tenant, Layout::Split);
        self
    }

    /// Where a tenant keeps its customers, as of a minute ago at most.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known, and then nothing is known of its customers.
    pub async fn layout(&self, tenant: &Tenant) -> Result<Arc<Layout>, ReadError> {
        let now = self.layouts.clock.now();
        match self.layouts.cache.get(tenant, now) {
            Some((layout, _)) => Ok(layout),
            None => Box::pin(self.reread_layout(tenant)).await,
        }
    }

    /// Where a tenant keeps its customers, as it is.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known.
    pub async fn reread_layout(&self, tenant: &Tenant) -> Result<Arc<Layout>, ReadError> {
        match self.get_stored(&keys::config(tenant)).await? {
            Some(config) => Ok(self.remember(tenant, Layout::read(&config)?)),
            // A tenant without a configuration has no customers; once it has one, they may stand anywhere.
            None => Ok(Arc::new(Layout::Split)),
        }
    }

    fn remember(&self, tenant: &Tenant, layout: Layout) -> Arc<Layout> {
        let layout = Arc::new(layout);
        self.layouts.cache.put(tenant.clone(), Arc::clone(&layout), self.layouts.clock.now());
        layout
    }

    /// Whoever reads a tenant's configuration has read its layout as well.
    pub(super) fn note_layout(&self, key: &Key, config: Option<&Item>) {
        if let (Some(tenant), Some(config)) = (keys::tenant_of(key.pk()), config)
            && *key == keys::config(&tenant)
            && let Ok(layout) = Layout::read(config)
        {
            self.remember(&tenant, layout);
        }
    }

    /// The layout of a customer's items; `None` of other items.
    pub(super) async fn layout_of(&self, key: &Key) -> Result<Option<Arc<Layout>>, ReadError> {
        match (key.customer(), keys::tenant_of(key.pk())) {
            (Some(_), Some(tenant)) => self.layout(&tenant).await.map(Some),
            (Some(_) | None, _) => Ok(None),
        }
    }

    /// Executes a transaction once where its tenant's layout puts it. A customer who does not stand there is brought
    /// there first: nothing was written by then.
    ///
    /// # Errors
    /// [`WriteError`] says whether it may have been applied.
    pub async fn write(&self, transaction: &Transaction) -> Result<(), WriteError> {
        let customers = transaction.items().iter().map(TransactItem::key).find(|key| key.customer().is_some());
        let tenant = customers.and_then(|key| keys::tenant_of(key.pk()));
        let Some(tenant) = tenant else { return self.send(transaction.items()).await };
        let mut after_unknown = false;
        for _ in 0..ROUNDS_MAX {
            let layout = self.layout(&tenant).await.map_err(not_asked)?;
            let Layout::Migrating(migration) = &*layout else { return self.send(transaction.items()).await };
            let placed = transaction.placed(&layout).map_err(|error| WriteError::Determinate(error.to_string()))?;
            let reasons = match self.send(placed.items()).await {
                Err(WriteError::Cancelled(cancellation)) => {
                    after_unknown |= cancellation.after_unknown;
                    cancellation.reasons
                }
                Ok(()) => return Ok(()),
                Err(
                    error @ (WriteError::Throttled
                    | WriteError::Determinate(_)
                    | WriteError::Unadoptable(_)
                    | WriteError::Indeterminate(_)),
                ) => {
                    return Err(error);
                }
            };
            match placed.cancelled(reasons) {
                Cancelled::For(reasons) => return Err(WriteError::Cancelled(Cancellation { reasons, after_unknown })),
                // Rare, and large: it is kept out of the future of every write.
                Cancelled::Stale(stale, reasons) => {
                    let cancellation = Cancellation { reasons, after_unknown };
                    Box::pin(self.settle(&tenant, migration, stale, cancellation)).await?;
                }
            }
        }
        if after_unknown {
            Err(WriteError::Indeterminate("MovedAfterAmbiguity".to_owned()))
        } else {
            Err(WriteError::Throttled)
        }
    }

    /// Does something about a customer who does not stand where a layout put them.
    async fn settle(
        &self,
        tenant: &Tenant,
        migration: &Migration,
        stale: Stale,
        cancellation: Cancellation,
    ) -> Result<(), WriteError> {
        let whose = |customer| Whose { tenant: tenant.clone(), customer };
        let brought = match stale {
            Stale::Fenced => Err(BringError::Fenced),
            Stale::Unreadable(error) => Err(BringError::Unreadable(error)),
            Stale::NotAdopted(customer) => match self.adopt(migration, &whose(customer)).await {
                Ok(true) => Ok(()),
                Ok(false) => return Err(WriteError::Cancelled(cancellation)),
                Err(error) => Err(error),
            },
            Stale::NotCopied(customer, concern) => self.copy(migration, &whose(customer), concern).await,
        };
        match brought {
            Ok(()) => Ok(()),
            Err(BringError::Fenced) => self.reread_layout(tenant).await.map(drop).map_err(not_asked),
            Err(BringError::Unadoptable(error)) => Err(WriteError::Unadoptable(error)),
            Err(error @ BringError::Unreadable(_)) => Err(WriteError::Determinate(error.to_string())),
            Err(BringError::Busy | BringError::Write(_)) => Err(WriteError::Throttled),
            Err(BringError::Read(error)) => Err(not_asked(error)),
        }
    }

    /// Takes a customer over from the legacy model. `false`: there is no such customer.
    ///
    /// # Errors
    /// [`BringError`]; nothing is lost by trying again.
    pub async fn adopt(&self, migration: &Migration, whose: &Whose) -> Result<bool, BringError> {
        for _ in 0..ROUNDS_MAX {
            let seen = self.snapshot(migration, whose).await?;
            match adopt(migration, whose, &seen, self.layouts.clock.now())? {
                Adoption::Adopted => return Ok(true),
                Adoption::Missing => return Ok(false),
                Adoption::Change(change) => {
                    if self.change(&change).await? {
                        return Ok(true);
                    }
                }
            }
        }
        Err(BringError::Busy)
    }

    /// Brings a concern of a customer to where the phase needs it.
    ///
    /// # Errors
    /// [`BringError`]; nothing is lost by trying again.
    pub async fn copy(&self, migration: &Migration, whose: &Whose, concern: Concern) -> Result<(), BringError> {
        for _ in 0..ROUNDS_MAX {
            let seen = self.snapshot(migration, whose).await?;
            let copying = copy(migration, whose, concern, &seen, self.layouts.clock.now());
            match copying.map_err(BringError::Unreadable)? {
                Copying::Done => return Ok(()),
                Copying::Fenced => return Err(BringError::Fenced),
                Copying::NotAdopted => {
                    if !self.adopt(migration, whose).await? {
                        return Ok(());
                    }
                }
                // Whether somebody was faster or not, the next look tells.
                Copying::Raise(change) => drop(self.change(&change).await?),
                Copying::Copy(change) => {
                    if self.change(&change).await? {
                        return Ok(());
                    }
                }
            }
        }
        Err(BringError::Busy)
    }

    /// A customer in both models, as of one instant.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known.
    pub async fn snapshot(&self, migration: &Migration, whose: &Whose) -> Result<Snapshot, ReadError> {
        let keys = migration.snapshot_keys(whose);
        let found = self.get_stored_together(&keys).await?;
        let partition = Partition::customer(&whose.tenant, whose.customer);
        // The legacy system may have given the God Record's attributes any type, and those of the aggregates: the
        // half-way model has points there.
        let legacy = [partition.god_record(), keys::metrics_of(&partition)];
        let (mut items, mut odd) = (Vec::with_capacity(keys.len()), Vec::new());
        for (key, item) in keys.into_iter().zip(found) {
            let item = match item {
                Some(item) if legacy.contains(&key) => {
                    let read = convert::legacy_item(item);
                    odd.extend(read.odd);
                    Some(read.item)
                }
                item => item.map(convert::item_from_sdk).transpose()?,
            };
            items.push((key, item));
        }
        Ok(Snapshot::new(items, odd))
    }

    /// At most 100 items under their own keys, wherever a layout reads them, as they were at one instant and as far as
    /// they can be read; in the order of the keys.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known.
    pub async fn stored_together(&self, keys: &[Key]) -> Result<Vec<Option<Readable>>, ReadError> {
        let found = self.get_stored_together(keys).await?;
        Ok(found.into_iter().map(|item| item.map(convert::readable)).collect())
    }

    /// Writes what a customer's move calls for. `false`: something was not as it was read.
    ///
    /// # Errors
    /// [`BringError::Write`] if it is not known to be written, or not.
    pub async fn change(&self, change: &Change) -> Result<bool, BringError> {
        match self.send(change.items()).await {
            Ok(()) => Ok(true),
            Err(WriteError::Cancelled(_)) => Ok(false),
            Err(
                error @ (WriteError::Throttled
                | WriteError::Determinate(_)
                | WriteError::Unadoptable(_)
                | WriteError::Indeterminate(_)),
            ) => Err(BringError::Write(error)),
        }
    }

    /// The balances of a customer, wherever they stand; `None` if all of them stand under their own keys.
    pub(super) async fn moving_balances(&self, partition: &Partition) -> Result<Option<Vec<Item>>, ReadError> {
        let layout = self.layout_of(&partition.profile()).await?;
        let keys = layout.map(|layout| layout.balances(partition)).unwrap_or_default();
        if keys.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.get_together(&keys).await?.into_iter().flatten().collect()))
    }
}

/// Nothing was sent, for it is not known where to.
fn not_asked(error: ReadError) -> WriteError {
    match error {
        ReadError::Throttled | ReadError::Unavailable(_) => WriteError::Throttled,
        ReadError::Refused(code) => WriteError::Determinate(code),
        ReadError::Unreadable(error) => WriteError::Determinate(error.to_string()),
        ReadError::Unadoptable(error) => WriteError::Unadoptable(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Step, Store, terms};
    use ledger_core::migration::{Model, Phase};
    use serde_json::json;

    #[tokio::test]
    async fn a_tenant_that_is_not_there_yet_may_come_with_a_legacy_model() {
        let Step::Ok(mut config) = terms("mandatory") else { panic!() };
        config["Item"]["migration"] = json!({"M": {
            "model": {"S": "god_record"}, "phase": {"N": "0"}, "fence": {"N": "0"},
            "since": {"S": "2026-11-14T09:30:00.000Z"},
        }});
        let store = Store::script([Step::Ok(json!({})), Step::Ok(config)]);
        let (dynamo, tenant) = (store.dynamo(), Tenant::parse("aoba").unwrap());
        assert_eq!(*dynamo.layout(&tenant).await.unwrap(), Layout::Split);
        for _ in 0..2 {
            let layout = dynamo.layout(&tenant).await.unwrap();
            let Layout::Migrating(migration) = &*layout else { panic!("{layout:?}") };
            assert_eq!(migration.phase, Phase::first(Model::GodRecord));
        }
        assert!(store.is_through());
    }
}
