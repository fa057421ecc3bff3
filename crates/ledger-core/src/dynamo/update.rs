//! Update expressions as data.

use super::{Operand, Part, STEP, Value};
use std::borrow::Cow;

/// The `ADD`, `SET` and `REMOVE` clauses of one update, rendered in that order.
///
/// The name of an attribute may be a path into a map, with [`STEP`](super::STEP) between its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    add: Vec<(Cow<'static, str>, Operand)>,
    set: Vec<(Cow<'static, str>, Operand)>,
    set_if_absent: Vec<(Cow<'static, str>, Operand)>,
    remove: Vec<Cow<'static, str>>,
}

/// The placeholder of the initial value of a number in a map.
const ZERO: &str = "zero";

impl Update {
    /// An update without clauses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `ADD #attribute :name`.
    ///
    /// In a map, where DynamoDB has no `ADD`: `SET #map.#attribute = if_not_exists(#map.#attribute, :zero) + :name`.
    #[must_use]
    pub fn add(
        mut self,
        attribute: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        value: Value,
    ) -> Self {
        self.add.push((attribute.into(), Operand::new(name, value)));
        self
    }

    /// `SET #attribute = :name`
    #[must_use]
    pub fn set(
        mut self,
        attribute: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        value: Value,
    ) -> Self {
        self.set.push((attribute.into(), Operand::new(name, value)));
        self
    }

    /// `SET #attribute = if_not_exists(#attribute, :name)`: keeps an existing value.
    #[must_use]
    pub fn set_if_absent(
        mut self,
        attribute: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        value: Value,
    ) -> Self {
        self.set_if_absent.push((attribute.into(), Operand::new(name, value)));
        self
    }

    /// `REMOVE #attribute`
    #[must_use]
    pub fn remove(mut self, attribute: impl Into<Cow<'static, str>>) -> Self {
        self.remove.push(attribute.into());
        self
    }

    /// The names of the attributes that it writes.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &str> {
        let written = self.add.iter().chain(&self.set).chain(&self.set_if_absent).map(|(name, _)| name);
        written.chain(&self.remove).map(AsRef::as_ref)
    }

    /// This update without its clauses on some attributes.
    pub(crate) fn without(mut self, is_left_out: impl Fn(&str) -> bool) -> Self {
        for changes in [&mut self.add, &mut self.set, &mut self.set_if_absent] {
            changes.retain(|(name, _)| !is_left_out(name));
        }
        self.remove.retain(|name| !is_left_out(name));
        self
    }

    /// The value that it sets an attribute to.
    pub(crate) fn set_to(&self, attribute: &str) -> Option<&Value> {
        self.set.iter().find(|(name, _)| name == attribute).map(|(_, operand)| &operand.value)
    }

    /// The value that it adds to an attribute, and whether it writes the attribute in another way too.
    pub(crate) fn added(&self, attribute: &str) -> (Option<&Value>, bool) {
        let added = self.add.iter().find(|(name, _)| name == attribute).map(|(_, operand)| &operand.value);
        let otherwise = self.set.iter().chain(&self.set_if_absent).map(|(name, _)| name).chain(&self.remove);
        (added, otherwise.into_iter().any(|name| name == attribute))
    }

    /// Whether it changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.attributes().next().is_none()
    }

    /// This update with other attribute names and with prefixed placeholders; `Err` names an attribute for which `name`
    /// has no name.
    pub(crate) fn renamed(&self, name: impl Fn(&str) -> Option<String>, prefix: &str) -> Result<Self, String> {
        let to = |attribute: &Cow<'static, str>| name(attribute).map(Cow::Owned).ok_or_else(|| attribute.to_string());
        let all = |changes: &[(Cow<'static, str>, Operand)]| {
            let renamed = changes.iter().map(|(attribute, operand)| Ok((to(attribute)?, operand.prefixed(prefix))));
            renamed.collect::<Result<Vec<_>, String>>()
        };
        Ok(Self {
            add: all(&self.add)?,
            set: all(&self.set)?,
            set_if_absent: all(&self.set_if_absent)?,
            remove: self.remove.iter().map(to).collect::<Result<_, _>>()?,
        })
    }

    /// Merges two updates. Equal assignments become one; `None` if they write one attribute differently.
    pub(crate) fn and(mut self, other: Self) -> Option<Self> {
        let same = |ours: &[(Cow<'static, str>, Operand)], (attribute, operand): &(Cow<'static, str>, Operand)| {
            ours.iter().any(|(name, value)| name == attribute && value.value == operand.value)
        };
        let mut wanted = other;
        wanted.set.retain(|change| !same(&self.set, change));
        wanted.set_if_absent.retain(|change| !same(&self.set_if_absent, change));
        wanted.remove.retain(|attribute| !self.remove.contains(attribute));
        if wanted.attributes().any(|attribute| self.attributes().any(|ours| ours == attribute)) {
            return None;
        }
        self.add.append(&mut wanted.add);
        self.set.append(&mut wanted.set);
        self.set_if_absent.append(&mut wanted.set_if_absent);
        self.remove.append(&mut wanted.remove);
        Some(self)
    }

    /// Passes the parts of its expression to `part`, in order.
    pub(crate) fn parts<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
        self.parts_setting(&[], part);
    }

    /// The same with more attributes to be set.
    pub(crate) fn parts_setting<'a>(&'a self, more: &'a [(&'static str, Value)], part: &mut impl FnMut(Part<'a>)) {
        let mut clause = Clause { verb: "", last: "", part };
        for (attribute, operand) in self.add.iter().filter(|(attribute, _)| !attribute.contains(STEP)) {
            clause.change("ADD ", attribute);
            (clause.part)(Part::Text(" "));
            (clause.part)(operand.part());
        }
        for (attribute, value) in more {
            clause.change("SET ", attribute);
            (clause.part)(Part::Text(" = "));
            (clause.part)(Part::Value(attribute, Cow::Borrowed(value)));
        }
        for (attribute, operand) in &self.set {
            clause.change("SET ", attribute);
            (clause.part)(Part::Text(" = "));
            (clause.part)(operand.part());
        }
        for (attribute, operand) in &self.set_if_absent {
            clause.change("SET ", attribute);
            clause.or_else(attribute, operand.part());
        }
        for (attribute, operand) in self.add.iter().filter(|(attribute, _)| attribute.contains(STEP)) {
            clause.change("SET ", attribute);
            clause.or_else(attribute, Part::Value(ZERO, Cow::Owned(Value::int(0))));
            (clause.part)(Part::Text(" + "));
            (clause.part)(operand.part());
        }
        for attribute in &self.remove {
            clause.change("REMOVE ", attribute);
        }
    }
}

/// The clause of an update expression that is being written.
struct Clause<'p, P> {
    verb: &'static str,
    last: &'static str,
    part: &'p mut P,
}

impl<'a, P: FnMut(Part<'a>)> Clause<'_, P> {
    /// Begins the change of an attribute, in the clause of `verb`.
    fn change(&mut self, verb: &'static str, attribute: &'a str) {
        let continued = self.verb == verb;
        (self.part)(Part::Text(if continued { ", " } else { self.last }));
        if !continued {
            (self.part)(Part::Text(verb));
            (self.verb, self.last) = (verb, " ");
        }
        (self.part)(Part::Name(attribute));
    }

    /// ` = if_not_exists(#attribute, :value)`
    fn or_else(&mut self, attribute: &'a str, value: Part<'a>) {
        (self.part)(Part::Text(" = if_not_exists("));
        (self.part)(Part::Name(attribute));
        (self.part)(Part::Text(", "));
        (self.part)(value);
        (self.part)(Part::Text(")"));
    }
}
