//! The God Record itself: who may write to it, and what it says about the location of each concern.

use super::counterpart::Counterpart;
use super::plan::{Concern, Stage};
use super::setting::{Fence, Migration};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::CustomerId;
use crate::keys::attr;
use crate::money::Asset;
use crate::transaction::{Action, Clause, Role, TransactItem};
use crate::words::words;

/// The fence of the last writer. The attribute is absent until the ledger adopts the customer.
pub(super) const FENCE: &str = "fence_phase";
/// The God Record's map of regional currencies.
pub(super) const REGIONAL: &str = "regional";

words! {
    /// Which model holds a concern of one customer, according to the God Record.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum BalanceLocation {
        /// The God Record only: the split records are incomplete or absent.
        Legacy = "legacy",
        /// Both models, with equal content.
        Both = "both",
        /// The split records only: the God Record is incomplete.
        Split = "split",
    }
}

/// Why a customer is not where a layout expects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// The ledger has not adopted the customer.
    NotAdopted(CustomerId),
    /// Another writer has used a later setting than ours.
    Fenced,
    /// The concern must be copied first.
    NotCopied(CustomerId, Concern),
    /// The God Record's migration attributes do not have the expected format.
    Unreadable(ItemError),
}

/// The conditions that a transaction puts on a God Record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GodRecord {
    customer: CustomerId,
    fence: Fence,
    /// For each concern, the value of [`BalanceLocation`] that it must not have.
    not: Vec<(Concern, BalanceLocation)>,
}

impl BalanceLocation {
    /// Reads which model holds a concern; `None` if the God Record does not say.
    ///
    /// # Errors
    /// [`ItemError`] if the stored value is not one of [`Self::ALL`].
    pub fn read(record: &Item, concern: Concern) -> Result<Option<Self>, ItemError> {
        record.opt_named(&attribute(concern), |name| Self::ALL.into_iter().find(|truth| truth.name() == name))
    }

    pub(super) fn value(self) -> Value {
        Value::s(self.name())
    }

    /// Which model holds a concern after a record was created in this stage.
    pub(super) const fn made_by(stage: Stage) -> Self {
        match stage {
            Stage::LegacyOnly => Self::Legacy,
            Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => Self::Both,
            Stage::NewOnly => Self::Split,
        }
    }

    /// Which model must not hold a concern alone when a writer is in this stage.
    const fn excluded_by(stage: Stage) -> Self {
        if stage.reads_split() { Self::Legacy } else { Self::Split }
    }
}

/// The attribute of the God Record that says which model holds a concern.
pub(super) fn attribute(concern: Concern) -> String {
    format!("truth_{}", concern.name())
}

impl GodRecord {
    pub(super) fn and(mut self, other: Self) -> Self {
        self.not.extend(other.not);
        self
    }

    /// Which of these conditions failed on the item as it was.
    ///
    /// `None` for the item means an unknown customer, or one that only split records know: reading both models decides.
    pub(super) fn stale(&self, old: Option<&Item>) -> Option<Stale> {
        self.stale_of(old).unwrap_or_else(|error| Some(Stale::Unreadable(error)))
    }

    fn stale_of(&self, old: Option<&Item>) -> Result<Option<Stale>, ItemError> {
        let not_adopted = Stale::NotAdopted(self.customer);
        let Some(old) = old else { return Ok(Some(not_adopted)) };
        let Some(fence) = old.opt_int::<i64>(FENCE)? else { return Ok(Some(not_adopted)) };
        if fence > self.fence.number() {
            return Ok(Some(Stale::Fenced));
        }
        for (concern, not) in &self.not {
            if BalanceLocation::read(old, *concern)? == Some(*not) {
                return Ok(Some(Stale::NotCopied(self.customer, *concern)));
            }
        }
        Ok(None)
    }
}

/// Requires that no writer has used a later setting.
pub(super) fn not_fenced(fence: Fence) -> Clause {
    stale(Condition::compare(FENCE, Cmp::Le, "fence", fence.value()))
}

pub(super) fn stale(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::StalePlan }
}

/// Builds the action on the God Record that accompanies one on a split record, and the conditions it carries.
///
/// The action writes the fence and which model holds the concern afterwards.
pub(super) fn action(
    migration: &Migration,
    of: &Counterpart,
    stage: Stage,
    item: &TransactItem,
) -> (TransactItem, GodRecord) {
    let key = item.key().partition().god_record();
    let (fence, concern) = (migration.fence, of.concern());
    let mut needs = GodRecord { customer: of.customer(), fence, not: Vec::new() };
    let own = match &item.action {
        Action::Put(_) => {
            let record = made(migration, |concern| BalanceLocation::made_by(migration.phase.stage(concern)));
            let absent = Clause { condition: Condition::absent(attr::PK), failure: Failure::AlreadyExists };
            TransactItem::put(Role::GodRecord, key, record, vec![absent])
        }
        Action::Check | Action::Update(_) => {
            let not = BalanceLocation::excluded_by(stage);
            needs.not.push((concern, not));
            let elsewhere = Condition::is_not(attribute(concern), format!("not_{}", concern.name()), not.value());
            let clauses = vec![not_fenced(fence), stale(elsewhere)];
            match &item.action {
                // While God Records are emptied, they get no new attributes.
                Action::Update(update) if !migration.contracting => {
                    TransactItem::update(Role::GodRecord, key, stamped(update, fence, concern, stage), clauses)
                }
                Action::Put(_) | Action::Update(_) | Action::Check => {
                    TransactItem::check(Role::GodRecord, key, clauses)
                }
            }
        }
    };
    (own, needs)
}

/// Builds a God Record that says which model holds each concern. It has the map of regional currencies from the
/// beginning, because DynamoDB cannot add an attribute within an absent map.
pub(super) fn made(migration: &Migration, location: impl Fn(Concern) -> BalanceLocation) -> Item {
    let mut record = Item::from([(FENCE.to_owned(), migration.fence.value())]);
    for concern in Concern::ALL {
        record.insert(attribute(concern), location(concern).value());
    }
    if migration.assets.iter().any(|spec| matches!(spec.asset(), Asset::Regional(_))) {
        record.insert(REGIONAL.to_owned(), Value::M(Item::new()));
    }
    record
}

fn stamped(of: &Update, fence: Fence, concern: Concern, stage: Stage) -> Update {
    let update = Update::new().set(FENCE, "fence", fence.value());
    let update = match (stage, of.set_to(attr::UPDATED_AT)) {
        (Stage::NewOnly, _) | (_, None) => update,
        (Stage::LegacyOnly | Stage::DualWrite | Stage::Backfilled | Stage::ReadNew, Some(at)) => {
            update.set(attr::UPDATED_AT, "ua", at.clone())
        }
    };
    let alone = match stage {
        Stage::LegacyOnly => BalanceLocation::Legacy,
        Stage::NewOnly => BalanceLocation::Split,
        Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => return update,
    };
    update.set(attribute(concern), format!("truth_{}", concern.name()), alone.value())
}
