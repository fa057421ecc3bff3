//! Reads and writes of customers in every phase of the migration.
//!
//! Writes to a customer's split records go where the tenant's phase requires them, and reads come from the model that
//! is the truth. The callers of this module do not see the layout.

use super::reads::{ReadError, Readable};
use super::{Cancellation, Dynamo, WriteError, convert};
use crate::cache::{Cache, ENTRIES_MAX};
use crate::clock::Clock;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::form::check_format;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key, Partition};
use ledger_core::migration::{
    Adoption, Cancelled, Change, Concern, Copying, CustomerRef, Layout, Migration, Snapshot, Stale, Unadoptable, adopt,
    copy,
};
use ledger_core::transaction::Transaction;
use std::sync::Arc;

/// How often one transaction is placed again because a customer's items were not where its plan expected them.
const ROUNDS_MAX: u32 = 8;

/// The most tenants whose layout and format are cached.
const TENANTS_MAX: usize = if cfg!(test) { 3 } else { ENTRIES_MAX };

/// The tenants' layouts and formats, cached for a minute.
#[derive(Clone, Debug)]
pub(super) struct Layouts {
    cache: Arc<Cache<Tenant, TenantForm, TENANTS_MAX>>,
    clock: Clock,
}

/// What a tenant's `CONFIG` says of its items. One value, so that neither part is cached without the other.
#[derive(Clone, Debug)]
struct TenantForm {
    /// Where it keeps its customers.
    layout: Result<Arc<Layout>, ItemError>,
    /// Whether its format is this release's; if not, nothing may be written for it.
    format: Result<(), ItemError>,
}

/// Why a customer could not be moved to the place that a phase requires. Nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CustomerMoveError {
    /// The God Record holds data that the ledger cannot keep: needs review.
    #[error(transparent)]
    Unadoptable(#[from] Unadoptable),
    /// The customer's items cannot be copied or compared.
    ///
    /// One is not in a known format, or a sum cannot be held exactly.
    #[error("the customer cannot be moved: {0}")]
    Unreadable(ItemError),
    /// The tenant's phase has changed.
    #[error("the tenant's migration has another phase now")]
    Fenced,
    /// Other writers changed the customer in every round.
    #[error("the customer changed during every attempt")]
    Busy,
    /// The table could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The write was not applied, or its outcome is unknown. Reading again shows which.
    #[error(transparent)]
    Write(WriteError),
}

impl Layouts {
    pub(super) fn new(clock: Clock) -> Self {
        Self { cache: Arc::default(), clock }
    }
}

impl Dynamo {
    /// The same table with another clock.
    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { layouts: Layouts { clock, ..self.layouts }, ..self }
    }

    /// The same table, with the split layout of a tenant already cached.
    #[cfg(test)]
    pub(crate) fn with_split_layout(self, tenant: &Tenant) -> Self {
        let now = self.layouts.clock.now();
        let form = TenantForm { layout: Ok(Arc::new(Layout::Split)), format: Ok(()) };
        self.layouts.cache.put(tenant.clone(), form, now);
        self
    }

    /// Returns where a tenant keeps its customers, at most a minute old.
    ///
    /// # Errors
    /// [`ReadError`] if the layout cannot be read; the tenant's customers cannot be read either then.
    pub async fn layout(&self, tenant: &Tenant) -> Result<Arc<Layout>, ReadError> {
        layout_in(self.form(tenant).await?)
    }

    /// Reads where a tenant keeps its customers from the table.
    ///
    /// # Errors
    /// [`ReadError`] if the layout cannot be read.
    pub async fn reread_layout(&self, tenant: &Tenant) -> Result<Arc<Layout>, ReadError> {
        layout_in(self.reread_form(tenant).await?)
    }

    /// What a tenant's `CONFIG` says of its items, at most a minute old; `None` if there is no `CONFIG`.
    async fn form(&self, tenant: &Tenant) -> Result<Option<TenantForm>, ReadError> {
        match self.layouts.cache.get(tenant, self.layouts.clock.now()) {
            Some((form, _)) => Ok(Some(form)),
            None => Box::pin(self.reread_form(tenant)).await,
        }
    }

    /// The same from the table. An absent `CONFIG` is not cached, because a later one may set any layout.
    async fn reread_form(&self, tenant: &Tenant) -> Result<Option<TenantForm>, ReadError> {
        let config = self.get_stored(&keys::config(tenant)).await?;
        Ok(config.map(|config| self.remember(tenant, &config)))
    }

    fn remember(&self, tenant: &Tenant, config: &Item) -> TenantForm {
        let form = TenantForm { layout: Layout::read(config).map(Arc::new), format: check_format(config) };
        self.layouts.cache.put(tenant.clone(), form.clone(), self.layouts.clock.now());
        form
    }

    /// Requires that a tenant has this release's format, by its `CONFIG` as it was at most a minute ago. What is read does
    /// not need it: a stored response is replayed.
    async fn check_format(&self, tenant: &Tenant) -> Result<(), WriteError> {
        match self.form(tenant).await.map_err(not_written)? {
            Some(form) => form.format.map_err(|error| not_written(ReadError::Unreadable(error))),
            None => Ok(()),
        }
    }

    /// Caches the layout if the item read is a tenant's configuration.
    pub(super) fn note_layout(&self, key: &Key, config: Option<&Item>) {
        if let (Some(tenant), Some(config)) = (keys::tenant_of(key.pk()), config)
            && *key == keys::config(&tenant)
        {
            // An error shows when the layout is needed.
            drop(self.remember(&tenant, config));
        }
    }

    /// Returns the layout of a customer's items; `None` for other items.
    pub(super) async fn layout_of(&self, key: &Key) -> Result<Option<Arc<Layout>>, ReadError> {
        match (key.customer(), keys::tenant_of(key.pk())) {
            (Some(_), Some(tenant)) => self.layout(&tenant).await.map(Some),
            (Some(_) | None, _) => Ok(None),
        }
    }

    /// Executes a transaction once, at the places that its tenant's layout requires.
    ///
    /// If a customer has not been moved there yet, the transaction is rejected, the customer is moved, and the
    /// transaction is placed again.
    ///
    /// # Errors
    /// [`WriteError`] says whether the transaction may have been applied.
    pub async fn write(&self, transaction: &Transaction) -> Result<(), WriteError> {
        let tenant = transaction.items().first().and_then(|item| keys::tenant_of(item.key().pk()));
        let Some(tenant) = tenant else { return Err(WriteError::Determinate("NoTenant".to_owned())) };
        // Also of what concerns no customer: nothing is written for a tenant of a later format.
        self.check_format(&tenant).await?;
        if !transaction.items().iter().any(|item| item.key().customer().is_some()) {
            return self.send(transaction.items()).await;
        }
        let mut after_unknown = false;
        for _ in 0..ROUNDS_MAX {
            let layout = self.layout(&tenant).await.map_err(not_written)?;
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
                    | WriteError::LaterForm(_)
                    | WriteError::Indeterminate(_)),
                ) => {
                    return Err(error);
                }
            };
            match placed.cancelled(reasons) {
                Cancelled::For(reasons) => return Err(WriteError::Cancelled(Cancellation { reasons, after_unknown })),
                // Boxed, because this rare future is large and would be part of every write's.
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

    /// Moves a customer or reloads the layout after a stale placement, so that the transaction can be placed again.
    async fn settle(
        &self,
        tenant: &Tenant,
        migration: &Migration,
        stale: Stale,
        cancellation: Cancellation,
    ) -> Result<(), WriteError> {
        let customer_ref = |customer| CustomerRef { tenant: tenant.clone(), customer };
        let brought = match stale {
            Stale::Fenced => Err(CustomerMoveError::Fenced),
            Stale::Unreadable(error) => Err(CustomerMoveError::Unreadable(error)),
            Stale::NotAdopted(customer) => match self.adopt(migration, &customer_ref(customer)).await {
                Ok(true) => Ok(()),
                Ok(false) => return Err(WriteError::Cancelled(cancellation)),
                Err(error) => Err(error),
            },
            Stale::NotCopied(customer, concern) => self.copy(migration, &customer_ref(customer), concern).await,
        };
        match brought {
            Ok(()) => Ok(()),
            Err(CustomerMoveError::Fenced) => self.reread_layout(tenant).await.map(drop).map_err(not_written),
            Err(CustomerMoveError::Unadoptable(error)) => Err(WriteError::Unadoptable(error)),
            Err(error @ CustomerMoveError::Unreadable(_)) => Err(WriteError::Determinate(error.to_string())),
            Err(CustomerMoveError::Busy | CustomerMoveError::Write(_)) => Err(WriteError::Throttled),
            Err(CustomerMoveError::Read(error)) => Err(not_written(error)),
        }
    }

    /// Adopts a customer from the legacy model. Returns `false` if the customer does not exist.
    ///
    /// # Errors
    /// [`CustomerMoveError`]; the call can be repeated.
    pub async fn adopt(&self, migration: &Migration, customer_ref: &CustomerRef) -> Result<bool, CustomerMoveError> {
        for _ in 0..ROUNDS_MAX {
            let seen = self.snapshot(migration, customer_ref).await?;
            match adopt(migration, customer_ref, &seen, self.layouts.clock.now())? {
                Adoption::Adopted => return Ok(true),
                Adoption::Missing => return Ok(false),
                Adoption::Change(change) => {
                    if self.change(&change).await? {
                        return Ok(true);
                    }
                }
            }
        }
        Err(CustomerMoveError::Busy)
    }

    /// Copies a concern of a customer to the place that the phase requires, adopting the customer first if necessary.
    ///
    /// # Errors
    /// [`CustomerMoveError`]; the call can be repeated.
    pub async fn copy(
        &self,
        migration: &Migration,
        customer_ref: &CustomerRef,
        concern: Concern,
    ) -> Result<(), CustomerMoveError> {
        for _ in 0..ROUNDS_MAX {
            let seen = self.snapshot(migration, customer_ref).await?;
            let copying = copy(migration, customer_ref, concern, &seen, self.layouts.clock.now());
            match copying.map_err(CustomerMoveError::Unreadable)? {
                Copying::Done => return Ok(()),
                Copying::Fenced => return Err(CustomerMoveError::Fenced),
                Copying::NotAdopted => {
                    if !self.adopt(migration, customer_ref).await? {
                        return Ok(());
                    }
                }
                // Applied or rejected, the next round reads what is stored.
                Copying::Raise(change) => drop(self.change(&change).await?),
                Copying::Copy(change) => {
                    if self.change(&change).await? {
                        return Ok(());
                    }
                }
            }
        }
        Err(CustomerMoveError::Busy)
    }

    /// Reads a customer in both models, as of one moment.
    ///
    /// # Errors
    /// [`ReadError`] if an item cannot be read.
    pub async fn snapshot(&self, migration: &Migration, customer_ref: &CustomerRef) -> Result<Snapshot, ReadError> {
        let keys = migration.snapshot_keys(customer_ref);
        let found = self.get_stored_together(&keys).await?;
        let partition = Partition::customer(&customer_ref.tenant, customer_ref.customer);
        // The legacy system may have given these items attributes of any type. The aggregates are among them, because
        // the half-way model keeps points there.
        let legacy = [partition.god_record(), keys::metrics_of(&partition)];
        let (mut items, mut unsupported) = (Vec::with_capacity(keys.len()), Vec::new());
        for (key, item) in keys.into_iter().zip(found) {
            let item = match item {
                Some(item) if legacy.contains(&key) => {
                    let read = convert::legacy_item(item);
                    unsupported.extend(read.unsupported);
                    Some(read.item)
                }
                item => item.map(convert::item_from_sdk).transpose()?,
            };
            items.push((key, item));
        }
        Ok(Snapshot::new(items, unsupported))
    }

    /// Reads at most 100 items as of one moment, as far as they are readable, in the order of the keys.
    ///
    /// Each item is read under its own key, whatever the tenant's layout.
    ///
    /// # Errors
    /// [`ReadError`] if the read fails.
    pub async fn stored_together(&self, keys: &[Key]) -> Result<Vec<Option<Readable>>, ReadError> {
        let found = self.get_stored_together(keys).await?;
        Ok(found.into_iter().map(|item| item.map(convert::readable)).collect())
    }

    /// Writes a change of a customer's move. Returns `false` if an item had changed since it was read.
    ///
    /// # Errors
    /// [`CustomerMoveError::Write`] if the write was not applied for another reason, or its outcome is unknown.
    pub async fn change(&self, change: &Change) -> Result<bool, CustomerMoveError> {
        match self.send(change.items()).await {
            Ok(()) => Ok(true),
            Err(WriteError::Cancelled(_)) => Ok(false),
            Err(
                error @ (WriteError::Throttled
                | WriteError::Determinate(_)
                | WriteError::Unadoptable(_)
                | WriteError::LaterForm(_)
                | WriteError::Indeterminate(_)),
            ) => Err(CustomerMoveError::Write(error)),
        }
    }

    /// Reads a customer's balances if the layout keeps any elsewhere; `None` if all are under their own keys.
    pub(super) async fn moving_balances(&self, partition: &Partition) -> Result<Option<Vec<Item>>, ReadError> {
        let layout = self.layout_of(&partition.profile()).await?;
        let keys = layout.map(|layout| layout.balances(partition)).unwrap_or_default();
        if keys.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.get_together(&keys).await?.into_iter().flatten().collect()))
    }
}

/// The layout. A tenant without a configuration has no customers.
fn layout_in(form: Option<TenantForm>) -> Result<Arc<Layout>, ReadError> {
    match form {
        Some(form) => Ok(form.layout?),
        None => Ok(Arc::new(Layout::Split)),
    }
}

/// Converts a failed read of the layout into a write error. Nothing was sent.
fn not_written(error: ReadError) -> WriteError {
    match error {
        ReadError::Throttled | ReadError::Unavailable(_) => WriteError::Throttled,
        ReadError::Refused(code) => WriteError::Determinate(code),
        ReadError::Unreadable(error) if error.is_later_form() => WriteError::LaterForm(error),
        ReadError::Unreadable(error) => WriteError::Determinate(error.to_string()),
        ReadError::Unadoptable(error) => WriteError::Unadoptable(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Step, Store, assembled, terms};
    use ledger_core::migration::{Model, Phase};
    use serde_json::json;

    #[tokio::test]
    async fn absence_of_a_tenant_configuration_is_not_cached() {
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

    /// Whatever the cache has dropped for other tenants, the format is seen with the layout.
    #[tokio::test]
    async fn later_format_is_seen_by_every_write_with_more_tenants_than_the_cache_holds() {
        let Step::Ok(mut config) = terms("mandatory") else { panic!() };
        config["Item"]["format"] = json!({"N": "2"});
        let store = Store::script(vec![Step::Ok(config.clone()); 500]);
        let (ledger, _) = store.ledger();
        let transaction = assembled("100", &ledger);
        let (mut dynamo, demo) = (ledger.dynamo().clone(), Tenant::parse("demo").unwrap());
        drop(dynamo.reread_layout(&demo).await.unwrap());
        for other in 0..200 {
            dynamo = dynamo.with_split_layout(&Tenant::parse(&format!("other-{other}")).unwrap());
            if other % 2 == 0 {
                assert_eq!(*dynamo.layout(&demo).await.unwrap(), Layout::Split);
            }
            let refused = dynamo.write(&transaction).await;
            assert!(matches!(refused, Err(WriteError::LaterForm(_))), "{other}: {refused:?}");
        }
        let asked = store.seen();
        assert!(asked.iter().all(|seen| seen.target == "GetItem"));
        assert!((1..=201).contains(&asked.len()), "{} reads", asked.len());
    }
}
