//! Checks conditions and filters: their functions, operands and sizes.

use super::Rule;
use super::placeholders::{Placeholders, shown};
use super::syntax::{Comparator, Condition, Fault, Operand};
use super::values;
use serde_json::Value as Json;

/// The most operators and functions of an expression.
pub(super) const OPERATORS_MAX: usize = 300;
/// The most operands of `IN`.
const IN_OPERANDS_MAX: usize = 100;

const TYPES: [&str; 10] = ["B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"];

/// Checks a condition, and records the placeholders that it uses.
///
/// # Errors
/// The first fault.
pub(super) fn check(condition: &Condition, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    let operators = condition.operators();
    if operators > OPERATORS_MAX {
        return Err(Fault::new(Rule::TooManyOperators, &[&operators.to_string()]));
    }
    condition.visit(&mut |part| check_part(part, placeholders))
}

fn check_part(part: &Condition, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    for operand in part.operands() {
        check_size(operand, placeholders)?;
        placeholders.operand(operand)?;
    }
    match part {
        Condition::Compare(comparator, left, right) => check_comparison(*comparator, left, right, placeholders),
        Condition::Between(operand, low, high) => check_between([operand, low, high], placeholders),
        Condition::In(_, list) if list.len() > IN_OPERANDS_MAX => {
            Err(Fault::new(Rule::InTooManyOperands, &[&list.len().to_string()]))
        }
        Condition::Function(name, operands) => check_function(name, operands, placeholders),
        Condition::In(..) | Condition::And(..) | Condition::Or(..) | Condition::Not(_) | Condition::Group(_) => Ok(()),
    }
}

fn check_comparison(
    comparator: Comparator,
    left: &Operand,
    right: &Operand,
    placeholders: &mut Placeholders<'_>,
) -> Result<(), Fault> {
    check_distinct(comparator.sign(), left, right, placeholders)?;
    for operand in [left, right].into_iter().filter(|_| comparator.orders()) {
        check_type(comparator.sign(), operand, &["S", "N", "B"], placeholders)?;
    }
    Ok(())
}

fn check_between(operands: [&Operand; 3], placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    for operand in operands {
        check_type("BETWEEN", operand, &["S", "N", "B"], placeholders)?;
    }
    let [_, low, high] = operands;
    let (Some(low), Some(high)) = (placeholders.operand(low)?, placeholders.operand(high)?) else { return Ok(()) };
    check_bounds(low, high)
}

/// Checks the bounds of a `BETWEEN`.
///
/// # Errors
/// A fault if they differ in type, or are inverted.
pub(super) fn check_bounds(low: &Json, high: &Json) -> Result<(), Fault> {
    let bounds = [&*values::shown(low), &*values::shown(high)];
    if values::kind(low) != values::kind(high) {
        return Err(Fault::new(Rule::BetweenTypes, &bounds));
    }
    if values::is_greater(low, high) { Err(Fault::new(Rule::BetweenInverted, &bounds)) } else { Ok(()) }
}

fn check_function(name: &str, operands: &[Operand], placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    let [first, others @ ..] = operands else { return Ok(()) };
    let needs_path = name.starts_with("attribute_");
    if needs_path && !matches!(first, Operand::Path(_)) {
        return Err(Fault::new(Rule::OperandNotPath, &[name]));
    }
    for other in others {
        check_distinct(name, first, other, placeholders)?;
    }
    match (name, others) {
        ("attribute_type", [kind]) => check_attribute_type(kind, placeholders),
        ("begins_with", [prefix]) => {
            check_type(name, first, &["S", "B"], placeholders)?;
            check_type(name, prefix, &["S", "B"], placeholders)
        }
        _ => Ok(()),
    }
}

fn check_attribute_type(kind: &Operand, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    let wrong = |kind: &str| Fault::new(Rule::OperandType, &["attribute_type", kind]);
    let value = placeholders.operand(kind)?.ok_or_else(|| wrong("path"))?;
    let (type_of_value, inner) = values::parts(value).map_err(|_| wrong(""))?;
    if type_of_value != "S" {
        return Err(wrong(type_of_value));
    }
    let kind = values::text(inner);
    if TYPES.contains(&kind) { Ok(()) } else { Err(Fault::new(Rule::AttributeTypeUnknown, &[kind])) }
}

/// Checks that the operand of `size` has a size.
fn check_size(operand: &Operand, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    match operand {
        Operand::Size(inner) => {
            check_size(inner, placeholders)?;
            if matches!(**inner, Operand::Size(_)) {
                return Err(Fault::new(Rule::FunctionMisplaced, &["size"]));
            }
            check_type("size", inner, &["S", "B", "SS", "NS", "BS", "L", "M"], placeholders)
        }
        Operand::Path(_) | Operand::Value(_) => Ok(()),
    }
}

fn check_type(
    operator: &str,
    operand: &Operand,
    allowed: &[&str],
    placeholders: &mut Placeholders<'_>,
) -> Result<(), Fault> {
    match (operand, placeholders.operand(operand)?) {
        (Operand::Value(_), Some(value)) if !allowed.contains(&values::kind(value)) => {
            Err(Fault::new(Rule::OperandType, &[operator, values::kind(value)]))
        }
        _ => Ok(()),
    }
}

fn check_distinct(
    operator: &str,
    first: &Operand,
    other: &Operand,
    placeholders: &mut Placeholders<'_>,
) -> Result<(), Fault> {
    let (Operand::Path(first), Operand::Path(other)) = (first, other) else { return Ok(()) };
    let (first, other) = (placeholders.resolve(first)?, placeholders.resolve(other)?);
    if first == other { Err(Fault::new(Rule::OperandsSame, &[operator, &shown(&first)])) } else { Ok(()) }
}
