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

/// The kind of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The condition of a write.
    Condition,
    /// The key condition of a query.
    KeyCondition,
    /// The filter of a query or scan.
    Filter,
    /// The projection of a read.
    Projection,
    /// The update of an item.
    Update,
}

impl Kind {
    /// The parameter that contains it.
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

/// The reason why an expression of any kind is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    rule: Rule,
    varying: Vec<String>,
}

impl Fault {
    /// A fault, with the variable parts of its message except for the expression's kind.
    #[must_use]
    pub fn new(rule: Rule, varying: &[&str]) -> Self {
        Self { rule, varying: varying.iter().map(|&text| text.to_owned()).collect() }
    }

    /// The refusal of an expression of this kind.
    #[must_use]
    pub fn of(self, kind: Kind) -> Refusal {
        let varying = self.varying.iter().map(String::as_str);
        match self.rule {
            // Their messages have no kind: only updates have sections and these functions.
            Rule::SectionTwice | Rule::UpdateFunction => self.rule.refusal(&varying.collect::<Vec<_>>()),
            rule => rule.refusal(&std::iter::once(kind.parameter()).chain(varying).collect::<Vec<_>>()),
        }
    }
}
