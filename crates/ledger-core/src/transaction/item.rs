//! One action of a transaction: what it is for, what it does, and what each part of its condition means.

use super::balance::{BalanceChange, SUMS};
use crate::account::Posting;
use crate::dynamo::{Condition, Item, Names, Update, Value};
use crate::failure::Failure;
use crate::keys::{Key, attr};
use crate::money::Delta;
use std::collections::BTreeMap;

/// What an item is for in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The idempotency marker, always first.
    Marker,
    /// A journal entry.
    Journal,
    /// A reference to it for another party's history.
    JournalReference,
    /// A balance that is debited.
    Payer,
    /// A balance that is credited.
    Payee,
    /// A points balance.
    Points,
    /// A customer's aggregates.
    Metrics,
    /// A payment.
    Payment,
    /// A refund of a payment, or a reversal.
    Refund,
    /// A profile.
    Profile,
    /// A stored-value card.
    Card,
    /// A one-time code.
    Code,
    /// An adjustment.
    Adjustment,
    /// An audit record.
    Audit,
    /// A tenant's configuration.
    Config,
    /// The marker of the operation that is reversed.
    OriginalMarker,
    /// A bulk grant.
    Job,
    /// A top-up through the payment provider.
    Topup,
    /// Money that the payment provider took without our asking: a dispute, a refund of its own.
    Clawback,
    /// A decision about a top-up that the provider contradicts.
    Decision,
    /// The marker of an operation that is still in flight.
    Flight,
    /// An event of the payment provider that a person must look at.
    KeptEvent,
    /// How much of a tenant's requests in a window has been leased.
    Rate,
    /// Who credits a merchant, or where the next sweep over all merchants begins.
    Crediting,
    /// A merchant's balance.
    MerchantBalance,
    /// What is held for a payment.
    Hold,
    /// A settlement, what is open of a merchant's, or which records one has taken.
    Settlement,
    /// A request to send a bank file again, or to book a transfer as returned.
    Resend,
    /// A record of a step of an operation that asks somebody outside.
    Trail,
    /// Who seals a tenant's audit trail.
    Sealing,
    /// A segment of its chain, or how far a day is sealed.
    Seal,
    /// A record that is sealed.
    Sealed,
    /// What came back of a settlement that was paid.
    Returned,
    /// A run of the reconciliation, or a break that it found.
    Reconciliation,
    /// A customer's legacy item, or one of the legacy history.
    GodRecord,
    /// A pass over all customers of a migrating tenant.
    Migration,
}

/// A part of a condition, with what it means when it does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// What must hold.
    pub condition: Condition,
    /// What it means if it does not.
    pub failure: Failure,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Put(Item),
    Update(Update),
    Check,
}

/// One action on one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactItem {
    role: Role,
    key: Key,
    pub(crate) action: Action,
    clauses: Vec<Clause>,
    changes: Vec<BalanceChange>,
}

/// An action as DynamoDB takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// What is done.
    pub action: RenderedAction,
    /// The condition expression.
    pub condition: Option<String>,
    /// Expression attribute names by placeholder.
    pub names: BTreeMap<String, String>,
    /// Expression attribute values by placeholder.
    pub values: BTreeMap<String, Value>,
}

/// The kinds of action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedAction {
    /// The whole item, its key included.
    Put(Item),
    /// A key and an update expression.
    Update(Item, String),
    /// A key of an item that is only looked at.
    ConditionCheck(Item),
}

/// The item is there. Every update of an account or record of ours is guarded by it: DynamoDB would make a new one.
pub(crate) fn exists() -> Clause {
    Clause { condition: Condition::exists(attr::PK), failure: Failure::AccountMissing }
}

impl TransactItem {
    /// Writes an item that must not exist; `failure` is what it means if it does.
    pub(crate) fn put_new(role: Role, key: Key, item: Item, failure: Failure) -> Self {
        let clause = Clause { condition: Condition::absent(attr::PK), failure };
        Self::put(role, key, item, vec![clause])
    }

    /// Writes an item over what is there.
    pub(crate) fn put(role: Role, key: Key, item: Item, clauses: Vec<Clause>) -> Self {
        Self { role, key, action: Action::Put(item), clauses, changes: Vec::new() }
    }

    /// Changes an item.
    pub(crate) fn update(role: Role, key: Key, update: Update, clauses: Vec<Clause>) -> Self {
        Self { role, key, action: Action::Update(update), clauses, changes: Vec::new() }
    }

    /// Looks at an item.
    pub(crate) fn check(role: Role, key: Key, clauses: Vec<Clause>) -> Self {
        Self { role, key, action: Action::Check, clauses, changes: Vec::new() }
    }

    pub(super) fn carrying_out(mut self, change: BalanceChange) -> Self {
        self.changes.push(change);
        self
    }

    /// A further change of the item, under a further guard.
    pub(crate) fn also(mut self, clause: Clause, change: impl FnOnce(Update) -> Update) -> Self {
        if let Action::Update(update) = &mut self.action {
            *update = change(std::mem::take(update));
        }
        self.clauses.push(clause);
        self
    }

    /// A further change of the item; where it is only looked at, the first.
    pub(crate) fn changing(mut self, change: impl FnOnce(Update) -> Update) -> Self {
        self.action = match self.action {
            Action::Update(update) => Action::Update(change(update)),
            Action::Check => Action::Update(change(Update::new())),
            put @ Action::Put(_) => put,
        };
        self
    }

    /// Adds guards.
    pub(crate) fn guarded_also(mut self, clauses: Vec<Clause>) -> Self {
        self.clauses.extend(clauses);
        self
    }

    /// This and another action on the same item as one; `None` if they cannot be one.
    pub(crate) fn and(self, other: Self) -> Option<Self> {
        let action = match (self.action, other.action) {
            (Action::Check, action) | (action, Action::Check) => action,
            (Action::Update(this), Action::Update(that)) => Action::Update(this.and(that)?),
            (Action::Put(this), Action::Put(that)) => Action::Put(merged(this, that)?),
            (Action::Put(_), Action::Update(_)) | (Action::Update(_), Action::Put(_)) => return None,
        };
        let mut clauses = self.clauses;
        clauses.extend(other.clauses.into_iter().filter(|clause| !clauses.contains(clause)).collect::<Vec<_>>());
        let changes = self.changes.into_iter().chain(other.changes).collect();
        Some(Self { role: self.role, key: self.key, action, clauses, changes })
    }

    /// Replaces its guards.
    pub(crate) fn guarded_by(mut self, clauses: Vec<Clause>) -> Self {
        self.clauses = clauses;
        self
    }

    /// What it is for.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Which item.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Its guards, in the order in which they are asked what failed.
    #[must_use]
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The postings that it carries out: one, or two between the parts of one account.
    pub fn postings(&self) -> impl Iterator<Item = &Posting> {
        self.changes.iter().flat_map(BalanceChange::postings)
    }

    /// Whether it carries out a posting.
    pub(crate) fn is_posted(&self) -> bool {
        self.postings().next().is_some()
    }

    /// What the failed condition means, given the item as it was: the first clause that does not
    /// hold on it. `None` if all of them hold, which no failed condition explains.
    #[must_use]
    pub fn failure_on(&self, old: Option<&Item>) -> Option<&Clause> {
        self.clauses.iter().find(|clause| !clause.condition.holds(old))
    }

    /// Whether it writes what counts against a cap: a sum of postings and of reservations.
    pub(crate) fn touches_exposure(&self) -> bool {
        let is_counted = |name: &str| matches!(name, attr::EXPOSURE | attr::RESERVED);
        match &self.action {
            Action::Put(item) => item.iter().any(|(name, value)| is_counted(name) && *value != Value::int(0)),
            Action::Update(update) => update.attributes().any(is_counted),
            Action::Check => false,
        }
    }

    /// The first sum of a balance item that it writes otherwise than its postings and reservation say.
    pub(crate) fn unposted_sum(&self) -> Option<&'static str> {
        match &self.action {
            Action::Check => None,
            Action::Put(item) => [attr::BALANCE, attr::HELD]
                .into_iter()
                .find(|sum| item.get(*sum).is_some_and(|value| *value != Value::int(0))),
            Action::Update(update) => {
                let posted: Option<BTreeMap<&str, Delta>> =
                    self.changes.iter().try_fold(BTreeMap::new(), |mut all, change| {
                        all.extend(change.sums()?);
                        Some(all)
                    });
                SUMS.into_iter().find(|sum| {
                    let (added, otherwise) = update.added(sum);
                    let wanted = posted.as_ref().and_then(|posted| posted.get(sum)).map(|delta| Value::N(delta.text()));
                    otherwise || added != wanted.as_ref()
                })
            }
        }
    }

    /// The text that it writes into an attribute.
    pub(crate) fn text_written(&self, attribute: &str) -> Option<&str> {
        let written = match &self.action {
            Action::Put(item) => item.get(attribute),
            Action::Update(update) => update.set_to(attribute),
            Action::Check => None,
        };
        match written {
            Some(Value::S(text)) => Some(text),
            Some(Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => None,
        }
    }

    /// The action as DynamoDB takes it, or `None` if two different values claim one placeholder.
    #[must_use]
    pub fn render(&self) -> Option<Rendered> {
        let mut names = Names::default();
        let key = || {
            Item::from([(attr::PK.to_owned(), Value::s(self.key.pk())), (attr::SK.to_owned(), Value::s(self.key.sk()))])
        };
        let action = match &self.action {
            Action::Put(item) => {
                let mut whole = key();
                whole.extend(item.clone());
                RenderedAction::Put(whole)
            }
            Action::Update(update) => RenderedAction::Update(key(), update.render(&mut names)),
            Action::Check => RenderedAction::ConditionCheck(key()),
        };
        let clauses: Vec<String> = self.clauses.iter().map(|clause| clause.condition.render(&mut names)).collect();
        let condition = (!clauses.is_empty()).then(|| clauses.join(" AND "));
        (!names.clash).then_some(Rendered { action, condition, names: names.names, values: names.values })
    }
}

/// Two items as one, maps put together; `None` if they differ about an attribute.
fn merged(mut this: Item, that: Item) -> Option<Item> {
    for (name, value) in that {
        let whole = match (this.remove(&name), value) {
            (None, value) => value,
            (Some(Value::M(ours)), Value::M(theirs)) => Value::M(merged(ours, theirs)?),
            (Some(ours), theirs) => (ours == theirs).then_some(ours)?,
        };
        this.insert(name, whole);
    }
    Some(this)
}
