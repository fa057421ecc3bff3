//! Where a tenant's migration stands, as the tenant's configuration keeps it.

use super::plan::{Concern, Model, Phase};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::Tenant;
use crate::keys::Shards;
use crate::money::AssetSpec;
use crate::ops::{TenantTerms, tenant};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Transaction};

/// The attribute of `CONFIG` that keeps it.
pub(super) const ATTRIBUTE: &str = "migration";

/// How often a tenant's phase has been changed, forwards or backwards. Whoever writes to a customer stamps the God
/// Record with the fence that it has read, and nobody writes there who has read an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub(super) i64);

/// A migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Which phase.
    pub phase: Phase,
    /// The fence of whoever writes by this setting.
    pub fence: Fence,
    /// Since when it has been set.
    pub since: Timestamp,
    /// Whether the God Records are being emptied, from which there is no way back.
    pub contracting: bool,
    /// The assets that the tenant runs.
    pub assets: Vec<AssetSpec>,
    /// Over how many shards the work of publishing is spread.
    pub due_shards: Shards,
}

/// By which records a tenant's customers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Split records, and nothing else.
    Split,
    /// On the way there.
    Migrating(Migration),
}

impl Fence {
    /// Before the first change.
    pub const FIRST: Self = Self(0);

    /// The number.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    pub(super) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    pub(super) fn value(self) -> Value {
        Value::int(self.0)
    }
}

impl Layout {
    /// From the tenant's `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it: a layout that is not understood must not be guessed.
    pub fn read(config: &Item) -> Result<Self, ItemError> {
        let Some(stored) = config.opt_map(ATTRIBUTE)? else { return Ok(Self::Split) };
        if stored.contains_key("contracted_at") {
            return stored.timestamp("contracted_at").map(|_| Self::Split);
        }
        Migration::read(stored, &TenantTerms::read(config)?).map(Self::Migrating)
    }
}

impl Migration {
    /// A migration that begins.
    #[must_use]
    pub fn first(model: Model, terms: &TenantTerms, now: Timestamp) -> Self {
        Self::of(Phase::first(model), Fence::FIRST, now, terms)
    }

    fn of(phase: Phase, fence: Fence, since: Timestamp, terms: &TenantTerms) -> Self {
        let assets = terms.assets.values().map(|terms| terms.spec.clone()).collect();
        Self { phase, fence, since, contracting: false, assets, due_shards: terms.due_shards }
    }

    fn read(stored: &Item, terms: &TenantTerms) -> Result<Self, ItemError> {
        let model = stored.named("model", Model::parse)?;
        let phase = stored.checked_int("phase", |number| Phase::new(model, number).ok())?;
        let fence = Fence(stored.int("fence")?);
        if fence < Fence::FIRST {
            return Err(ItemError::invalid("fence"));
        }
        let since = stored.timestamp("since")?;
        let contracting = stored.flag("contracting")?;
        Ok(Self { contracting, ..Self::of(phase, fence, since, terms) })
    }

    /// Whether a concern stands in split records from the beginning.
    pub(super) fn begins_split(&self, concern: Concern) -> bool {
        Phase::first(self.phase.model()).stage(concern).reads_split()
    }

    /// The attribute of `CONFIG` that keeps it.
    fn config(&self) -> Item {
        Item::from([(ATTRIBUTE.to_owned(), Value::M(self.item()))])
    }

    /// As `CONFIG` keeps it, under `migration`.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = Item::from([
            ("model".to_owned(), Value::s(self.phase.model().name())),
            ("phase".to_owned(), Value::int(self.phase.number().into())),
            ("fence".to_owned(), self.fence.value()),
            ("since".to_owned(), Value::s(self.since)),
        ]);
        if self.contracting {
            item.insert("contracting".to_owned(), Value::Bool(true));
        }
        item
    }
}

/// Writes a tenant's first configuration, unless there is one. A tenant that comes with customers from a legacy model
/// begins in that model's first phase.
///
/// # Errors
/// [`BuildError`], which this form never gives.
pub fn open_tenant(
    id: &Tenant,
    terms: &TenantTerms,
    legacy: Option<Model>,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let Some(model) = legacy else { return tenant::open(id, terms, now) };
    let mut configuration = terms.item();
    configuration.extend(Migration::first(model, terms, now).config());
    tenant::first_configuration(id, configuration, now)
}
