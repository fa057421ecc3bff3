//! Checks a query's condition on the keys of the table or an index.

use super::keys;
use super::placeholders::Placeholders;
use super::schema::KeyNames;
use super::syntax::{Comparator, Condition, Element, Fault, Kind, Operand, Path};
use super::values;
use super::{Refusal, Rule};
use serde_json::Value as Json;

/// A query's condition on its keys.
#[derive(Debug)]
pub(super) struct KeyCondition<'a> {
    /// The partition key.
    pub(super) partition: &'a Json,
    /// The clause on the sort key.
    pub(super) sort: Option<Clause<'a>>,
}

/// A condition on one key attribute.
#[derive(Debug)]
pub(super) enum Clause<'a> {
    /// A comparison with a value.
    Compare(Comparator, &'a Json),
    /// A range that includes both bounds.
    Between(&'a Json, &'a Json),
    /// A prefix.
    Prefix(&'a Json),
}

impl<'a> Clause<'a> {
    fn values(&self) -> Vec<&'a Json> {
        match self {
            Self::Compare(_, value) | Self::Prefix(value) => vec![value],
            Self::Between(low, high) => vec![low, high],
        }
    }

    /// Whether a sort key satisfies the clause.
    #[must_use]
    pub(super) fn holds(&self, key: &Json) -> bool {
        let (above, below) = (|value| values::is_greater(key, value), |value| values::is_greater(value, key));
        match self {
            Self::Compare(comparator, value) => match comparator {
                Comparator::Equal => key == *value,
                Comparator::Unequal => key != *value,
                Comparator::Less => below(value),
                Comparator::LessOrEqual => !above(value),
                Comparator::Greater => above(value),
                Comparator::GreaterOrEqual => !below(value),
            },
            Self::Between(low, high) => !below(low) && !above(high),
            Self::Prefix(prefix) => {
                let text = |value: &Json| {
                    values::parts(value).map_or(String::new(), |(_, inner)| values::text(inner).to_owned())
                };
                text(key).starts_with(&text(prefix))
            }
        }
    }
}

/// Checks a key condition against the queried keys; returns its clauses.
///
/// # Errors
/// The first refusal.
pub(super) fn check<'a>(
    condition: &Condition,
    names: KeyNames,
    placeholders: &mut Placeholders<'a>,
) -> Result<KeyCondition<'a>, Refusal> {
    let mut parts = Vec::new();
    conjuncts(condition, &mut parts)?;
    let mut clauses: Vec<(String, Clause<'a>)> = Vec::new();
    for part in parts {
        let (attribute, clause) = clause(part, placeholders)?;
        if clauses.iter().any(|(other, _)| *other == attribute) {
            return Err(Rule::KeyConditionTwice.refusal(&[]));
        }
        clauses.push((attribute, clause));
    }
    if clauses.len() > 2 {
        return Err(Rule::KeyConditionCount.refusal(&[&clauses.len().to_string(), "2"]));
    }
    for (attribute, clause) in &clauses {
        for value in clause.values().into_iter().filter(|_| names.both().contains(&attribute.as_str())) {
            check_value(names, attribute, value)?;
        }
    }
    let mut take = |name: &str| {
        let at = clauses.iter().position(|(attribute, _)| attribute == name)?;
        Some(clauses.swap_remove(at).1)
    };
    let partition = match take(names.partition) {
        Some(Clause::Compare(Comparator::Equal, value)) => value,
        Some(Clause::Compare(..) | Clause::Between(..) | Clause::Prefix(_)) => {
            return Err(Rule::KeyConditionEquality.refusal(&[]));
        }
        None => return Err(Rule::KeyConditionPartition.refusal(&[names.partition])),
    };
    let sort = take(names.sort);
    if clauses.is_empty() {
        Ok(KeyCondition { partition, sort })
    } else {
        Err(Rule::KeyConditionForeign.refusal(&[names.sort]))
    }
}

/// The parts joined by `AND`, the only operator allowed between conditions on keys.
fn conjuncts<'c>(condition: &'c Condition, parts: &mut Vec<&'c Condition>) -> Result<(), Refusal> {
    let operator = |sign: &str| Err(Rule::KeyConditionOperator.refusal(&[sign]));
    match condition {
        Condition::And(left, right) => {
            conjuncts(left, parts)?;
            conjuncts(right, parts)
        }
        Condition::Group(inner) => conjuncts(inner, parts),
        Condition::Or(..) => operator("OR"),
        Condition::Not(_) => operator("NOT"),
        Condition::In(..) => operator("IN"),
        Condition::Compare(Comparator::Unequal, ..) => operator("<>"),
        Condition::Function(name, _) if name != "begins_with" => Err(Rule::KeyConditionFunction.refusal(&[name])),
        Condition::Compare(..) | Condition::Between(..) | Condition::Function(..) => {
            parts.push(condition);
            Ok(())
        }
    }
}

fn clause<'a>(part: &Condition, placeholders: &mut Placeholders<'a>) -> Result<(String, Clause<'a>), Refusal> {
    let fault = |fault: Fault| fault.of(Kind::KeyCondition);
    let operands = part.operands();
    if operands.iter().any(|operand| matches!(operand, Operand::Size(_))) {
        return Err(Rule::KeyConditionFunction.refusal(&["size"]));
    }
    let path = operands.iter().find_map(|operand| match operand {
        Operand::Path(path) => Some(path),
        Operand::Value(_) | Operand::Size(_) => None,
    });
    let values: Vec<&String> = operands
        .iter()
        .filter_map(|operand| match operand {
            Operand::Value(value) => Some(value),
            Operand::Path(_) | Operand::Size(_) => None,
        })
        .collect();
    let (Some(path), true) = (path, values.len() + 1 == operands.len()) else {
        return Err(Rule::KeyConditionOperands.refusal(&[]));
    };
    let attribute = attribute(path, placeholders)?;
    let values: Vec<&'a Json> =
        values.into_iter().map(|value| placeholders.value(value)).collect::<Result<_, _>>().map_err(fault)?;
    let clause = match (part, values.as_slice()) {
        (Condition::Compare(comparator, Operand::Value(_), _), [value]) => {
            Clause::Compare(comparator.mirrored(), value)
        }
        (Condition::Compare(comparator, ..), [value]) => Clause::Compare(*comparator, value),
        (Condition::Between(Operand::Path(_), ..), [low, high]) => Clause::Between(low, high),
        (Condition::Function(_, operands), [prefix]) if matches!(operands.first(), Some(Operand::Path(_))) => {
            Clause::Prefix(prefix)
        }
        _ => return Err(Rule::KeyConditionOperands.refusal(&[])),
    };
    Ok((attribute, clause))
}

fn attribute(path: &Path, placeholders: &mut Placeholders<'_>) -> Result<String, Refusal> {
    match placeholders.resolve(path).map_err(|fault| fault.of(Kind::KeyCondition))?.as_slice() {
        [Element::Name(name)] => Ok(name.clone()),
        _ => Err(Rule::KeyConditionNested.refusal(&[])),
    }
}

fn check_value(names: KeyNames, attribute: &str, value: &Json) -> Result<(), Refusal> {
    if values::kind(value) != "S" {
        return Err(Rule::KeyConditionType.refusal(&[]));
    }
    if keys::is_empty(value) {
        return Err(Rule::KeyConditionEmpty.refusal(&[attribute]));
    }
    match keys::too_long(names, attribute, value) {
        Some(refusal) => Err(Rule::KeyConditionTooLong.refusal(&[keys::tail(&refusal)])),
        None => Ok(()),
    }
}
