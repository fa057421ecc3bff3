//! A vector's change of a customer's migration. The setting, and the customer in both models, are read from the state.

use serde::{Deserialize, Serialize};

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's functions, where they are described")]
pub enum MigrationDoes {
    Adopt {
        customer: String,
    },
    Copy {
        customer: String,
        concern: String,
    },
    Contract {
        customer: String,
    },
    /// Expires every legacy history item in the state.
    ExpireHistory {},
}
