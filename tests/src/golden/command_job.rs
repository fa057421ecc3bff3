//! How a bulk grant goes on, as a vector asks for it. The job is read from the state.

use serde::{Deserialize, Serialize};

/// A slice of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobAdvance {
    /// Which job.
    pub job: String,
    /// How many customers have been dealt with after it.
    pub done: String,
    /// How many of them could not be granted to.
    pub failed: String,
    /// Who could not be granted to in this slice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedOf>,
    /// Who comes again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<String>,
}

/// A customer to whom a job could not grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedOf {
    /// Who.
    pub customer: String,
    /// Why.
    pub reason: String,
}
