//! Errors of a terminal's requests and enrolments. Each text says what to do, and none contains a key.

use httpsig::prelude::HttpSigError;
use std::path::PathBuf;

/// Why a terminal's request or enrolment failed.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// The credential file is missing or cannot be read.
    #[error("cannot read the terminal's credential {}: {cause}; make one with `cargo run -- terminal enrol`", path.display())]
    CredentialFile {
        /// The file.
        path: PathBuf,
        /// The system's or the parser's error.
        cause: String,
    },
    /// A file of the terminal cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The base URL and the path are not a URL.
    #[error("{0} is not a URL: a path starts with / and the base is like http://127.0.0.1:3000")]
    Url(String),
    /// The key cannot sign, or the request cannot be signed.
    #[error("cannot sign: {0}")]
    Signing(#[from] HttpSigError),
    /// A key pair could not be made.
    #[error("cannot make a key pair: {0}")]
    Key(String),
    /// There was no response.
    #[error("no answer from {url}: {cause}; is the stack running there?")]
    NoAnswer {
        /// The URL.
        url: String,
        /// The error.
        cause: String,
    },
    /// A step was refused, or its response could not be used.
    #[error("{what} was answered with {status}: {body}")]
    Refused {
        /// The step.
        what: &'static str,
        /// The HTTP status.
        status: u16,
        /// The response's body.
        body: String,
    },
}
