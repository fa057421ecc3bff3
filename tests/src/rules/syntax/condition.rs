//! Parses conditions of writes, filters and keys, which share one grammar.

use super::{Cursor, Fault, Operand, Path, Token};
use crate::rules::Rule;

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `left = right`, or another comparator.
    Compare(Comparator, Operand, Operand),
    /// `operand BETWEEN low AND high`.
    Between(Operand, Operand, Operand),
    /// `operand IN (..)`.
    In(Operand, Vec<Operand>),
    /// A function by name with its arguments.
    Function(String, Vec<Operand>),
    /// `condition AND condition`.
    And(Box<Condition>, Box<Condition>),
    /// `condition OR condition`.
    Or(Box<Condition>, Box<Condition>),
    /// `NOT condition`.
    Not(Box<Condition>),
    /// `(condition)`.
    Group(Box<Condition>),
}

/// A comparator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `=`.
    Equal,
    /// `<>`.
    Unequal,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

const COMPARATORS: [Comparator; 6] = [
    Comparator::Equal,
    Comparator::Unequal,
    Comparator::Less,
    Comparator::LessOrEqual,
    Comparator::Greater,
    Comparator::GreaterOrEqual,
];

/// The functions of conditions, with their number of operands.
const FUNCTIONS: [(&str, usize); 5] =
    [("attribute_exists", 1), ("attribute_not_exists", 1), ("attribute_type", 2), ("begins_with", 2), ("contains", 2)];

/// The functions of updates, which conditions may not use.
const UPDATE_FUNCTIONS: [&str; 2] = ["if_not_exists", "list_append"];

impl Comparator {
    /// The comparator's text.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Unequal => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// The comparator with its sides exchanged.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Equal | Self::Unequal => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// Whether it compares by order.
    #[must_use]
    pub fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::Unequal)
    }
}

/// Parses a condition.
///
/// # Errors
/// A fault of syntax, of a function's name, or of its number of operands.
pub fn condition(text: &str) -> Result<Condition, Fault> {
    let mut cursor = Cursor::over(text)?;
    let condition = or(&mut cursor)?;
    cursor.expect_end()?;
    Ok(condition)
}

fn or(cursor: &mut Cursor) -> Result<Condition, Fault> {
    let mut left = and(cursor)?;
    while cursor.take_word("OR") {
        left = Condition::Or(Box::new(left), Box::new(and(cursor)?));
    }
    Ok(left)
}

fn and(cursor: &mut Cursor) -> Result<Condition, Fault> {
    let mut left = not(cursor)?;
    while cursor.take_word("AND") {
        left = Condition::And(Box::new(left), Box::new(not(cursor)?));
    }
    Ok(left)
}

fn not(cursor: &mut Cursor) -> Result<Condition, Fault> {
    if cursor.take_word("NOT") {
        return Ok(Condition::Not(Box::new(not(cursor)?)));
    }
    if cursor.take_sign("(") {
        let inner = or(cursor)?;
        cursor.expect_sign(")")?;
        return match inner {
            Condition::Group(_) => Err(Fault::new(Rule::RedundantParentheses, &[])),
            inner => Ok(Condition::Group(Box::new(inner))),
        };
    }
    match function_name(cursor) {
        Some(name) if name != "size" => function(cursor, name),
        Some(_) | None => comparison(cursor),
    }
}

/// The function's name, if the next tokens are a call.
fn function_name(cursor: &Cursor) -> Option<String> {
    match (cursor.peek(), cursor.peek_second()) {
        (Some(Token::Word(name)), Some(Token::Sign("("))) => Some(name.clone()),
        _ => None,
    }
}

fn function(cursor: &mut Cursor, name: String) -> Result<Condition, Fault> {
    if UPDATE_FUNCTIONS.contains(&name.as_str()) {
        return Err(Fault::new(Rule::FunctionMisplaced, &[&name]));
    }
    let Some((_, count)) = FUNCTIONS.into_iter().find(|(known, _)| *known == name) else {
        return Err(Fault::new(Rule::FunctionUnknown, &[&name]));
    };
    let _ = cursor.take();
    let operands = list(cursor)?;
    if operands.len() != count {
        return Err(Fault::new(Rule::OperandCount, &[&name, &operands.len().to_string()]));
    }
    Ok(Condition::Function(name, operands))
}

fn comparison(cursor: &mut Cursor) -> Result<Condition, Fault> {
    let left = operand(cursor)?;
    if cursor.take_word("BETWEEN") {
        let low = operand(cursor)?;
        if !cursor.take_word("AND") {
            return Err(cursor.fault());
        }
        return Ok(Condition::Between(left, low, operand(cursor)?));
    }
    if cursor.take_word("IN") {
        return Ok(Condition::In(left, list(cursor)?));
    }
    let Some(comparator) = COMPARATORS.into_iter().find(|comparator| cursor.take_sign(comparator.sign())) else {
        return Err(cursor.fault());
    };
    Ok(Condition::Compare(comparator, left, operand(cursor)?))
}

fn list(cursor: &mut Cursor) -> Result<Vec<Operand>, Fault> {
    cursor.expect_sign("(")?;
    let mut operands = vec![operand(cursor)?];
    while cursor.take_sign(",") {
        operands.push(operand(cursor)?);
    }
    cursor.expect_sign(")")?;
    Ok(operands)
}

fn operand(cursor: &mut Cursor) -> Result<Operand, Fault> {
    if let Some(name) = function_name(cursor) {
        if name != "size" {
            let known = FUNCTIONS.iter().any(|(known, _)| *known == name) || UPDATE_FUNCTIONS.contains(&name.as_str());
            let rule = if known { Rule::FunctionMisplaced } else { Rule::FunctionUnknown };
            return Err(Fault::new(rule, &[&name]));
        }
        let _ = cursor.take();
        let mut operands = list(cursor)?;
        return match (operands.pop(), operands.len()) {
            (Some(operand), 0) => Ok(Operand::Size(Box::new(operand))),
            (_, others) => Err(Fault::new(Rule::OperandCount, &["size", &(others + 1).to_string()])),
        };
    }
    if let Some(Token::Value(value)) = cursor.peek() {
        let value = value.clone();
        let _ = cursor.take();
        return Ok(Operand::Value(value));
    }
    Ok(Operand::Path(Path::parse(cursor)?))
}

impl Condition {
    /// The number of operators and functions.
    #[must_use]
    pub fn operators(&self) -> usize {
        let sizes =
            |operands: &[&Operand]| operands.iter().filter(|operand| matches!(operand, Operand::Size(_))).count();
        match self {
            Self::Compare(_, left, right) => 1 + sizes(&[left, right]),
            Self::Between(operand, low, high) => 1 + sizes(&[operand, low, high]),
            Self::In(operand, list) => 1 + sizes(&[operand]) + sizes(&list.iter().collect::<Vec<_>>()),
            Self::Function(_, operands) => 1 + sizes(&operands.iter().collect::<Vec<_>>()),
            Self::And(left, right) | Self::Or(left, right) => 1 + left.operators() + right.operators(),
            Self::Not(inner) => 1 + inner.operators(),
            Self::Group(inner) => inner.operators(),
        }
    }

    /// Calls `visit` with the condition and each of its parts.
    ///
    /// # Errors
    /// The first error of `visit`.
    pub fn visit<E>(&self, visit: &mut impl FnMut(&Self) -> Result<(), E>) -> Result<(), E> {
        visit(self)?;
        match self {
            Self::Compare(..) | Self::Between(..) | Self::In(..) | Self::Function(..) => Ok(()),
            Self::And(left, right) | Self::Or(left, right) => {
                left.visit(visit)?;
                right.visit(visit)
            }
            Self::Not(inner) | Self::Group(inner) => inner.visit(visit),
        }
    }

    /// The operands of this condition, without those of its parts.
    #[must_use]
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Self::Compare(_, left, right) => vec![left, right],
            Self::Between(operand, low, high) => vec![operand, low, high],
            Self::In(operand, list) => std::iter::once(operand).chain(list).collect(),
            Self::Function(_, operands) => operands.iter().collect(),
            Self::And(..) | Self::Or(..) | Self::Not(_) | Self::Group(_) => Vec::new(),
        }
    }
}
