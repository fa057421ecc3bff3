//! The callers that tests act as.

use super::world::Tokens;
use super::{Who, World};
use ledger_local::clock;
use ledger_local::credential::Credential;
use ledger_local::issuer::{Api, Grant, TOKEN_LIFETIME_S};
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

impl World {
    /// A token with these claims, issued to the client of an API by a stack in this process.
    ///
    /// # Panics
    /// When the stack runs in another process.
    #[must_use]
    pub fn issue_to(&self, client: Api, grant: &Grant) -> Who {
        let Tokens::Host(host) = &self.tokens else { panic!("a stack in another process issues no token here") };
        let issuer = host.stack().issuer();
        Who::Bearer(issuer.issue_to(client, grant, clock::epoch_s(), TOKEN_LIFETIME_S).expect("a token"))
    }
}
