//! A table in memory that executes the core's transactions as DynamoDB would: fast enough to run every
//! order of a history. What it makes of an update is read from the rendered expression.

use crate::engine::{Contents, PrimaryKey, primary_key};
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::{Key, attr};
use ledger_core::transaction::{Reason, ReasonCode, Rendered, RenderedAction, TransactItem};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A table. A copy shares everything until it is written, so that it costs little.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    items: Arc<BTreeMap<PrimaryKey, Arc<Item>>>,
}

impl Model {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes an item as it stands, over what was there.
    pub fn put(&mut self, item: Item) {
        let item: Item = item.into_iter().map(|(name, value)| (name, normal(value))).collect();
        Arc::make_mut(&mut self.items).insert(primary_key(&item), Arc::new(item));
    }

    /// Takes the items out that `which` names.
    pub fn take(&mut self, which: impl Fn(&PrimaryKey) -> bool) -> Vec<Item> {
        let (gone, kept) = std::mem::take(Arc::make_mut(&mut self.items)).into_iter().partition(|(key, _)| which(key));
        self.items = Arc::new(kept);
        let gone: BTreeMap<PrimaryKey, Arc<Item>> = gone;
        gone.into_values().map(Arc::unwrap_or_clone).collect()
    }

    /// An item.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.items.get(&of(key)).map(AsRef::as_ref)
    }

    /// Every item, by partition and sort key.
    pub fn iter(&self) -> impl Iterator<Item = (&PrimaryKey, &Item)> {
        self.items.iter().map(|(key, item)| (key, item.as_ref()))
    }

    /// Everything that stands in the table.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.iter().map(|(key, item)| (key.clone(), item.clone())).collect()
    }

    /// Whether two tables hold the same items, but for those that `which` names.
    #[must_use]
    pub fn same_but_for(&self, other: &Self, which: impl Fn(&PrimaryKey) -> bool) -> bool {
        if Arc::ptr_eq(&self.items, &other.items) {
            return true;
        }
        let mut ours = self.items.iter().filter(|(key, _)| !which(key));
        let mut theirs = other.items.iter().filter(|(key, _)| !which(key));
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return true,
                (Some((key, item)), Some((other, stands))) if key == other && item == stands => {}
                (Some(_) | None, Some(_) | None) => return false,
            }
        }
    }

    /// Executes actions, all or none.
    ///
    /// # Errors
    /// One reason per action if a condition does not hold, with the item as it was. Nothing is
    /// applied then.
    ///
    /// # Panics
    /// On a request that DynamoDB would refuse to read.
    pub fn execute(&mut self, items: &[TransactItem]) -> Result<(), Vec<Reason>> {
        let keys: BTreeSet<&Key> = items.iter().map(TransactItem::key).collect();
        assert!(!items.is_empty() && items.len() <= 100 && keys.len() == items.len(), "no request: {items:#?}");
        let reasons: Vec<Reason> = items.iter().map(|item| self.reason(item)).collect();
        if reasons.iter().any(|reason| reason.code != ReasonCode::None) {
            return Err(reasons);
        }
        let written: Vec<_> = items.iter().filter_map(|item| Some((of(item.key()), self.written(item)?))).collect();
        Arc::make_mut(&mut self.items).extend(written.into_iter().map(|(key, item)| (key, Arc::new(item))));
        Ok(())
    }

    fn reason(&self, item: &TransactItem) -> Reason {
        let old = self.get(item.key());
        if item.clauses().iter().all(|clause| clause.condition.holds(old)) {
            return Reason { code: ReasonCode::None, item: None };
        }
        Reason { code: ReasonCode::ConditionalCheckFailed, item: old.cloned() }
    }

    /// What stands after an action, or `None` if it writes nothing.
    fn written(&self, item: &TransactItem) -> Option<Item> {
        let rendered = item.render().unwrap_or_else(|| panic!("two values claim one placeholder: {item:?}"));
        every_placeholder_is_used(&rendered);
        match &rendered.action {
            RenderedAction::ConditionCheck(_) => None,
            RenderedAction::Put(put) => {
                Some(put.iter().map(|(name, value)| (name.clone(), normal(value.clone()))).collect())
            }
            RenderedAction::Update(key, expression) => {
                let old = self.get(item.key()).unwrap_or(key);
                Some(updated(old, expression, &rendered))
            }
        }
    }
}

fn of(key: &Key) -> PrimaryKey {
    (key.pk().to_owned(), key.sk().to_owned())
}

/// One step of an update expression, its names and values resolved.
enum Step<'a> {
    Add(&'a str, &'a Value),
    Set(&'a str, &'a Value),
    SetIfAbsent(&'a str, &'a str, &'a Value),
    Remove(&'a str),
}

/// An item after an update. Every right side is read from the item as it was.
fn updated(old: &Item, expression: &str, rendered: &Rendered) -> Item {
    let mut new = old.clone();
    let mut written = BTreeSet::new();
    for step in steps(expression, rendered) {
        let (name, value) = match step {
            Step::Add(name, value) => (name, Some(added(old.get(name), value))),
            Step::Set(name, value) => (name, Some(normal(value.clone()))),
            Step::SetIfAbsent(name, seen, value) => {
                (name, Some(old.get(seen).cloned().unwrap_or_else(|| normal(value.clone()))))
            }
            Step::Remove(name) => (name, None),
        };
        assert!(written.insert(name), "two steps write {name}: {expression}");
        assert!(name != attr::PK && name != attr::SK, "a key is written: {expression}");
        match value {
            Some(value) => new.insert(name.to_owned(), value),
            None => new.remove(name),
        };
    }
    new
}

fn added(old: Option<&Value>, change: &Value) -> Value {
    let number = |value: &Value| match value {
        Value::N(text) => decimal(text),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => panic!("ADD of {value:?}"),
    };
    let sum = old.map_or(Decimal::ZERO, number).checked_add(number(change));
    Value::N(text(sum.unwrap_or_else(|| panic!("{old:?} and {change:?} are too much"))))
}

/// Reads `ADD #a :x, #b :y SET #c = :z, #d = if_not_exists(#d, :w) REMOVE #e, #f`.
fn steps<'a>(expression: &str, rendered: &'a Rendered) -> Vec<Step<'a>> {
    let spaced =
        ["(", ")", ",", "="].iter().fold(expression.to_owned(), |text, sign| text.replace(sign, &format!(" {sign} ")));
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for token in tokens {
        match token {
            "ADD" | "SET" | "REMOVE" => sections.push((token, Vec::new())),
            other => sections.last_mut().unwrap_or_else(|| panic!("no verb in {expression}")).1.push(other),
        }
    }
    let name = |token: &str| named(&rendered.names, token, expression).as_str();
    let value = |token: &str| named(&rendered.values, token, expression);
    let mut steps = Vec::new();
    for (verb, tokens) in &sections {
        assert_eq!(sections.iter().filter(|(other, _)| other == verb).count(), 1, "{verb} twice in {expression}");
        let mut rest = tokens.as_slice();
        while !rest.is_empty() {
            let (step, taken) = match (*verb, rest) {
                ("ADD", [a, v, ..]) => (Step::Add(name(a), value(v)), 2),
                ("SET", [a, "=", "if_not_exists", "(", seen, ",", v, ")", ..]) => {
                    (Step::SetIfAbsent(name(a), name(seen), value(v)), 8)
                }
                ("SET", [a, "=", v, ..]) => (Step::Set(name(a), value(v)), 3),
                ("REMOVE", [a, ..]) => (Step::Remove(name(a)), 1),
                _ => panic!("not understood: {rest:?} in {expression}"),
            };
            steps.push(step);
            rest = match &rest[taken..] {
                [",", more @ ..] if !more.is_empty() => more,
                [] => &[],
                other => panic!("not understood: {other:?} in {expression}"),
            };
        }
    }
    assert!(!steps.is_empty(), "an update without a step: {expression:?}");
    steps
}

fn named<'a, T>(map: &'a BTreeMap<String, T>, token: &str, expression: &str) -> &'a T {
    map.get(token).unwrap_or_else(|| panic!("{token} is not defined in {expression}"))
}

/// DynamoDB refuses a request that defines a name or a value and does not use it.
fn every_placeholder_is_used(rendered: &Rendered) {
    let update = match &rendered.action {
        RenderedAction::Update(_, update) => update.as_str(),
        RenderedAction::Put(_) | RenderedAction::ConditionCheck(_) => "",
    };
    let condition = rendered.condition.as_deref().unwrap_or_default();
    for placeholder in rendered.names.keys().chain(rendered.values.keys()) {
        let used = update.contains(placeholder) || condition.contains(placeholder);
        assert!(used, "{placeholder} is not used: {update} | {condition}");
    }
}

/// A value as it is stored: numbers without leading and trailing zeros, however deep they stand.
fn normal(value: Value) -> Value {
    match value {
        Value::N(number) => Value::N(text(decimal(&number))),
        Value::L(list) => Value::L(list.into_iter().map(normal).collect()),
        Value::M(map) => Value::M(map.into_iter().map(|(name, value)| (name, normal(value))).collect()),
        Value::S(_) | Value::Bool(_) | Value::B(_) => value,
    }
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn text(number: Decimal) -> String {
    number.normalize().to_string()
}
