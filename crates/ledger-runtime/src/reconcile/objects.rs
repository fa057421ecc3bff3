//! A store of objects by name for the reconciliation of an export: an S3 bucket or a directory.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

/// An object's bytes, in chunks.
pub type Body = BoxStream<'static, Result<Bytes, ObjectError>>;

/// A store of objects.
pub trait Objects: Send + Sync {
    /// Starts to read an object.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Body, ObjectError>>;

    /// Writes an object atomically; an existing object of the name is replaced.
    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ObjectError>>;
}

/// Why an object could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// No object has this name.
    #[error("{0} is not there")]
    Missing(String),
    /// The store refused the request, and will refuse it again.
    #[error("{name}: refused, {why}")]
    Refused {
        /// The object's name.
        name: String,
        /// The reason.
        why: String,
    },
    /// The store did not answer, or the transfer was interrupted: a retry may succeed.
    #[error("{name}: {why}")]
    Unavailable {
        /// The object's name.
        name: String,
        /// What went wrong.
        why: String,
    },
}
