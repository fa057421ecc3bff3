//! Why a terminal's request or enrolment did not come to an answer.
//! Each says what to do, and none holds a key.

use httpsig::prelude::HttpSigError;
use std::path::PathBuf;

/// Why a terminal's request was not sent, or not answered.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// The credential file is not there or not readable.
    #[error("cannot read the terminal's credential {}: {cause}; make one with `cargo run -- terminal enrol`", path.display())]
    CredentialFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// A file of the terminal cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The base URL and path make no URL.
    #[error("{0} is no URL: a path starts with / and the base is like http://127.0.0.1:3000")]
    Url(String),
    /// The key cannot sign, or the request cannot be signed.
    #[error("cannot sign: {0}")]
    Signing(#[from] HttpSigError),
    /// No key pair could be made.
    #[error("cannot make a key pair: {0}")]
    Key(String),
    /// No answer.
    #[error("no answer from {url}: {cause}; is the stack running there?")]
    NoAnswer {
        /// Where to.
        url: String,
        /// What happened.
        cause: String,
    },
    /// An answer that the client cannot go on with.
    #[error("{what} was answered with {status}: {body}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// The HTTP status.
        status: u16,
        /// The body.
        body: String,
    },
}
