//! The state of a tenant's migration, as the tenant's configuration stores it.

use super::plan::{Concern, Model, Phase};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::Tenant;
use crate::money::AssetSpec;
use crate::tenants;
pub(super) use crate::terms::{CONTRACTED_AT, MIGRATION as ATTRIBUTE};
use crate::terms::{EntryTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Transaction};

/// How often a tenant's phase has been changed, forwards or backwards.
///
/// A write to a customer stamps the God Record with the fence that the writer has read. A writer that has read an
/// earlier fence is rejected there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub(super) i64);

/// The state of a tenant's migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The phase.
    pub phase: Phase,
    /// The fence of every writer that uses this setting.
    pub fence: Fence,
    /// When it was set.
    pub since: Timestamp,
    /// Whether the God Records are being emptied. This cannot be reversed.
    pub contracting: bool,
    /// The assets of the tenant's terms.
    pub assets: Vec<AssetSpec>,
    /// What the journal entries of adoptions take from them.
    pub entries: EntryTerms,
}

/// Where a tenant's customers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In split records only.
    Split,
    /// In the models that the migration's phase names.
    Migrating(Migration),
}

impl Fence {
    /// The fence before the first change of the phase.
    pub const FIRST: Self = Self(0);

    /// How often the phase has been changed.
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
    /// Reads the layout from the tenant's `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if it does not have the expected format: a layout must not be guessed.
    pub fn read(config: &Item) -> Result<Self, ItemError> {
        let Some(stored) = config.opt_map(ATTRIBUTE)? else { return Ok(Self::Split) };
        if stored.contains_key(CONTRACTED_AT) {
            return stored.timestamp(CONTRACTED_AT).map(|_| Self::Split);
        }
        // A tenant that migrates has no versions of its terms.
        Migration::read(stored, &TenantTerms::of_attributes(config)?).map(Self::Migrating)
    }

    /// Whether the legacy model holds customers. They are in no lists, and what it has no place for is refused: how a
    /// name is read, a closed wallet, another sign-in, limits of one account.
    #[must_use]
    pub const fn is_migrating(&self) -> bool {
        match self {
            Self::Split => false,
            Self::Migrating(_) => true,
        }
    }
}

impl Migration {
    /// A migration in its first phase.
    #[must_use]
    pub fn first(model: Model, terms: &TenantTerms, now: Timestamp) -> Self {
        Self::of(Phase::first(model), Fence::FIRST, now, terms)
    }

    fn of(phase: Phase, fence: Fence, since: Timestamp, terms: &TenantTerms) -> Self {
        let assets = terms.assets.values().map(|terms| terms.spec.clone()).collect();
        Self { phase, fence, since, contracting: false, assets, entries: terms.of_entry() }
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

    /// Whether a concern is in split records from the beginning.
    pub(super) fn begins_split(&self, concern: Concern) -> bool {
        Phase::first(self.phase.model()).stage(concern).reads_split()
    }

    /// The attribute of `CONFIG` that stores the migration, as an item.
    fn config(&self) -> Item {
        Item::from([(ATTRIBUTE.to_owned(), Value::M(self.item()))])
    }

    /// The value that `CONFIG` stores under `migration`.
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

/// Builds the transaction that writes a tenant's first configuration; rejected if there is one.
///
/// A tenant with customers in a legacy model begins in that model's first phase.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn open_tenant(
    id: &Tenant,
    terms: &TenantTerms,
    legacy: Option<Model>,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let Some(model) = legacy else { return tenants::open(id, terms, now) };
    let mut configuration = terms.item();
    configuration.extend(Migration::first(model, terms, now).config());
    tenants::first_configuration(id, configuration, now)
}
