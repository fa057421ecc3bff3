//! Checks updates: the paths that they write, and the values.

use super::conditions::OPERATORS_MAX;
use super::keys::{self, ITEM_BYTES_MAX};
use super::placeholders::{Placeholders, shown};
use super::schema::{self, TABLE};
use super::syntax::{Element, Fault, Kind, Path, Term, Update};
use super::values::{self, ItemJson};
use super::{Refusal, Rule};
use serde_json::Value as Json;

/// Checks an update of the item with this key, and records the placeholders that it uses.
///
/// # Errors
/// The first refusal.
pub(super) fn check(update: &Update, key: &ItemJson, placeholders: &mut Placeholders<'_>) -> Result<(), Refusal> {
    let fault = |fault: Fault| fault.of(Kind::Update);
    let operators = update.operators();
    if operators > OPERATORS_MAX {
        return Err(fault(Fault::new(Rule::TooManyOperators, &[&operators.to_string()])));
    }
    for (_, term) in &update.set {
        check_term(term, placeholders).map_err(fault)?;
    }
    check_operands(Rule::AddOperand, &["N", "SS", "NS", "BS"], &update.add, placeholders)?;
    check_operands(Rule::DeleteOperand, &["SS", "NS", "BS"], &update.delete, placeholders)?;
    check_targets(update, placeholders)?;
    check_written(update, key, placeholders)
}

fn check_operands(
    rule: Rule,
    allowed: &[&str],
    actions: &[(Path, String)],
    placeholders: &mut Placeholders<'_>,
) -> Result<(), Refusal> {
    for (_, name) in actions {
        let kind = values::kind(placeholders.value(name).map_err(|fault| fault.of(Kind::Update))?);
        if !allowed.contains(&kind) {
            let kind = match kind {
                "S" => "STRING",
                "N" => "NUMBER",
                "B" => "Binary",
                "L" => "LIST",
                "M" => "MAP",
                other => other,
            };
            return Err(rule.refusal(&[kind]));
        }
    }
    Ok(())
}

/// Checks that no attribute is written twice, and that no key of the table is written.
fn check_targets(update: &Update, placeholders: &mut Placeholders<'_>) -> Result<(), Refusal> {
    let targets: Vec<Vec<Element>> = update
        .targets()
        .into_iter()
        .map(|path| placeholders.resolve(path))
        .collect::<Result<_, _>>()
        .map_err(|fault| fault.of(Kind::Update))?;
    if let Some((rule, one, two)) = clash(&targets) {
        return Err(rule.refusal(&[&one, &two]));
    }
    for target in &targets {
        if let Some(Element::Name(name)) = target.first()
            && TABLE.both().contains(&name.as_str())
        {
            return Err(Rule::UpdateOfKey.refusal(&[name]));
        }
    }
    Ok(())
}

/// The first two paths that may not be in one expression: one within the other, or one value as both a list and a map.
#[must_use]
pub(super) fn clash(paths: &[Vec<Element>]) -> Option<(Rule, String, String)> {
    let pairs = paths.iter().enumerate().flat_map(|(at, one)| paths[at + 1..].iter().map(move |two| (one, two)));
    for (one, two) in pairs {
        let shared = one.iter().zip(two).take_while(|(one, two)| one == two).count();
        let rule = match (one.get(shared), two.get(shared)) {
            (None, _) | (_, None) => Rule::PathsOverlap,
            (Some(Element::Name(_)), Some(Element::Index(_))) | (Some(Element::Index(_)), Some(Element::Name(_))) => {
                Rule::PathsConflict
            }
            (Some(Element::Name(_)), Some(Element::Name(_))) | (Some(Element::Index(_)), Some(Element::Index(_))) => {
                continue;
            }
        };
        return Some((rule, shown(one), shown(two)));
    }
    None
}

fn check_term(term: &Term, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    match term {
        Term::Path(path) => placeholders.resolve(path).map(drop),
        Term::Value(name) => placeholders.value(name).map(drop),
        Term::IfNotExists(path, otherwise) => {
            placeholders.resolve(path)?;
            check_term(otherwise, placeholders)
        }
        Term::ListAppend(left, right) => check_pair("list_append", "L", [left, right], placeholders),
        Term::Sum(sign, left, right) => check_pair(sign, "N", [left, right], placeholders),
    }
}

fn check_pair(
    operator: &str,
    allowed: &str,
    terms: [&Term; 2],
    placeholders: &mut Placeholders<'_>,
) -> Result<(), Fault> {
    for term in terms {
        check_term(term, placeholders)?;
        if let Term::Value(name) = term {
            let kind = values::kind(placeholders.value(name)?);
            if kind != allowed {
                return Err(Fault::new(Rule::OperandType, &[operator, kind]));
            }
        }
    }
    Ok(())
}

/// Checks the new values of an update, and their size. The item's other attributes are not known here.
fn check_written(update: &Update, key: &ItemJson, placeholders: &mut Placeholders<'_>) -> Result<(), Refusal> {
    let fault = |fault: Fault| fault.of(Kind::Update);
    let mut size = values::item_size(key);
    for (path, term) in &update.set {
        let (target, Term::Value(name)) = (placeholders.resolve(path).map_err(fault)?, term) else { continue };
        let value: &Json = placeholders.value(name).map_err(fault)?;
        let Some(Element::Name(attribute)) = target.first() else { continue };
        size += attribute.len() + values::size(value);
        if let Some((_, names)) = schema::index_of(attribute) {
            keys::check_index_key_update(names, attribute, value)?;
        }
    }
    if size > ITEM_BYTES_MAX { Err(Rule::UpdateTooLarge.refusal(&[])) } else { Ok(()) }
}
