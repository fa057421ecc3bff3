//! The store of the files that staff fetch, by links that expire.

use futures::future::BoxFuture;
use std::time::Duration;

/// A file to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The object's name. An object of the name is replaced.
    pub object: String,
    /// The name under which it is saved, of letters, digits, `-` and `.` alone.
    pub name: String,
    /// The media type.
    pub media_type: &'static str,
    /// The content.
    pub bytes: Vec<u8>,
}

/// A store of files: an S3 bucket, or the memory of the local stack.
pub trait FileStore: Send + Sync {
    /// Stores a file. Fails with the code of the error.
    fn put(&self, file: StoredFile) -> BoxFuture<'_, Result<(), String>>;

    /// A link to an object, which needs no token, until `valid` has passed. Fails with the code of the error.
    fn link<'a>(&'a self, object: &'a str, valid: Duration) -> BoxFuture<'a, Result<String, String>>;
}
