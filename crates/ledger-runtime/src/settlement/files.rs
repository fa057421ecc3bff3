//! The store of the bank's files.
//!
//! INVARIANT: a stored file is never overwritten, because sending a second file would pay twice.

use futures::future::BoxFuture;
use ledger_core::bank::BankFile;
use ledger_core::ids::Tenant;

/// A store of payout files.
pub trait PayoutFiles: Send + Sync {
    /// Stores a file in the tenant's folder, unless one of its name exists there.
    fn put<'a>(&'a self, tenant: &'a Tenant, file: &'a BankFile) -> BoxFuture<'a, Stored>;
}

/// The outcome of storing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The file is stored.
    New,
    /// The same file was already stored.
    Same,
    /// Another file of its name was already stored.
    Other,
    /// The outcome is unknown; holds an error code.
    Unknown(&'static str),
}
