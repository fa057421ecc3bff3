//! One action of a transaction: its role, its write, and the failure that each part of its condition means.

use super::Role;
use super::balance::{BalanceChange, SUMS};
use crate::account::Posting;
use crate::aggregates::MetricsChange;
use crate::dynamo::{Condition, Item, Placeholders, Update, Value};
use crate::failure::Failure;
use crate::keys::{Key, attr};
use crate::money::Delta;
use std::collections::BTreeMap;

/// A part of a condition, with the failure that it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// What must hold.
    pub condition: Condition,
    /// The failure if it does not hold.
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
    aggregates: Option<MetricsChange>,
}

/// An action in the form that DynamoDB takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The kind of action, with its item or key.
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
    /// The key of an item that is only checked.
    ConditionCheck(Item),
}

/// Requires that the item exists. Every update of an account or record has this guard, because DynamoDB would create a
/// missing item.
pub(crate) fn exists() -> Clause {
    Clause { condition: Condition::exists(attr::PK), failure: Failure::AccountMissing }
}

impl TransactItem {
    /// Writes an item that must not exist; `failure` is the meaning if it does.
    pub(crate) fn put_new(role: Role, key: Key, item: Item, failure: Failure) -> Self {
        let clause = Clause { condition: Condition::absent(attr::PK), failure };
        Self::put(role, key, item, vec![clause])
    }

    /// Writes an item, replacing an existing one.
    pub(crate) fn put(role: Role, key: Key, item: Item, clauses: Vec<Clause>) -> Self {
        Self { role, key, action: Action::Put(item), clauses, changes: Vec::new(), aggregates: None }
    }

    /// Updates an item.
    pub(crate) fn update(role: Role, key: Key, update: Update, clauses: Vec<Clause>) -> Self {
        Self { role, key, action: Action::Update(update), clauses, changes: Vec::new(), aggregates: None }
    }

    /// Checks an item without writing it.
    pub(crate) fn check(role: Role, key: Key, clauses: Vec<Clause>) -> Self {
        Self { role, key, action: Action::Check, clauses, changes: Vec::new(), aggregates: None }
    }

    pub(super) fn changes(&self) -> &[BalanceChange] {
        &self.changes
    }

    pub(super) fn carrying_out(mut self, change: BalanceChange) -> Self {
        self.changes.push(change);
        self
    }

    pub(super) fn counting(mut self, change: MetricsChange) -> Self {
        self.aggregates = Some(change);
        self
    }

    pub(super) fn not_counting(mut self) -> Self {
        self.aggregates = None;
        self
    }

    /// Its change of a customer's aggregates.
    pub(crate) fn aggregates(&self) -> Option<&MetricsChange> {
        self.aggregates.as_ref()
    }

    /// Adds a guard and, if this is an update, a change.
    pub(crate) fn also(mut self, clause: Clause, change: impl FnOnce(Update) -> Update) -> Self {
        if let Action::Update(update) = &mut self.action {
            *update = change(std::mem::take(update));
        }
        self.clauses.push(clause);
        self
    }

    /// Adds a change. A check becomes an update; a put stays as it is.
    pub(crate) fn changing(mut self, change: impl FnOnce(Update) -> Update) -> Self {
        self.action = match self.action {
            Action::Update(update) => Action::Update(change(update)),
            Action::Check => Action::Update(change(Update::new())),
            whole @ Action::Put(_) => whole,
        };
        self
    }

    /// Changes the item that a put writes. Other actions stay as they are.
    pub(crate) fn putting(mut self, change: impl FnOnce(&mut Item)) -> Self {
        if let Action::Put(item) = &mut self.action {
            change(item);
        }
        self
    }

    /// Writes the item whole in place of the update, if it does not exist. What it posts stays the same.
    pub(super) fn open_with(&mut self, item: Item) {
        self.action = Action::Put(item);
        self.clauses = vec![Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan }];
    }

    /// Adds guards.
    pub(crate) fn guarded_also(mut self, clauses: Vec<Clause>) -> Self {
        self.clauses.extend(clauses);
        self
    }

    /// Merges this with another action on the same item; `None` if they conflict.
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
        let aggregates = match (self.aggregates, other.aggregates) {
            (Some(_), Some(_)) => return None,
            (this, that) => this.or(that),
        };
        Some(Self { role: self.role, key: self.key, action, clauses, changes, aggregates })
    }

    /// Replaces its guards.
    pub(crate) fn guarded_by(mut self, clauses: Vec<Clause>) -> Self {
        self.clauses = clauses;
        self
    }

    /// Its role in the transaction.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The key of the item.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Its guards, in the order in which a failure is attributed to them.
    #[must_use]
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The postings that it carries out: one, or two between the parts of one account.
    pub fn postings(&self) -> impl Iterator<Item = &Posting> {
        self.changes.iter().flat_map(BalanceChange::postings)
    }

    /// Whether it changes `exposure` otherwise than by the sum of its parts.
    pub(super) fn corrects_exposure(&self) -> bool {
        self.changes.iter().any(BalanceChange::corrects_exposure)
    }

    /// Whether it updates its item.
    pub(crate) fn is_update(&self) -> bool {
        match self.action {
            Action::Update(_) => true,
            Action::Put(_) | Action::Check => false,
        }
    }

    /// Whether it carries out a posting.
    pub(crate) fn is_posted(&self) -> bool {
        self.postings().next().is_some()
    }

    /// The clause that explains a failed condition: the first one that does not hold on the item as it was.
    ///
    /// `None` if all of them hold, so that nothing explains the failure.
    #[must_use]
    pub fn failure_on(&self, old: Option<&Item>) -> Option<&Clause> {
        self.clauses.iter().find(|clause| !clause.condition.holds(old))
    }

    /// Whether it writes what counts against a cap: `exposure` or `reserved`.
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
        let posted: Option<BTreeMap<&str, Delta>> = self.changes.iter().try_fold(BTreeMap::new(), |mut all, change| {
            all.extend(change.sums()?);
            Some(all)
        });
        let wanted = |sum| posted.as_ref().and_then(|posted| posted.get(sum)).map(|delta| Value::N(delta.text()));
        match &self.action {
            Action::Check => None,
            // Other items have attributes of these names, and an empty balance has them at zero.
            Action::Put(item) if self.changes.is_empty() => [attr::BALANCE, attr::HELD]
                .into_iter()
                .find(|sum| item.get(*sum).is_some_and(|value| *value != Value::int(0))),
            Action::Put(item) => {
                let written = |sum| item.get(sum).filter(|value| **value != Value::int(0)).cloned();
                SUMS.into_iter().find(|sum| written(*sum) != wanted(*sum))
            }
            Action::Update(update) => SUMS.into_iter().find(|sum| {
                let (added, otherwise) = update.added(sum);
                otherwise || added != wanted(*sum).as_ref()
            }),
        }
    }

    /// The text that it writes into an attribute; `None` if it writes none.
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

    /// The action as values, for inspection: what [`request_text`](super::request_text) writes, without the name of the
    /// transaction. `None` if two different values or attributes use one placeholder.
    #[must_use]
    pub fn render(&self) -> Option<Rendered> {
        let mut placeholders = Placeholders::default();
        let key = [(attr::PK.to_owned(), Value::s(self.key.pk())), (attr::SK.to_owned(), Value::s(self.key.sk()))];
        let action = match &self.action {
            Action::Put(item) => {
                let mut whole = item.clone();
                whole.extend(key);
                RenderedAction::Put(whole)
            }
            Action::Update(update) => {
                let mut text = String::new();
                update.parts(&mut |part| placeholders.write(&mut text, part));
                RenderedAction::Update(Item::from(key), text)
            }
            Action::Check => RenderedAction::ConditionCheck(Item::from(key)),
        };
        let mut condition = String::new();
        self.write_condition(&mut condition, &mut placeholders);
        let condition = (!condition.is_empty()).then_some(condition);
        if placeholders.has_clash() {
            return None;
        }
        let (names, values) = placeholders.into_meanings();
        Some(Rendered { action, condition, names, values })
    }

    /// Writes all guards as one expression; nothing if there are none.
    pub(super) fn write_condition<'a>(&'a self, text: &mut String, placeholders: &mut Placeholders<'a>) {
        for (place, clause) in self.clauses.iter().enumerate() {
            if place > 0 {
                text.push_str(" AND ");
            }
            clause.condition.parts(&mut |part| placeholders.write(text, part));
        }
    }

    /// Whether two different values or attributes use one placeholder.
    pub(crate) fn has_clash(&self) -> bool {
        let mut placeholders = Placeholders::default();
        if let Action::Update(update) = &self.action {
            update.parts(&mut |part| placeholders.add(part));
        }
        for clause in &self.clauses {
            clause.condition.parts(&mut |part| placeholders.add(part));
        }
        placeholders.has_clash()
    }

    /// Whether it changes an attribute of a record of the audit trail that the record's seal covers.
    pub(crate) fn changes_sealed_attribute(&self) -> bool {
        let Action::Update(update) = &self.action else { return false };
        update.attributes().any(|name| !name.starts_with(attr::OUTSIDE_SEAL)) && self.key.recorded().is_some()
    }
}

/// Merges two items, including their maps; `None` if an attribute differs.
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
