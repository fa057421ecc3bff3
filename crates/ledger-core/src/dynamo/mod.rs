//! DynamoDB's values and expressions as plain data, without the AWS SDK.

mod attributes;
mod condition;
mod expression;
mod record;
mod update;
mod value;

pub use attributes::Attributes;
pub use condition::{Cmp, Condition, Operand};
pub(crate) use expression::{Part, Placeholders};
pub(crate) use record::{Stored, record, stored_words};
pub use update::Update;
pub(crate) use value::put_at;
pub use value::{AttributeKind, Item, ItemError, ItemFault, STEP, Value, at};
