//! Objects by name, as far as the reconciliation of an export needs them: a bucket of S3, or a directory.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

/// An object's bytes, as they come.
pub type Body = BoxStream<'static, Result<Bytes, ObjectError>>;

/// A place for objects.
pub trait Objects: Send + Sync {
    /// Begins to read an object.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Body, ObjectError>>;

    /// Puts an object under a name, over what stands there: the whole of it, or nothing.
    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ObjectError>>;
}

/// Why an object could not be read or put.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// There is none of this name.
    #[error("{0} is not there")]
    Missing(String),
    /// The place refuses, and will do so again.
    #[error("{name}: refused, {why}")]
    Refused {
        /// Which object.
        name: String,
        /// Why.
        why: String,
    },
    /// The place did not answer, or broke off: another try may mend it.
    #[error("{name}: {why}")]
    Unavailable {
        /// Which object.
        name: String,
        /// What went wrong.
        why: String,
    },
}
