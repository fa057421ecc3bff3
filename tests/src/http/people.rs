//! The callers that tests act as.

use super::Who;
use ledger_local::credential::Credential;
use std::sync::atomic::AtomicU64;

/// A member of the operator's staff.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The staff id.
    pub id: String,
    /// Their credentials.
    pub who: Who,
}

/// A customer.
#[derive(Clone, Debug)]
pub struct Customer {
    /// The customer's id.
    pub id: String,
    /// Their credentials.
    pub who: Who,
}

/// A merchant, with the credentials of one of its staff.
#[derive(Clone, Debug)]
pub struct Merchant {
    /// The merchant's id.
    pub id: String,
    /// The staff member's credentials.
    pub who: Who,
}

/// An enrolled terminal.
#[derive(Debug)]
pub struct Terminal {
    /// The terminal's id.
    pub id: String,
    /// Its credential.
    pub credential: Credential,
    /// Its credential as the caller of a request.
    pub who: Who,
    pub(super) sequence: AtomicU64,
}
