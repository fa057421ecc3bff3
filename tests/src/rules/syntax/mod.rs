//! DynamoDB's expressions as trees: conditions and filters, updates, projections.

mod condition;
mod path;
mod token;
mod update;

pub use condition::{Comparator, Condition, condition};
pub use path::{Element, Operand, Path, projection};
pub use token::{Cursor, Token, tokens};
pub use update::{Term, Update, update};

use super::{Refusal, Rule};

/// What an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of a write.
    Condition,
    /// Of a query.
    KeyCondition,
    /// Of a query or scan.
    Filter,
    /// Of a read.
    Projection,
    /// Of an update.
    Update,
}

impl Kind {
    /// The parameter that it is given in.
    #[must_use]
    pub fn parameter(self) -> &'static str {
        match self {
            Self::Condition => "ConditionExpression",
            Self::KeyCondition => "KeyConditionExpression",
            Self::Filter => "FilterExpression",
            Self::Projection => "ProjectionExpression",
            Self::Update => "UpdateExpression",
        }
    }
}

/// Why an expression is refused, whatever its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    rule: Rule,
    varying: Vec<String>,
}

impl Fault {
    /// A fault with what varies in its message, without the expression's kind.
    #[must_use]
    pub fn new(rule: Rule, varying: &[&str]) -> Self {
        Self { rule, varying: varying.iter().map(|&text| text.to_owned()).collect() }
    }

    /// The refusal of an expression of this kind.
    #[must_use]
    pub fn of(self, kind: Kind) -> Refusal {
        let varying = self.varying.iter().map(String::as_str);
        match self.rule {
            // Only updates have sections.
            Rule::SectionTwice | Rule::UpdateFunction => self.rule.refusal(&varying.collect::<Vec<_>>()),
            rule => rule.refusal(&std::iter::once(kind.parameter()).chain(varying).collect::<Vec<_>>()),
        }
    }
}
