//! A vector's commands on money that a merchant holds. Payments and terms are read from the state.

use super::command::Money;
use serde::{Deserialize, Serialize};

/// An optional field, `null` in the file if it is `None`.
pub(super) type Maybe<T> = Option<T>;

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum HoldDoes {
    Authorize {
        merchant: String,
        code: String,
        amount: Money,
        points: Maybe<String>,
        regional: Vec<Money>,
        memo: Maybe<String>,
    },
    Capture {
        merchant: String,
        payment: String,
        amount: Maybe<Money>,
    },
    Void {
        payment: String,
        reason: Maybe<String>,
    },
    Expire {
        payment: String,
    },
}
