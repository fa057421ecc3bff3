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

/// The placeholders of an action's expressions.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) names: BTreeMap<String, String>,
    pub(crate) values: BTreeMap<String, Value>,
}

impl Names {
    /// Writes a part, and keeps what its placeholders mean.
    pub(crate) fn write(&mut self, text: &mut String, part: Part<'_>) {
        match part {
            Part::Text(literal) => text.push_str(literal),
            Part::Name(path) => {
                for (place, step) in path.split(STEP).enumerate() {
                    if place > 0 {
                        text.push('.');
                    }
                    let placeholder = placeholder('#', step);
                    text.push_str(&placeholder);
                    self.names.entry(placeholder).or_insert_with(|| step.to_owned());
                }
            }
            Part::Value(name, value) => {
                let placeholder = placeholder(':', name);
                text.push_str(&placeholder);
                self.values.entry(placeholder).or_insert_with(|| value.into_owned());
            }
        }
    }
}

/// Finds a placeholder with two meanings, without rendering: two attributes, or two values.
#[derive(Default)]
pub(crate) struct Meanings<'a> {
    names: Vec<&'a str>,
    values: Vec<(&'a str, Cow<'a, Value>)>,
    clash: bool,
}

impl<'a> Meanings<'a> {
    /// Adds the placeholders of a part.
    pub(crate) fn add(&mut self, part: Part<'a>) {
        match part {
            Part::Text(_) => {}
            Part::Name(path) => {
                for step in path.split(STEP) {
                    match self.names.iter().find(|name| is_one_placeholder(name, step)) {
                        Some(name) => self.clash |= *name != step,
                        None => self.names.push(step),
                    }
                }
            }
            Part::Value(name, value) => match self.values.iter().find(|(other, _)| is_one_placeholder(other, name)) {
                Some((_, other)) => self.clash |= *other != value,
                None => self.values.push((name, value)),
            },
        }
    }

    /// Whether a placeholder has two meanings.
    pub(crate) fn clash(&self) -> bool {
        self.clash
    }
}

/// The placeholder of a name. Names may contain `-`, which a placeholder may not.
fn placeholder(sign: char, name: &str) -> String {
    let mut text = String::with_capacity(name.len().saturating_add(1));
    text.push(sign);
    text.extend(name.chars().map(allowed));
    text
}

fn is_one_placeholder(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.chars().map(allowed).eq(other.chars().map(allowed))
}

fn allowed(c: char) -> char {
    if c == '-' { '_' } else { c }
}
