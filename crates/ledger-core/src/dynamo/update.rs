//! Update expressions as data.

use super::{Names, Operand, Value};
use std::borrow::Cow;

/// `ADD`, `SET` and `REMOVE` clauses of one update, rendered in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    add: Vec<(Cow<'static, str>, Operand)>,
    set: Vec<(Cow<'static, str>, Operand)>,
    set_if_absent: Vec<(Cow<'static, str>, Operand)>,
    remove: Vec<Cow<'static, str>>,
}

impl Update {
    /// An update that does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `ADD #attribute :name`
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

    /// `SET #attribute = if_not_exists(#attribute, :name)`: protects what stands.
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

    /// Every attribute that it writes.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &str> {
        let written = self.add.iter().chain(&self.set).chain(&self.set_if_absent).map(|(name, _)| name);
        written.chain(&self.remove).map(AsRef::as_ref)
    }

    /// What it sets an attribute to.
    pub(crate) fn set_to(&self, attribute: &str) -> Option<&Value> {
        self.set.iter().find(|(name, _)| name == attribute).map(|(_, operand)| &operand.value)
    }

    /// What it adds to an attribute, and whether it writes it in any other way.
    pub(crate) fn added(&self, attribute: &str) -> (Option<&Value>, bool) {
        let added = self.add.iter().find(|(name, _)| name == attribute).map(|(_, operand)| &operand.value);
        let otherwise = self.set.iter().chain(&self.set_if_absent).map(|(name, _)| name).chain(&self.remove);
        (added, otherwise.into_iter().any(|name| name == attribute))
    }

    pub(crate) fn render(&self, names: &mut Names) -> String {
        let mut clauses = Vec::new();
        let mut clause = |verb: &str, parts: Vec<String>| {
            if !parts.is_empty() {
                clauses.push(format!("{verb} {}", parts.join(", ")));
            }
        };
        clause("ADD", self.add.iter().map(|(a, v)| format!("{} {}", names.name(a), names.value(v))).collect());
        let set = self.set.iter().map(|(a, v)| format!("{} = {}", names.name(a), names.value(v)));
        let mut set: Vec<String> = set.collect();
        for (attribute, operand) in &self.set_if_absent {
            let name = names.name(attribute);
            set.push(format!("{name} = if_not_exists({name}, {})", names.value(operand)));
        }
        clause("SET", set);
        clause("REMOVE", self.remove.iter().map(|a| names.name(a)).collect());
        clauses.join(" ")
    }
}
