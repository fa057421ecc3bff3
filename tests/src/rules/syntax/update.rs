//! Parses updates.

use super::{Cursor, Fault, Path, Token};
use crate::rules::Rule;

/// An update expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// `SET path = term`.
    pub set: Vec<(Path, Term)>,
    /// `REMOVE path`.
    pub remove: Vec<Path>,
    /// `ADD path :value`.
    pub add: Vec<(Path, String)>,
    /// `DELETE path :value`.
    pub delete: Vec<(Path, String)>,
}

/// The new value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// The value at a path.
    Path(Path),
    /// `:value`.
    Value(String),
    /// `if_not_exists(path, term)`.
    IfNotExists(Path, Box<Term>),
    /// `list_append(term, term)`.
    ListAppend(Box<Term>, Box<Term>),
    /// `term + term` or `term - term`, by its sign.
    Sum(&'static str, Box<Term>, Box<Term>),
}

const SECTIONS: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];
/// The functions of conditions, which updates may not use.
const CONDITION_FUNCTIONS: [&str; 6] =
    ["attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"];

/// Parses an update.
///
/// # Errors
/// A fault of syntax, of a function's name or number of operands, or a repeated section.
pub fn update(text: &str) -> Result<Update, Fault> {
    let mut cursor = Cursor::over(text)?;
    let (mut update, mut seen) = (Update::default(), Vec::new());
    loop {
        let Some(section) = SECTIONS.into_iter().find(|section| cursor.take_word(section)) else {
            return Err(cursor.fault());
        };
        if seen.contains(&section) {
            return Err(Fault::new(Rule::SectionTwice, &[section]));
        }
        seen.push(section);
        loop {
            let path = Path::parse(&mut cursor)?;
            match section {
                "SET" => {
                    cursor.expect_sign("=")?;
                    update.set.push((path, term(&mut cursor)?));
                }
                "REMOVE" => update.remove.push(path),
                "ADD" => update.add.push((path, value(&mut cursor)?)),
                _ => update.delete.push((path, value(&mut cursor)?)),
            }
            if !cursor.take_sign(",") {
                break;
            }
        }
        if cursor.peek().is_none() {
            return Ok(update);
        }
    }
}

impl Update {
    /// The paths that the update writes.
    #[must_use]
    pub fn targets(&self) -> Vec<&Path> {
        let set = self.set.iter().map(|(path, _)| path);
        let values = self.add.iter().chain(&self.delete).map(|(path, _)| path);
        set.chain(&self.remove).chain(values).collect()
    }

    /// The number of operators and functions.
    #[must_use]
    pub fn operators(&self) -> usize {
        let set: usize = self.set.iter().map(|(_, term)| 1 + term.operators()).sum();
        set + self.remove.len() + self.add.len() + self.delete.len()
    }
}

impl Term {
    fn operators(&self) -> usize {
        match self {
            Self::Path(_) | Self::Value(_) => 0,
            Self::IfNotExists(_, term) => 1 + term.operators(),
            Self::ListAppend(left, right) | Self::Sum(_, left, right) => 1 + left.operators() + right.operators(),
        }
    }
}

fn value(cursor: &mut Cursor) -> Result<String, Fault> {
    match cursor.peek() {
        Some(Token::Value(value)) => {
            let value = value.clone();
            let _ = cursor.take();
            Ok(value)
        }
        Some(Token::Word(_) | Token::Name(_) | Token::Number(_) | Token::Sign(_)) | None => Err(cursor.fault()),
    }
}

/// Parses a term. It has at most one operator: more would need parentheses.
fn term(cursor: &mut Cursor) -> Result<Term, Fault> {
    let left = part(cursor)?;
    match ["+", "-"].into_iter().find(|sign| cursor.take_sign(sign)) {
        Some(sign) => Ok(Term::Sum(sign, Box::new(left), Box::new(part(cursor)?))),
        None => Ok(left),
    }
}

fn part(cursor: &mut Cursor) -> Result<Term, Fault> {
    if cursor.take_sign("(") {
        let inner = term(cursor)?;
        cursor.expect_sign(")")?;
        return Ok(inner);
    }
    match (cursor.peek(), cursor.peek_second()) {
        (Some(Token::Word(name)), Some(Token::Sign("("))) => {
            let name = name.clone();
            let _ = cursor.take();
            function(cursor, &name)
        }
        (Some(Token::Value(_)), _) => Ok(Term::Value(value(cursor)?)),
        _ => Ok(Term::Path(Path::parse(cursor)?)),
    }
}

fn function(cursor: &mut Cursor, name: &str) -> Result<Term, Fault> {
    match name {
        "if_not_exists" | "list_append" => {}
        name if CONDITION_FUNCTIONS.contains(&name) => return Err(Fault::new(Rule::UpdateFunction, &[name])),
        name => return Err(Fault::new(Rule::FunctionUnknown, &[name])),
    }
    cursor.expect_sign("(")?;
    let mut terms = vec![term(cursor)?];
    while cursor.take_sign(",") {
        terms.push(term(cursor)?);
    }
    cursor.expect_sign(")")?;
    let count = terms.len().to_string();
    match (name, <[Term; 2]>::try_from(terms)) {
        ("if_not_exists", Ok([Term::Path(path), or])) => Ok(Term::IfNotExists(path, Box::new(or))),
        ("if_not_exists", Ok(_)) => Err(Fault::new(Rule::OperandNotPath, &[name])),
        (_, Ok([first, second])) => Ok(Term::ListAppend(Box::new(first), Box::new(second))),
        (_, Err(_)) => Err(Fault::new(Rule::OperandCount, &[name, &count])),
    }
}
