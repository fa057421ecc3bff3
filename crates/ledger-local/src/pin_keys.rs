//! The keys of cards' PINs on a local stack: made once, and kept beside the issuer's key.

use crate::private_file;
use ledger_core::cards::pin::{PinKeys, PinKeysError};
use ledger_core::personal::Masked;
use ledger_runtime::entropy::{Entropy, EntropyError};
use std::io;
use std::path::{Path, PathBuf};

/// The file, in the state directory.
const FILE: &str = "card-pin-keys.json";

/// Why the keys could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum PinKeysFileError {
    /// The system provides no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The file cannot be read or written.
    #[error("cannot use {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The file has another form.
    #[error("{}: {cause}; without the file, cards whose PIN was set cannot be paid above the tenant's amount", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: PinKeysError,
    },
}

/// The keys in a state directory, which are made if it has none; random ones without a directory.
///
/// # Errors
/// [`PinKeysFileError`] if the keys can be neither read nor made.
pub fn of_directory(directory: Option<&Path>) -> Result<Masked<String>, PinKeysFileError> {
    let Some(path) = directory.map(|directory| directory.join(FILE)) else { return random() };
    match std::fs::read_to_string(&path) {
        Ok(text) => match PinKeys::parse(&text) {
            Ok(_) => Ok(Masked::new(text)),
            Err(cause) => Err(PinKeysFileError::Form { path, cause }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = random()?;
            let written = private_file::write(&path, made.expose());
            written.map_err(|cause| PinKeysFileError::File { path, cause })?;
            Ok(made)
        }
        Err(cause) => Err(PinKeysFileError::File { path, cause }),
    }
}

/// Random keys.
///
/// # Errors
/// [`PinKeysFileError::Entropy`] if the system provides no randomness.
pub fn random() -> Result<Masked<String>, PinKeysFileError> {
    let entropy = Entropy::system();
    let [key, request_key] = [entropy.bytes::<32>()?, entropy.bytes::<32>()?].map(hex::encode);
    let text = serde_json::json!({"current": "local", "keys": {"local": key}, "request_key": request_key});
    Ok(Masked::new(text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn keys_are_made_once_and_kept() {
        let dir = TempDir::make();
        let made = of_directory(Some(dir.path())).unwrap();
        assert!(PinKeys::parse(made.expose()).is_ok());
        assert_eq!(of_directory(Some(dir.path())).unwrap().expose(), made.expose());
        assert_ne!(of_directory(None).unwrap().expose(), made.expose());
        std::fs::write(dir.path().join(FILE), "{}").unwrap();
        assert!(matches!(of_directory(Some(dir.path())), Err(PinKeysFileError::Form { .. })));
    }
}
