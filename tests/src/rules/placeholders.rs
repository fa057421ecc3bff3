//! Checks the placeholders of an action's expressions: each must be defined and used.

use super::syntax::{Element, Fault, Kind, Operand, Path};
use super::values::{self, ItemJson};
use super::{Refusal, Rule};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The most bytes of a placeholder.
const PLACEHOLDER_BYTES_MAX: usize = 255;
/// The most bytes of all names and values together.
const SUBSTITUTIONS_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The most steps of a path.
const PATH_STEPS_MAX: usize = 32;

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

/// An action's placeholders, with those used so far.
#[derive(Debug)]
pub(super) struct Placeholders<'a> {
    names: Option<&'a ItemJson>,
    values: Option<&'a ItemJson>,
    used: BTreeSet<String>,
}

impl<'a> Placeholders<'a> {
    /// Reads the placeholders of an action with expressions of some of these kinds.
    ///
    /// # Errors
    /// A refusal of invalid placeholders.
    pub(super) fn read(action: &'a Json, kinds: &[Kind]) -> Result<Self, Refusal> {
        let (names, values) = (action[NAMES].as_object(), action[VALUES].as_object());
        let given: Vec<Kind> = kinds.iter().copied().filter(|kind| !action[kind.parameter()].is_null()).collect();
        if names.is_some() && given.is_empty() {
            return Err(Rule::NamesWithoutExpression.refusal(&[]));
        }
        // A projection has no values.
        if values.is_some() && given.iter().all(|kind| *kind == Kind::Projection) {
            let with_values = kinds.iter().filter(|kind| **kind != Kind::Projection);
            let parameters: Vec<&str> = with_values.map(|kind| kind.parameter()).collect();
            return Err(Rule::ValuesWithoutExpression.refusal(&[&parameters.join(" and ")]));
        }
        if names.is_some_and(|names| names.is_empty()) {
            return Err(Rule::NamesEmpty.refusal(&[]));
        }
        if values.is_some_and(|values| values.is_empty()) {
            return Err(Rule::ValuesEmpty.refusal(&[]));
        }
        for name in names.into_iter().flat_map(|names| names.keys()) {
            check_placeholder(name, '#', NAMES, Rule::NameSyntax)?;
        }
        for (name, value) in values.into_iter().flatten() {
            check_placeholder(name, ':', VALUES, Rule::ValueSyntax)?;
            values::check(value).map_err(|refusal| Refusal {
                message: format!("{VALUES} contains invalid value: {} for key {name}", refusal.message),
                ..refusal
            })?;
        }
        let names_size =
            names.into_iter().flatten().map(|(placeholder, name)| placeholder.len() + values::text(name).len());
        let values_size = values.into_iter().flatten().map(|(name, value)| name.len() + values::size(value));
        if names_size.chain(values_size).sum::<usize>() > SUBSTITUTIONS_BYTES_MAX {
            let kind = given.first().map_or("", |kind| kind.parameter());
            return Err(Rule::SubstitutionsTooLarge.refusal(&[kind]));
        }
        Ok(Self { names, values, used: BTreeSet::new() })
    }

    /// Replaces a path's placeholders by names.
    ///
    /// # Errors
    /// A fault if a placeholder is not defined, or the path is too long.
    pub(super) fn resolve(&mut self, path: &Path) -> Result<Vec<Element>, Fault> {
        let mut steps = Vec::with_capacity(path.0.len());
        for element in &path.0 {
            steps.push(match element {
                Element::Name(name) if name.starts_with('#') => {
                    let known = self.names.and_then(|names| names.get(name)).and_then(Json::as_str);
                    let known = known.ok_or_else(|| Fault::new(Rule::NameUndefined, &[name]))?;
                    self.used.insert(name.clone());
                    Element::Name(known.to_owned())
                }
                Element::Name(_) | Element::Index(_) => element.clone(),
            });
        }
        if steps.len() > PATH_STEPS_MAX {
            return Err(Fault::new(Rule::PathTooDeep, &[&steps.len().to_string()]));
        }
        Ok(steps)
    }

    /// The value of a placeholder.
    ///
    /// # Errors
    /// A fault if the placeholder is not defined.
    pub(super) fn value(&mut self, name: &str) -> Result<&'a Json, Fault> {
        let known = self.values.and_then(|values| values.get(name));
        let known = known.ok_or_else(|| Fault::new(Rule::ValueUndefined, &[name]))?;
        self.used.insert(name.to_owned());
        Ok(known)
    }

    /// The value of an operand, if it is a placeholder of one. Marks every placeholder in the operand as used.
    ///
    /// # Errors
    /// A fault if a placeholder is not defined.
    pub(super) fn operand(&mut self, operand: &Operand) -> Result<Option<&'a Json>, Fault> {
        match operand {
            Operand::Value(name) => self.value(name).map(Some),
            Operand::Path(path) => self.resolve(path).map(|_| None),
            Operand::Size(inner) => self.operand(inner).map(|_| None),
        }
    }

    /// Checks that the action's expressions used every placeholder. Call it after all of them.
    ///
    /// # Errors
    /// A refusal if a placeholder has not been used.
    pub(super) fn check_all_used(&self) -> Result<(), Refusal> {
        let unused = |given: Option<&ItemJson>| {
            let unused = given.into_iter().flatten().map(|(name, _)| name.as_str());
            unused.filter(|name| !self.used.contains(*name)).collect::<Vec<_>>().join(", ")
        };
        let (names, values) = (unused(self.names), unused(self.values));
        if !names.is_empty() {
            return Err(Rule::NameUnused.refusal(&[&names]));
        }
        if values.is_empty() { Ok(()) } else { Err(Rule::ValueUnused.refusal(&[&values])) }
    }
}

fn check_placeholder(name: &str, first: char, map: &str, syntax: Rule) -> Result<(), Refusal> {
    let rest = name.strip_prefix(first).unwrap_or_default();
    if rest.is_empty() || !rest.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'_') {
        return Err(syntax.refusal(&[name]));
    }
    if name.len() > PLACEHOLDER_BYTES_MAX {
        return Err(Rule::PlaceholderTooLong.refusal(&[map, name]));
    }
    Ok(())
}

/// A path in a message's form, such as `[a, b]`.
#[must_use]
pub(super) fn shown(steps: &[Element]) -> String {
    let step = |element: &Element| match element {
        Element::Name(name) => name.clone(),
        Element::Index(index) => format!("[{index}]"),
    };
    format!("[{}]", steps.iter().map(step).collect::<Vec<_>>().join(", "))
}
