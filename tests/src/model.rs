//! An in-memory table that executes the core's transactions as DynamoDB would, fast enough to run every order of a
//! history. It interprets the rendered update expressions.

use crate::engine::{Contents, PrimaryKey, primary_key};
use ledger_core::dynamo::{Item, STEP, Value, at};
use ledger_core::keys::{Key, attr};
use ledger_core::transaction::{Clause, Reason, ReasonCode, Rendered, RenderedAction, TransactItem};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A table. A clone shares all items until one of both is written, so it is cheap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    items: Arc<BTreeMap<PrimaryKey, Arc<Item>>>,
}

/// An action as it is sent. A test may change it to plant a fault.
#[derive(Clone, Debug)]
pub struct Act {
    /// The item's key.
    pub key: Key,
    /// The guards.
    pub clauses: Vec<Clause>,
    /// The rendered action. Its condition is that of `clauses` until a test changes one of them.
    pub rendered: Rendered,
}

impl Act {
    /// The rendered form of an action of the core.
    ///
    /// # Panics
    /// If a placeholder is unused or has two values: DynamoDB would reject such a request.
    #[must_use]
    pub fn of(item: &TransactItem) -> Self {
        let rendered = item.render().unwrap_or_else(|| panic!("two values claim one placeholder: {item:?}"));
        every_placeholder_is_used(&rendered);
        Self { key: item.key().clone(), clauses: item.clauses().to_vec(), rendered }
    }
}

impl Hash for Model {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (key, item) in self.items.iter() {
            key.hash(state);
            hash_item(item, state);
        }
    }
}

/// Hashes an item.
pub fn hash_item<H: Hasher>(item: &Item, state: &mut H) {
    state.write_usize(item.len());
    for (name, value) in item {
        name.hash(state);
        hash_value(value, state);
    }
}

fn hash_value<H: Hasher>(value: &Value, state: &mut H) {
    std::mem::discriminant(value).hash(state);
    match value {
        Value::S(text) | Value::N(text) => text.hash(state),
        Value::Bool(flag) => flag.hash(state),
        Value::B(bytes) => bytes.hash(state),
        Value::L(list) => list.iter().for_each(|value| hash_value(value, state)),
        Value::M(map) => hash_item(map, state),
    }
}

impl Model {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes an item, replacing an existing one.
    pub fn put(&mut self, item: Item) {
        let item: Item = item.into_iter().map(|(name, value)| (name, normal(value))).collect();
        Arc::make_mut(&mut self.items).insert(primary_key(&item), Arc::new(item));
    }

    /// Removes and returns the items whose key `which` accepts.
    pub fn take(&mut self, which: impl Fn(&PrimaryKey) -> bool) -> Vec<Item> {
        let (taken, kept) = std::mem::take(Arc::make_mut(&mut self.items)).into_iter().partition(|(key, _)| which(key));
        self.items = Arc::new(kept);
        let taken: BTreeMap<PrimaryKey, Arc<Item>> = taken;
        taken.into_values().map(Arc::unwrap_or_clone).collect()
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

    /// Every item of the table by its key.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.iter().map(|(key, item)| (key.clone(), item.clone())).collect()
    }

    /// Whether two tables hold the same items, except for keys that `which` accepts.
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
                (Some((key, item)), Some((other_key, other_item))) if key == other_key && item == other_item => {}
                (Some(_) | None, Some(_) | None) => return false,
            }
        }
    }

    /// Executes all actions or none.
    ///
    /// # Errors
    /// One reason per action if a condition does not hold, with the old item. Nothing is applied then.
    ///
    /// # Panics
    /// On a request that DynamoDB would reject.
    pub fn execute(&mut self, items: &[TransactItem]) -> Result<(), Vec<Reason>> {
        self.run(&items.iter().map(Act::of).collect::<Vec<_>>())
    }

    /// Executes all actions or none, as they are sent.
    ///
    /// # Errors
    /// One reason per action, as for [`Model::execute`].
    ///
    /// # Panics
    /// On a request that DynamoDB would reject.
    pub fn run(&mut self, acts: &[Act]) -> Result<(), Vec<Reason>> {
        let keys: BTreeSet<&Key> = acts.iter().map(|act| &act.key).collect();
        assert!(!acts.is_empty() && acts.len() <= 100 && keys.len() == acts.len(), "no request: {acts:#?}");
        let reasons: Vec<Reason> = acts.iter().map(|act| self.reason(act)).collect();
        if reasons.iter().any(|reason| reason.code != ReasonCode::None) {
            return Err(reasons);
        }
        let written: Vec<_> = acts.iter().filter_map(|act| Some((of(&act.key), self.written(act)?))).collect();
        Arc::make_mut(&mut self.items).extend(written.into_iter().map(|(key, item)| (key, Arc::new(item))));
        Ok(())
    }

    fn reason(&self, act: &Act) -> Reason {
        let old = self.get(&act.key);
        if act.clauses.iter().all(|clause| clause.condition.holds(old)) {
            return Reason { code: ReasonCode::None, item: None };
        }
        Reason { code: ReasonCode::ConditionalCheckFailed, item: old.cloned() }
    }

    /// The item after an action; `None` if the action writes nothing.
    fn written(&self, act: &Act) -> Option<Item> {
        match &act.rendered.action {
            RenderedAction::ConditionCheck(_) => None,
            RenderedAction::Put(put) => {
                Some(put.iter().map(|(name, value)| (name.clone(), normal(value.clone()))).collect())
            }
            RenderedAction::Update(key, expression) => {
                let old = self.get(&act.key).unwrap_or(key);
                Some(updated(old, expression, &act.rendered))
            }
        }
    }
}

fn of(key: &Key) -> PrimaryKey {
    (key.pk().to_owned(), key.sk().to_owned())
}

/// One step of an update expression, with names resolved to paths, and values.
enum Step<'a> {
    Add(String, &'a Value),
    Set(String, &'a Value),
    SetIfAbsent(String, String, &'a Value),
    SetSum(String, String, &'a Value, &'a Value),
    Remove(String),
}

/// The item after an update. Every right side is evaluated on the old item.
fn updated(old: &Item, expression: &str, rendered: &Rendered) -> Item {
    let mut new = old.clone();
    let mut written = Vec::<String>::new();
    for step in steps(expression, rendered) {
        let (path, value) = match step {
            Step::Add(path, value) => {
                assert!(!path.contains(STEP), "ADD in a map: {expression}");
                let sum = added(old.get(&path), value);
                (path, Some(sum))
            }
            Step::Set(path, value) => (path, Some(normal(value.clone()))),
            Step::SetIfAbsent(path, seen, value) => {
                (path, Some(at(old, &seen).cloned().unwrap_or_else(|| normal(value.clone()))))
            }
            Step::SetSum(path, seen, zero, value) => (path, Some(added(at(old, &seen).or(Some(zero)), value))),
            Step::Remove(path) => (path, None),
        };
        let within = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with(STEP));
        let overlaps = written.iter().any(|other| within(&path, other) || within(other, &path));
        assert!(!overlaps, "two steps write {path}: {expression}");
        assert!(path != attr::PK && path != attr::SK, "a key is written: {expression}");
        put_at(&mut new, &path, value);
        written.push(path);
    }
    new
}

/// Writes a value at a path. Panics if a map on the path is missing: DynamoDB does not create it.
fn put_at(item: &mut Item, path: &str, value: Option<Value>) {
    match (path.split_once(STEP), value) {
        (Some((map, rest)), value) => match item.get_mut(map) {
            Some(Value::M(inner)) => put_at(inner, rest, value),
            other => panic!("no map on the way to {path}: {other:?}"),
        },
        (None, Some(value)) => {
            item.insert(path.to_owned(), value);
        }
        (None, None) => {
            item.remove(path);
        }
    }
}

fn added(old: Option<&Value>, change: &Value) -> Value {
    let number = |value: &Value| match value {
        Value::N(text) => decimal(text),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => panic!("ADD of {value:?}"),
    };
    let sum = old.map_or(Decimal::ZERO, number).checked_add(number(change));
    Value::N(text(sum.unwrap_or_else(|| panic!("{old:?} + {change:?} overflows"))))
}

/// Parses `ADD #a :x, #b :y SET #c = :z, #d.#e = if_not_exists(#d.#e, :w), #f.#g = if_not_exists(#f.#g, :o) + :v REMOVE
/// #h, #i.#j`.
fn steps<'a>(expression: &str, rendered: &'a Rendered) -> Vec<Step<'a>> {
    let signs = ["(", ")", ",", "=", "+"];
    let spaced = signs.iter().fold(expression.to_owned(), |text, sign| text.replace(sign, &format!(" {sign} ")));
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for token in tokens {
        match token {
            "ADD" | "SET" | "REMOVE" => sections.push((token, Vec::new())),
            other => sections.last_mut().unwrap_or_else(|| panic!("no verb in {expression}")).1.push(other),
        }
    }
    let path = |token: &str| {
        let steps = token.split('.').map(|token| named(&rendered.names, token, expression).as_str());
        steps.collect::<Vec<_>>().join(&STEP.to_string())
    };
    let value = |token: &str| named(&rendered.values, token, expression);
    let mut steps = Vec::new();
    for (verb, tokens) in &sections {
        assert_eq!(sections.iter().filter(|(other, _)| other == verb).count(), 1, "{verb} twice in {expression}");
        let mut rest = tokens.as_slice();
        while !rest.is_empty() {
            let (step, taken) = match (*verb, rest) {
                ("ADD", [a, v, ..]) => (Step::Add(path(a), value(v)), 2),
                ("SET", [a, "=", "if_not_exists", "(", seen, ",", zero, ")", "+", v, ..]) => {
                    (Step::SetSum(path(a), path(seen), value(zero), value(v)), 10)
                }
                ("SET", [a, "=", "if_not_exists", "(", seen, ",", v, ")", ..]) => {
                    (Step::SetIfAbsent(path(a), path(seen), value(v)), 8)
                }
                ("SET", [a, "=", v, ..]) => (Step::Set(path(a), value(v)), 3),
                ("REMOVE", [a, ..]) => (Step::Remove(path(a)), 1),
                _ => panic!("unsupported: {rest:?} in {expression}"),
            };
            steps.push(step);
            rest = match &rest[taken..] {
                [",", more @ ..] if !more.is_empty() => more,
                [] => &[],
                other => panic!("unsupported: {other:?} in {expression}"),
            };
        }
    }
    assert!(!steps.is_empty(), "an update without a step: {expression:?}");
    steps
}

fn named<'a, T>(map: &'a BTreeMap<String, T>, token: &str, expression: &str) -> &'a T {
    map.get(token).unwrap_or_else(|| panic!("{token} is not defined in {expression}"))
}

/// DynamoDB rejects a request that defines a name or a value without using it.
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

/// A value as stored: numbers at any depth without leading and trailing zeros.
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
