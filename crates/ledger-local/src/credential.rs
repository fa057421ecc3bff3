//! A storefront terminal's credential and its operation counter: the files of a terminal, readable only by their owner.

use crate::terminal_error::TerminalError;
use crate::{clock, private_file};
use p256::elliptic_curve::Generate;
use p256::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The credential that a terminal keeps from its enrolment. The private key never leaves it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credential {
    /// Slug of the tenant.
    pub tenant: String,
    /// Id of the terminal.
    pub terminal_id: String,
    /// Enrolment epoch that the key belongs to.
    pub epoch: u64,
    /// P-256 key, PKCS#8 in PEM.
    pub private_key: String,
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").field("key_id", &self.key_id()).finish_non_exhaustive()
    }
}

impl Credential {
    /// Makes a key pair in PEM: the private key and the public key (SubjectPublicKeyInfo).
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn key_pair() -> Result<(String, String), TerminalError> {
        let failed = |error: &dyn std::fmt::Display| TerminalError::Key(error.to_string());
        let key = p256::SecretKey::try_generate().map_err(|error| failed(&error))?;
        let private = key.to_pkcs8_pem(LineEnding::LF).map_err(|error| failed(&error))?;
        let public = key.public_key().to_public_key_pem(LineEnding::LF).map_err(|error| failed(&error))?;
        Ok((private.to_string(), public))
    }

    /// The `keyid` of its signatures.
    pub fn key_id(&self) -> String {
        format!("{}/{}/{}", self.tenant, self.terminal_id, self.epoch)
    }

    /// Reads a credential file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a credential.
    pub fn load(path: &Path) -> Result<Self, TerminalError> {
        let failed = |cause: String| TerminalError::CredentialFile { path: path.to_owned(), cause };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
    }

    /// Writes a credential file that only its owner can read.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TerminalError> {
        let failed = |cause| TerminalError::Unwritable { path: path.to_owned(), cause };
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        private_file::write(path, &format!("{text}\n")).map_err(failed)
    }
}

/// The next number of the terminal's operation counter, a file beside its credential.
///
/// INVARIANT: it always increases, even if the clock is set back, so that no key is used for two operations.
///
/// # Errors
/// If the file cannot be written.
pub fn next_sequence(credential_path: &Path) -> Result<u64, TerminalError> {
    let path = credential_path.with_extension("sequence");
    let last = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let next = last.map_or(0, |last| last.saturating_add(1)).max(clock::epoch_ms());
    private_file::write(&path, &format!("{next}\n")).map_err(|cause| TerminalError::Unwritable { path, cause })?;
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn credential_is_stored_and_its_key_not_printed() {
        let dir = TempDir::make();
        let path = dir.path().join("terminal.json");
        assert!(matches!(Credential::load(&path), Err(TerminalError::CredentialFile { .. })));
        let (private_key, _) = Credential::key_pair().unwrap();
        let credential = Credential { tenant: "demo".to_owned(), terminal_id: "t1".to_owned(), epoch: 3, private_key };
        credential.save(&path).unwrap();
        assert_eq!(Credential::load(&path).unwrap(), credential);
        assert!(!format!("{credential:?}").contains("PRIVATE"));
    }

    #[test]
    fn sequence_always_increases() {
        let dir = TempDir::make();
        let path = dir.path().join("terminal.json");
        let first = next_sequence(&path).unwrap();
        assert!(next_sequence(&path).unwrap() > first);
        std::fs::write(path.with_extension("sequence"), "99999999999999\n").unwrap();
        assert_eq!(next_sequence(&path).unwrap(), 100_000_000_000_000);
    }
}
