//! Conditions as data: rendered for DynamoDB, and evaluated on an `ALL_OLD` item to find the part that failed.

use super::{Item, Part, Value};
use crate::money::stored_decimal;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A named value in an expression: `:name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: Value,
}

impl Operand {
    /// A value under its placeholder's name, without the colon.
    pub fn new(name: impl Into<Cow<'static, str>>, value: Value) -> Self {
        Self { name: name.into(), value }
    }

    /// The part of an expression that names it.
    pub(super) fn part(&self) -> Part<'_> {
        Part::Value(&self.name, Cow::Borrowed(&self.value))
    }

    pub(super) fn prefixed(&self, prefix: &str) -> Self {
        Self { name: Cow::Owned(format!("{prefix}_{}", self.name)), value: self.value.clone() }
    }
}

/// A comparison of two values. There is no "not equal": in DynamoDB it is true for a missing attribute, which no guard
/// here intends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cmp {
    /// `=`
    Eq,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A condition on one item. A comparison with a missing attribute is false, as in DynamoDB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `attribute_exists(#a)`
    Exists(Cow<'static, str>),
    /// `attribute_not_exists(#a)`
    Absent(Cow<'static, str>),
    /// `attribute_type(#a, NULL)`
    Null(Cow<'static, str>),
    /// `#a <cmp> :v`
    Compare(Cow<'static, str>, Cmp, Operand),
    /// `NOT #a = :v`, true for a missing attribute.
    IsNot(Cow<'static, str>, Operand),
    /// At least one of the two holds.
    Either(Box<Condition>, Box<Condition>),
}

impl Condition {
    /// The attribute exists.
    pub fn exists(attribute: impl Into<Cow<'static, str>>) -> Self {
        Self::Exists(attribute.into())
    }

    /// The attribute does not exist.
    pub fn absent(attribute: impl Into<Cow<'static, str>>) -> Self {
        Self::Absent(attribute.into())
    }

    /// The attribute has DynamoDB's `NULL` type, which differs from being absent.
    pub fn null(attribute: impl Into<Cow<'static, str>>) -> Self {
        Self::Null(attribute.into())
    }

    /// `attribute <cmp> :name`
    pub fn compare(
        attribute: impl Into<Cow<'static, str>>,
        cmp: Cmp,
        name: impl Into<Cow<'static, str>>,
        value: Value,
    ) -> Self {
        Self::Compare(attribute.into(), cmp, Operand::new(name, value))
    }

    /// The attribute differs from the value, or does not exist.
    pub fn is_not(attribute: impl Into<Cow<'static, str>>, name: impl Into<Cow<'static, str>>, value: Value) -> Self {
        Self::IsNot(attribute.into(), Operand::new(name, value))
    }

    /// At least one of the two holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::Either(Box::new(self), Box::new(other))
    }

    /// The number in `attribute >= :number`; `None` of any other condition.
    #[must_use]
    pub fn at_least(&self, attribute: &str) -> Option<&str> {
        match self {
            Self::Compare(compared, Cmp::Ge, Operand { value: Value::N(number), .. }) if compared == attribute => {
                Some(number)
            }
            Self::Compare(..)
            | Self::Exists(_)
            | Self::Absent(_)
            | Self::Null(_)
            | Self::IsNot(..)
            | Self::Either(..) => None,
        }
    }

    /// The attribute that it names, or the first of two.
    pub(crate) fn attribute(&self) -> &str {
        match self {
            Self::Exists(attribute)
            | Self::Absent(attribute)
            | Self::Null(attribute)
            | Self::Compare(attribute, ..)
            | Self::IsNot(attribute, _) => attribute,
            Self::Either(first, _) => first.attribute(),
        }
    }

    /// This condition with other attribute names and with prefixed placeholders; `Err` names an attribute for which
    /// `name` has no name.
    pub(crate) fn renamed(&self, name: &impl Fn(&str) -> Option<String>, prefix: &str) -> Result<Self, String> {
        let to = |attribute: &Cow<'static, str>| name(attribute).map(Cow::Owned).ok_or_else(|| attribute.to_string());
        Ok(match self {
            Self::Exists(attribute) => Self::Exists(to(attribute)?),
            Self::Absent(attribute) => Self::Absent(to(attribute)?),
            Self::Null(attribute) => Self::Null(to(attribute)?),
            Self::Compare(attribute, cmp, operand) => Self::Compare(to(attribute)?, *cmp, operand.prefixed(prefix)),
            Self::IsNot(attribute, operand) => Self::IsNot(to(attribute)?, operand.prefixed(prefix)),
            Self::Either(a, b) => Self::Either(Box::new(a.renamed(name, prefix)?), Box::new(b.renamed(name, prefix)?)),
        })
    }

    /// Passes the parts of its expression to `part`, in order.
    pub(crate) fn parts<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
        match self {
            Self::Exists(attribute) => {
                part(Part::Text("attribute_exists("));
                part(Part::Name(attribute));
                part(Part::Text(")"));
            }
            Self::Absent(attribute) => {
                part(Part::Text("attribute_not_exists("));
                part(Part::Name(attribute));
                part(Part::Text(")"));
            }
            Self::Null(attribute) => {
                part(Part::Text("attribute_type("));
                part(Part::Name(attribute));
                part(Part::Text(", "));
                part(Part::Value("null", Cow::Owned(Value::s("NULL"))));
                part(Part::Text(")"));
            }
            Self::Compare(attribute, cmp, operand) => {
                part(Part::Name(attribute));
                part(Part::Text(match cmp {
                    Cmp::Eq => " = ",
                    Cmp::Lt => " < ",
                    Cmp::Le => " <= ",
                    Cmp::Gt => " > ",
                    Cmp::Ge => " >= ",
                }));
                part(operand.part());
            }
            Self::IsNot(attribute, operand) => {
                part(Part::Text("(NOT "));
                part(Part::Name(attribute));
                part(Part::Text(" = "));
                part(operand.part());
                part(Part::Text(")"));
            }
            Self::Either(a, b) => {
                part(Part::Text("("));
                a.parts(part);
                part(Part::Text(" OR "));
                b.parts(part);
                part(Part::Text(")"));
            }
        }
    }

    /// Evaluates this condition on `item` as DynamoDB would (`None`: the item does not exist).
    #[must_use]
    pub fn holds(&self, item: Option<&Item>) -> bool {
        let at = |path: &str| item.and_then(|item| super::at(item, path));
        match self {
            Self::Exists(attribute) => at(attribute).is_some(),
            Self::Absent(attribute) => at(attribute).is_none(),
            // A null cannot be read, so it is absent from `item`.
            Self::Null(_) => false,
            Self::Compare(attribute, cmp, operand) => at(attribute).is_some_and(|stored| {
                let order = || ordering(stored, &operand.value);
                match cmp {
                    Cmp::Eq => same(stored, &operand.value),
                    Cmp::Lt => order().is_some_and(Ordering::is_lt),
                    Cmp::Le => order().is_some_and(Ordering::is_le),
                    Cmp::Gt => order().is_some_and(Ordering::is_gt),
                    Cmp::Ge => order().is_some_and(Ordering::is_ge),
                }
            }),
            Self::IsNot(attribute, operand) => !at(attribute).is_some_and(|stored| same(stored, &operand.value)),
            Self::Either(a, b) => a.holds(item) || b.holds(item),
        }
    }
}

/// The order of two values. Strings, numbers and bytes have one; other types and mixed ones have none.
fn ordering(stored: &Value, given: &Value) -> Option<Ordering> {
    if let (Value::S(a), Value::S(b)) = (stored, given) {
        return Some(a.as_bytes().cmp(b.as_bytes()));
    }
    if let (Value::B(a), Value::B(b)) = (stored, given) {
        return Some(a.cmp(b));
    }
    if let (Value::N(a), Value::N(b)) = (stored, given) {
        return Some(stored_decimal(a).ok()?.cmp(&stored_decimal(b).ok()?));
    }
    None
}

/// Equality as in DynamoDB: numbers compare by value, also within lists and maps.
fn same(stored: &Value, given: &Value) -> bool {
    match (stored, given) {
        (Value::L(a), Value::L(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::M(a), Value::M(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (
            Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::L(_) | Value::M(_),
            Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::L(_) | Value::M(_),
        ) => ordering(stored, given).is_some_and(Ordering::is_eq),
    }
}
