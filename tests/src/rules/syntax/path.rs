//! Parses document paths, operands and projections.

use super::{Cursor, Fault, Token};
use crate::rules::{Rule, reserved};

/// A document path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub Vec<Element>);

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// An attribute as written, with `#` if it is a placeholder.
    Name(String),
    /// An index of a list.
    Index(String),
}

/// An operand of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value at a path.
    Path(Path),
    /// `:value`.
    Value(String),
    /// `size(..)`.
    Size(Box<Operand>),
}

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// A syntax error, or a reserved word.
    pub fn parse(cursor: &mut Cursor) -> Result<Self, Fault> {
        let mut elements = vec![name(cursor)?];
        loop {
            if cursor.take_sign(".") {
                elements.push(name(cursor)?);
            } else if cursor.take_sign("[") {
                let Some(Token::Number(index)) = cursor.peek() else { return Err(cursor.fault()) };
                elements.push(Element::Index(index.clone()));
                let _ = cursor.take();
                cursor.expect_sign("]")?;
            } else {
                return Ok(Self(elements));
            }
        }
    }
}

/// Parses a projection.
///
/// # Errors
/// A syntax error, or a reserved word.
pub fn projection(text: &str) -> Result<Vec<Path>, Fault> {
    let mut cursor = Cursor::over(text)?;
    let mut paths = vec![Path::parse(&mut cursor)?];
    while cursor.take_sign(",") {
        paths.push(Path::parse(&mut cursor)?);
    }
    cursor.expect_end()?;
    Ok(paths)
}

fn name(cursor: &mut Cursor) -> Result<Element, Fault> {
    match cursor.peek() {
        Some(Token::Word(word)) if reserved::is_reserved(word) => Err(Fault::new(Rule::ReservedWord, &[word])),
        Some(Token::Word(name) | Token::Name(name)) => {
            let name = Element::Name(name.clone());
            let _ = cursor.take();
            Ok(name)
        }
        Some(Token::Value(_) | Token::Number(_) | Token::Sign(_)) | None => Err(cursor.fault()),
    }
}
