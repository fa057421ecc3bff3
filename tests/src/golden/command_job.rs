//! A vector's step of a bulk grant. The job is read from the state.

use serde::{Deserialize, Serialize};

/// A slice of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobAdvance {
    /// The job's id.
    pub job: String,
    /// The number of customers handled after this slice.
    pub done: String,
    /// The number of customers to whom the grant failed, after this slice.
    pub failed: String,
    /// The customers to whom the grant failed in this slice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedOf>,
    /// The customers to be tried again later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<String>,
}

/// A customer to whom the grant failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedOf {
    /// The customer's id.
    pub customer: String,
    /// The reason.
    pub reason: String,
}
