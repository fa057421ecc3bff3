//! Expressions: their parts in order, the text that DynamoDB takes, and the placeholders in it.

use super::{STEP, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A part of an expression.
pub(crate) enum Part<'a> {
    /// Literal text.
    Text(&'static str),
    /// An attribute, or a path into a map.
    Name(&'a str),
    /// A value under its placeholder's name, without the colon.
    Value(&'a str, Cow<'a, Value>),
}

/// The placeholders of an action's expressions, and whether one has two meanings: two attributes, or two values.
#[derive(Default)]
pub(crate) struct Placeholders<'a> {
    names: Vec<&'a str>,
    values: Vec<(&'a str, Cow<'a, Value>)>,
    has_clash: bool,
}

impl<'a> Placeholders<'a> {
    /// Writes a part, and keeps what its placeholders mean.
    pub(crate) fn write(&mut self, text: &mut String, part: Part<'a>) {
        match &part {
            Part::Text(literal) => text.push_str(literal),
            Part::Name(path) => {
                for (place, step) in path.split(STEP).enumerate() {
                    if place > 0 {
                        text.push('.');
                    }
                    Self::push(text, '#', step);
                }
            }
            Part::Value(name, _) => Self::push(text, ':', name),
        }
        self.add(part);
    }

    /// Keeps what the placeholders of a part mean.
    pub(crate) fn add(&mut self, part: Part<'a>) {
        match part {
            Part::Text(_) => {}
            Part::Name(path) => {
                for step in path.split(STEP) {
                    match self.names.iter().find(|name| is_one_placeholder(name, step)) {
                        Some(name) => self.has_clash |= *name != step,
                        None => self.names.push(step),
                    }
                }
            }
            Part::Value(name, value) => match self.values.iter().find(|(other, _)| is_one_placeholder(other, name)) {
                Some((_, other)) => self.has_clash |= *other != value,
                None => self.values.push((name, value)),
            },
        }
    }

    /// Whether a placeholder has two meanings.
    pub(crate) fn has_clash(&self) -> bool {
        self.has_clash
    }

    /// The attributes that have a placeholder.
    pub(crate) fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// The values, by the names of their placeholders.
    pub(crate) fn values(&self) -> &[(&'a str, Cow<'a, Value>)] {
        &self.values
    }

    /// The attribute of each name's placeholder, and the value of each value's.
    pub(crate) fn into_meanings(self) -> (BTreeMap<String, String>, BTreeMap<String, Value>) {
        let placeholder = |sign, name: &str| {
            let mut text = String::with_capacity(name.len().saturating_add(1));
            Self::push(&mut text, sign, name);
            text
        };
        let names = self.names.into_iter().map(|name| (placeholder('#', name), name.to_owned()));
        let values = self.values.into_iter().map(|(name, value)| (placeholder(':', name), value.into_owned()));
        (names.collect(), values.collect())
    }

    /// Writes the placeholder of a name. Names may contain `-`, which a placeholder may not.
    pub(crate) fn push(text: &mut String, sign: char, name: &str) {
        text.push(sign);
        let mut parts = name.split('-');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            text.push('_');
            text.push_str(part);
        }
    }
}

fn is_one_placeholder(one: &str, other: &str) -> bool {
    let allowed = |b: u8| if b == b'-' { b'_' } else { b };
    one.len() == other.len() && one.bytes().map(allowed).eq(other.bytes().map(allowed))
}
