//! Where the bank's files are put: once under a name. Sending the same file twice is paying twice, so what
//! stands is never written over.

use futures::future::BoxFuture;
use ledger_core::bank::BankFile;

/// A place for files.
pub trait PayoutFiles: Send + Sync {
    /// Puts a file into a folder, unless one stands there under its name.
    fn put<'a>(&'a self, folder: &'a str, file: &'a BankFile) -> BoxFuture<'a, Stored>;
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is there now.
    New,
    /// It was there.
    Same,
    /// Another one is there under its name.
    Other,
    /// It may or may not be there.
    Unknown(&'static str),
}
