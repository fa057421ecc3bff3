//! A transaction as its phase writes it.
//!
//! Each action on a split record becomes the actions that the phase needs, and the store's reasons for those are
//! translated back to reasons for the transaction's own actions.

use super::counterpart::Counterpart;
use super::history;
use super::plan::{Concern, Stage};
use super::record::{self, GodRecord, Stale};
use super::setting::{Layout, Migration};
use crate::dynamo::Item;
use crate::keys::{self, Key};
use crate::transaction::{Action, BuildError, Clause, MAX_ITEMS, Reason, ReasonCode, Role, TransactItem, Transaction};
use std::collections::BTreeMap;

/// The actions that are written, each with the transaction's actions that it carries out.
// INVARIANT: each action of the transaction is written once under its own guards: on the split record where that is the
// truth, else on its counterpart. Wherever a customer's split record is touched, the customer's God Record is among the
// actions, under its own clauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    items: Vec<TransactItem>,
    origins: Vec<ItemOrigin>,
    /// The number of actions of the transaction.
    of: usize,
}

/// What a written action carries out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ItemOrigin {
    /// The transaction's actions whose guards it carries, each with how its item is read.
    guards: Vec<Guarded>,
    /// The transaction's actions that it writes without guards.
    writes: Vec<usize>,
    /// The conditions on the God Record that it carries.
    record: Option<GodRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Guarded {
    position: usize,
    item: TransactItem,
    seen_as: Option<Counterpart>,
}

/// The meaning of the store's reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// One reason for each of the transaction's actions.
    For(Vec<Reason>),
    /// A customer is not where the layout expects it: nothing was written, and the caller may copy or re-plan. The
    /// reasons are for a caller that cannot.
    Stale(Stale, Vec<Reason>),
}

impl Transaction {
    /// The transaction's actions as a layout writes them. A layout of split records leaves them unchanged.
    ///
    /// # Errors
    /// [`BuildError`] if an action has no legacy form, two actions on an item cannot be merged, or there are too many.
    pub fn placed(&self, layout: &Layout) -> Result<Placed, BuildError> {
        let migration = match layout {
            Layout::Split => None,
            Layout::Migrating(migration) => Some(migration),
        };
        let mut placing = Placing { migration, actions: Vec::new(), at: BTreeMap::new() };
        for (position, item) in self.items().iter().enumerate() {
            placing.place(position, item)?;
        }
        placing.done(self.items().len())
    }
}

impl Placed {
    /// The actions to write, in the order of the store's reasons.
    #[must_use]
    pub fn items(&self) -> &[TransactItem] {
        &self.items
    }

    /// Translates the store's reasons, one for each written action, into reasons for the transaction's actions.
    #[must_use]
    pub fn cancelled(&self, reasons: Vec<Reason>) -> Cancelled {
        if reasons.len() != self.items.len() {
            return Cancelled::For(reasons);
        }
        let mut of: Vec<Reason> = vec![Reason { code: ReasonCode::None, item: None }; self.of];
        let mut stale = None;
        for (origins, reason) in self.origins.iter().zip(reasons) {
            if reason.code == ReasonCode::ConditionalCheckFailed {
                stale = stale.or(origins.failed(reason.item, &mut of));
            } else if reason.code != ReasonCode::None {
                origins.all().for_each(|position| set_reason(&mut of, position, &reason));
            }
        }
        let has_marker_failed = self
            .items
            .iter()
            .zip(&of)
            .any(|(item, reason)| item.role() == Role::Marker && reason.code == ReasonCode::ConditionalCheckFailed);
        match stale {
            Some(stale) if !has_marker_failed => Cancelled::Stale(stale, of),
            Some(_) | None => Cancelled::For(of),
        }
    }
}

/// Sets the reason of an action. The first reason stays, except that a failed condition replaces any other.
fn set_reason(of: &mut [Reason], position: usize, reason: &Reason) {
    if let Some(current) = of.get_mut(position)
        && (current.code == ReasonCode::None || reason.code == ReasonCode::ConditionalCheckFailed)
    {
        *current = reason.clone();
    }
}

impl ItemOrigin {
    fn all(&self) -> impl Iterator<Item = usize> {
        self.guards.iter().map(|guarded| guarded.position).chain(self.writes.iter().copied())
    }

    /// Attributes a failed condition to the guards that do not hold, and returns why the God Record is stale, if it is.
    fn failed(&self, old: Option<Item>, of: &mut [Reason]) -> Option<Stale> {
        let failed = ReasonCode::ConditionalCheckFailed;
        let mut any = false;
        for Guarded { position, item, seen_as } in &self.guards {
            let seen = match seen_as {
                Some(counterpart) => {
                    let present = old.as_ref().filter(|old| counterpart.is_present_in(old));
                    match present.map(|old| counterpart.view(old, |_| None)).transpose() {
                        Ok(view) => view,
                        // An unreadable item explains nothing. Whether the God Record is stale is checked below.
                        Err(_) => continue,
                    }
                }
                None => old.clone(),
            };
            if item.failure_on(seen.as_ref()).is_some() {
                any = true;
                set_reason(of, *position, &Reason { code: failed.clone(), item: seen });
            }
        }
        let stale = self.record.as_ref().and_then(|record| record.stale(old.as_ref()));
        if stale.is_none() && !any {
            // No guard explains the failure: report it on every action, and the classification decides.
            self.all()
                .for_each(|position| set_reason(of, position, &Reason { code: failed.clone(), item: old.clone() }));
        }
        stale
    }
}

struct Placing<'a> {
    migration: Option<&'a Migration>,
    actions: Vec<Draft>,
    at: BTreeMap<Key, usize>,
}

struct Draft {
    item: TransactItem,
    origins: ItemOrigin,
}

impl Placing<'_> {
    fn place(&mut self, position: usize, item: &TransactItem) -> Result<(), BuildError> {
        let Some(migration) = self.migration else { return self.guarded(position, item.clone(), None, item) };
        // The legacy model has no aggregates beside a balance: they move with the concern of the aggregates.
        if let Some((rest, apart)) = item.with_aggregates_apart(keys::metrics_of(&item.key().partition())) {
            self.place(position, &rest)?;
            return self.place(position, &apart);
        }
        let Some(counterpart) = Counterpart::of(item.key()) else {
            let (entry, legacy) = history::in_both(item, migration.phase.stage(Concern::History));
            self.guarded(position, entry, None, item)?;
            return legacy.into_iter().try_for_each(|legacy| self.written(position, legacy));
        };
        let stage = migration.phase.stage(counterpart.concern());
        self.record(migration, &counterpart, stage, (position, item))?;
        let legacy = || legacy(&counterpart, migration, item);
        match &item.action {
            // Creating a record is guarded in both models: it must exist in neither.
            Action::Put(_) => {
                if stage.writes_legacy() {
                    self.guarded(position, legacy()?, Some(counterpart.clone()), item)?;
                }
                if stage.writes_split() {
                    self.guarded(position, item.clone(), None, item)?;
                }
            }
            Action::Check if stage.reads_split() => self.guarded(position, item.clone(), None, item)?,
            Action::Check => self.guarded(position, legacy()?, Some(counterpart.clone()), item)?,
            Action::Update(_) if stage.reads_split() => {
                self.guarded(position, item.clone(), None, item)?;
                if stage.writes_legacy() {
                    self.written(position, legacy()?.guarded_by(Vec::new()))?;
                }
            }
            Action::Update(_) => {
                self.guarded(position, legacy()?, Some(counterpart.clone()), item)?;
                if stage.writes_split() {
                    self.written(position, item.clone().guarded_by(Vec::new()))?;
                }
            }
        }
        Ok(())
    }

    /// Adds the action on the customer's God Record: a write, or at least a check.
    fn record(
        &mut self,
        migration: &Migration,
        of: &Counterpart,
        stage: Stage,
        (position, item): (usize, &TransactItem),
    ) -> Result<(), BuildError> {
        let (own, needs) = record::action(migration, of, stage, item);
        // A customer who exists has a God Record in any case, so creating one is guarded on its absence.
        match &item.action {
            Action::Put(_) => self.guarded(position, own.clone(), Some(of.clone()), item)?,
            Action::Update(_) | Action::Check => self.written(position, own.clone())?,
        }
        if let Some(draft) = self.at.get(own.key()).and_then(|at| self.actions.get_mut(*at)) {
            draft.origins.record = match draft.origins.record.take() {
                Some(before) => Some(before.and(needs)),
                None => Some(needs),
            };
        }
        Ok(())
    }

    fn guarded(
        &mut self,
        position: usize,
        placed: TransactItem,
        seen_as: Option<Counterpart>,
        item: &TransactItem,
    ) -> Result<(), BuildError> {
        let at = self.put(placed)?;
        if let Some(draft) = self.actions.get_mut(at) {
            draft.origins.guards.push(Guarded { position, item: item.clone(), seen_as });
        }
        Ok(())
    }

    fn written(&mut self, position: usize, placed: TransactItem) -> Result<(), BuildError> {
        let at = self.put(placed)?;
        if let Some(draft) = self.actions.get_mut(at) {
            draft.origins.writes.push(position);
        }
        Ok(())
    }

    /// Adds an action. Actions on one item are merged, because a transaction may have only one per item.
    fn put(&mut self, item: TransactItem) -> Result<usize, BuildError> {
        let next = self.actions.len();
        let at = *self.at.entry(item.key().clone()).or_insert(next);
        match self.actions.get_mut(at) {
            Some(draft) => {
                let role = item.role();
                draft.item = draft.item.clone().and(item).ok_or(BuildError::SameKey(role))?;
            }
            None => self.actions.push(Draft { item, origins: ItemOrigin::default() }),
        }
        Ok(at)
    }

    fn done(self, of: usize) -> Result<Placed, BuildError> {
        if self.actions.len() > MAX_ITEMS {
            return Err(BuildError::TooManyItems(self.actions.len()));
        }
        if let Some(draft) = self.actions.iter().find(|draft| draft.item.has_clash()) {
            return Err(BuildError::Placeholder(draft.item.role()));
        }
        let (items, origins) = self.actions.into_iter().map(|draft| (draft.item, draft.origins)).unzip();
        Ok(Placed { items, origins, of })
    }
}

/// Translates an action on a split record into one on its counterpart.
fn legacy(counterpart: &Counterpart, migration: &Migration, item: &TransactItem) -> Result<TransactItem, BuildError> {
    let unnamed = |attribute: String| BuildError::Unplaced(item.role(), attribute);
    let (key, word) = (counterpart.legacy(migration.phase.model()), counterpart.word());
    let name = |attribute: &str| counterpart.name(attribute);
    let clause = |Clause { condition, failure }: &Clause| -> Result<Clause, BuildError> {
        Ok(Clause { condition: condition.renamed(&name, &word).map_err(unnamed)?, failure: *failure })
    };
    let clauses: Vec<Clause> = item.clauses().iter().map(clause).collect::<Result<_, _>>()?;
    Ok(match &item.action {
        Action::Check => TransactItem::check(Role::GodRecord, key, clauses),
        Action::Update(update) => {
            TransactItem::update(Role::GodRecord, key, update.renamed(name, &word).map_err(unnamed)?, clauses)
        }
        Action::Put(split) => {
            let mut attributes = Item::new();
            counterpart.put(split, &mut attributes).map_err(unnamed)?;
            TransactItem::put(Role::GodRecord, key, attributes, clauses)
        }
    })
}
