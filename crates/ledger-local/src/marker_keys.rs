//! The keys of markers of a local stack: in a file that only its owner may read, or fixed if nothing is on disk.

use crate::private_file;
use ledger_core::idempotency::{MarkerKeys, MarkerKeysError};
use ledger_core::personal::Masked;
use ledger_runtime::entropy::{Entropy, EntropyError};
use std::io;
use std::path::{Path, PathBuf};

/// The file in the state directory.
const FILE: &str = "marker-keys.json";

/// The keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MarkerKeysFileError {
    /// The file cannot be read or written.
    #[error("cannot use {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The file has other content.
    #[error("{}: {cause}; restore the file, without which stored responses cannot be replayed", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: MarkerKeysError,
    },
    /// The system provides no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// The text of the secret, in a file that the arguments of a command name, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MarkerKeysTextError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The file has other content.
    #[error("{}: {cause}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: MarkerKeysError,
    },
}

/// The keys in a file with the text of the secret.
///
/// # Errors
/// [`MarkerKeysTextError`] if the file cannot be used.
pub fn from_file(path: &Path) -> Result<MarkerKeys, MarkerKeysTextError> {
    let text = std::fs::read_to_string(path)
        .map_err(|cause| MarkerKeysTextError::Unreadable { path: path.to_owned(), cause })?;
    MarkerKeys::parse(text.trim()).map_err(|cause| MarkerKeysTextError::Content { path: path.to_owned(), cause })
}

/// The keys of a stack without a directory. They are no secret: its data ends with its process.
#[must_use]
pub fn in_memory() -> Masked<String> {
    Masked::new(text("in-memory", &"0".repeat(64)))
}

/// The keys in a directory, which are generated when they are first needed.
///
/// # Errors
/// [`MarkerKeysFileError`] if the file cannot be used.
pub(crate) fn in_directory(directory: &Path) -> Result<Masked<String>, MarkerKeysFileError> {
    let path = directory.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = text("k1", &hex::encode(Entropy::system().bytes::<32>()?));
            private_file::write(&path, &text)
                .map_err(|cause| MarkerKeysFileError::File { path: path.clone(), cause })?;
            text
        }
        Err(cause) => return Err(MarkerKeysFileError::File { path, cause }),
    };
    match MarkerKeys::parse(&text) {
        Ok(_) => Ok(Masked::new(text)),
        Err(cause) => Err(MarkerKeysFileError::Content { path, cause }),
    }
}

fn text(id: &str, key: &str) -> String {
    format!("{{\"current\":\"{id}\",\"{id}\":\"{key}\"}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn keys_are_generated_once_and_a_damaged_file_is_an_error() {
        let dir = TempDir::make();
        let first = in_directory(dir.path()).unwrap();
        assert_eq!(in_directory(dir.path()).unwrap(), first);
        assert_ne!(in_directory(TempDir::make().path()).unwrap(), first);
        std::fs::write(dir.path().join(FILE), "{}").unwrap();
        let error = in_directory(dir.path()).unwrap_err().to_string();
        assert!(error.contains("restore the file") && error.contains("do not name the current key"), "{error}");
        assert!(MarkerKeys::parse(in_memory().expose()).is_ok());
    }
}
