//! The God Record itself: who may write to it, and where it says that each concern stands.

use super::counterpart::Counterpart;
use super::plan::{Concern, Stage};
use super::setting::{Fence, Migration};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::CustomerId;
use crate::keys::attr;
use crate::money::Asset;
use crate::transaction::{Action, Clause, Role, TransactItem};

/// The fence of whoever wrote last. Its absence says that the ledger has not taken the customer over yet.
pub(super) const FENCE: &str = "fence_phase";
/// The God Record's map of regional currencies.
pub(super) const REGIONAL: &str = "regional";

/// Where a concern of one customer stands, as the God Record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Truth {
    /// In the God Record: the split records lack something, or are not there.
    Legacy,
    /// In both, and they say the same.
    Both,
    /// In the split records: the God Record lacks something.
    Split,
}

/// Why a customer does not stand where a layout puts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// The ledger has not taken the customer over.
    NotAdopted(CustomerId),
    /// Somebody has written under a later setting than ours.
    Fenced,
    /// The concern has to be copied first.
    NotCopied(CustomerId, Concern),
    /// The God Record does not say where the customer stands as we write it.
    Unreadable(ItemError),
}

/// What a transaction asks of a God Record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GodRecord {
    customer: CustomerId,
    fence: Fence,
    /// Concerns that must not stand there alone.
    not: Vec<(Concern, Truth)>,
}

impl Truth {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Legacy, Self::Both, Self::Split];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Both => "both",
            Self::Split => "split",
        }
    }

    /// Where a concern stands, as the God Record says; `None` if it does not say.
    ///
    /// # Errors
    /// [`ItemError`] if it does not say so as we write it.
    pub fn read(record: &Item, concern: Concern) -> Result<Option<Self>, ItemError> {
        record.opt_named(&attribute(concern), |name| Self::ALL.into_iter().find(|truth| truth.name() == name))
    }

    pub(super) fn value(self) -> Value {
        Value::s(self.name())
    }

    /// Where a concern stands after a record that was made by this stage.
    pub(super) const fn made_by(stage: Stage) -> Self {
        match stage {
            Stage::LegacyOnly => Self::Legacy,
            Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => Self::Both,
            Stage::NewOnly => Self::Split,
        }
    }

    /// Where a concern may not stand for whoever writes by this stage.
    const fn shut_out_by(stage: Stage) -> Self {
        if stage.reads_split() { Self::Legacy } else { Self::Split }
    }
}

/// The attribute that says where a concern stands.
pub(super) fn attribute(concern: Concern) -> String {
    format!("truth_{}", concern.name())
}

impl GodRecord {
    pub(super) fn and(mut self, other: Self) -> Self {
        self.not.extend(other.not);
        self
    }

    /// Which of its own clauses does not hold on the item as it was. Without an item there may be no such customer, or
    /// one whom only split records know: a look at both models tells.
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
            if Truth::read(old, *concern)? == Some(*not) {
                return Ok(Some(Stale::NotCopied(self.customer, *concern)));
            }
        }
        Ok(None)
    }
}

/// Nobody has written under a later setting.
pub(super) fn not_fenced(fence: Fence) -> Clause {
    stale(Condition::compare(FENCE, Cmp::Le, "fence", fence.value()))
}

pub(super) fn stale(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::StalePlan }
}

/// The action on the God Record that belongs to one on a split record: its own clauses, the stamp of the fence, and
/// where the concern stands after it.
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
            let record = made(migration, |concern| Truth::made_by(migration.phase.stage(concern)));
            let absent = Clause { condition: Condition::absent(attr::PK), failure: Failure::AlreadyExists };
            TransactItem::put(Role::GodRecord, key, record, vec![absent])
        }
        Action::Check | Action::Update(_) => {
            let not = Truth::shut_out_by(stage);
            needs.not.push((concern, not));
            let elsewhere = Condition::is_not(attribute(concern), format!("not_{}", concern.name()), not.value());
            let clauses = vec![not_fenced(fence), stale(elsewhere)];
            match &item.action {
                // Once the God Records are emptied, nothing is said in them any more.
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

/// A God Record that says where each concern stands. The map of regional currencies is there from the beginning:
/// nothing can be added within a map that is not.
pub(super) fn made(migration: &Migration, stands: impl Fn(Concern) -> Truth) -> Item {
    let mut record = Item::from([(FENCE.to_owned(), migration.fence.value())]);
    for concern in Concern::ALL {
        record.insert(attribute(concern), stands(concern).value());
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
        Stage::LegacyOnly => Truth::Legacy,
        Stage::NewOnly => Truth::Split,
        Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => return update,
    };
    update.set(attribute(concern), format!("truth_{}", concern.name()), alone.value())
}
