//! The keys of markers: they key fingerprints, encrypt responses that have a one-time secret and payout destinations that
//! approvals keep, and key the hashes of values that customers are looked up by.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// The longest id of a key.
const KEY_ID_CHARS_MAX: usize = 32;
/// The shortest text of a key: 43 letters and digits are 256 bits.
const KEY_CHARS_MIN: usize = 43;
/// The longest text of a key.
const KEY_CHARS_MAX: usize = 256;
/// The member that names the key of what is written.
const CURRENT: &str = "current";
/// The bytes of a nonce of XChaCha20.
const NONCE_BYTES: usize = 24;

/// The name of a key: 1 to 32 of `a-z`, `0-9` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// Parses an id; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let is_id = (1..=KEY_ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(fits) && text != CURRENT;
        is_id.then(|| Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is not a set of keys. No part of it is in the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the marker keys {0}")]
pub struct MarkerKeysError(&'static str);

/// Bytes were not encrypted under this key, for this use and bound to this, or they were changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is encrypted cannot be decrypted")]
pub struct EncryptionError;

/// What derives from one key's text. The memory is overwritten when it is dropped.
struct MarkerKey {
    fingerprint: Zeroizing<[u8; 32]>,
    body: CipherKeys,
    destination: CipherKeys,
    lookup: Zeroizing<[u8; 32]>,
}

/// The keys by which one kind of content is encrypted.
struct CipherKeys {
    content: Zeroizing<[u8; 32]>,
    nonce: Zeroizing<[u8; 32]>,
}

/// The keys of markers, by id. It prints only ids.
pub struct MarkerKeys {
    current: KeyId,
    keys: BTreeMap<KeyId, MarkerKey>,
}

impl MarkerKeys {
    /// Parses the text of the secret: `{"current":"k2","k1":"...","k2":"..."}`. Each key is text of 43 to 256 visible
    /// ASCII characters.
    ///
    /// # Errors
    /// [`MarkerKeysError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, MarkerKeysError> {
        let members: BTreeMap<String, Zeroizing<String>> = serde_json::from_str::<BTreeMap<String, Value>>(text)
            .map_err(|_| MarkerKeysError("are not a JSON object"))?
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name, Zeroizing::new(text))),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    Err(MarkerKeysError("have a member that is not text"))
                }
            })
            .collect::<Result<_, _>>()?;
        let current = members.get(CURRENT).and_then(|id| KeyId::parse(id));
        let current = current.ok_or(MarkerKeysError("do not name the current key"))?;
        let mut keys = BTreeMap::new();
        for (name, text) in members.iter().filter(|(name, _)| *name != CURRENT) {
            let id = KeyId::parse(name).ok_or(MarkerKeysError("have an id other than 1 to 32 of a-z, 0-9 and -"))?;
            let is_key = (KEY_CHARS_MIN..=KEY_CHARS_MAX).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_graphic());
            if !is_key {
                return Err(MarkerKeysError("have a key other than 43 to 256 visible ASCII characters"));
            }
            let key = MarkerKey::of(text.as_bytes()).ok_or(MarkerKeysError("have a key that HMAC does not take"))?;
            keys.insert(id, key);
        }
        if !keys.contains_key(&current) {
            return Err(MarkerKeysError("lack the current key"));
        }
        Ok(Self { current, keys })
    }

    /// The id of the key that markers are written with.
    #[must_use]
    pub fn current(&self) -> &KeyId {
        &self.current
    }

    /// The ids of all keys.
    pub fn ids(&self) -> impl Iterator<Item = &KeyId> {
        self.keys.keys()
    }

    /// Whether it has a key.
    #[must_use]
    pub fn contains(&self, id: &KeyId) -> bool {
        self.keys.contains_key(id)
    }

    /// HMAC-SHA256 of a canonical request; `None` without this key.
    pub(super) fn fingerprint(&self, id: &KeyId, request: &[u8]) -> Option<[u8; 32]> {
        hmac(&*self.keys.get(id)?.fingerprint, &[request])
    }

    /// HMAC-SHA256 of a value and of what it is, each with its length; `None` without this key.
    pub(crate) fn lookup(&self, id: &KeyId, parts: &[&str]) -> Option<[u8; 32]> {
        let mut message = Vec::new();
        for part in parts {
            message.extend_from_slice(&u64::try_from(part.len()).ok()?.to_be_bytes());
            message.extend_from_slice(part.as_bytes());
        }
        hmac(&*self.keys.get(id)?.lookup, &[&message])
    }

    /// Encrypts the body of a response. Writers of one response store the same bytes.
    pub(super) fn encrypt(&self, id: &KeyId, bound_to: &[u8], body: &[u8]) -> Result<Vec<u8>, EncryptionError> {
        self.keys.get(id).ok_or(EncryptionError)?.body.encrypt(bound_to, body)
    }

    /// Decrypts what [`MarkerKeys::encrypt`] made.
    pub(super) fn decrypt(&self, id: &KeyId, bound_to: &[u8], encrypted: &[u8]) -> Result<Vec<u8>, EncryptionError> {
        self.keys.get(id).ok_or(EncryptionError)?.body.decrypt(bound_to, encrypted)
    }

    /// Encrypts a payout destination with the current key.
    pub(crate) fn encrypt_destination(&self, bound_to: &[u8], text: &[u8]) -> Result<Vec<u8>, EncryptionError> {
        self.keys.get(&self.current).ok_or(EncryptionError)?.destination.encrypt(bound_to, text)
    }

    /// Decrypts what [`MarkerKeys::encrypt_destination`] made when this key was current.
    pub(crate) fn decrypt_destination(
        &self,
        id: &KeyId,
        bound_to: &[u8],
        encrypted: &[u8],
    ) -> Result<Vec<u8>, EncryptionError> {
        self.keys.get(id).ok_or(EncryptionError)?.destination.decrypt(bound_to, encrypted)
    }
}

impl CipherKeys {
    /// Encrypts with XChaCha20-Poly1305.
    ///
    /// The nonce is an HMAC of the associated data and the content, so one nonce is never used for two contents.
    fn encrypt(&self, bound_to: &[u8], content: &[u8]) -> Result<Vec<u8>, EncryptionError> {
        let length = u64::try_from(bound_to.len()).map_err(|_| EncryptionError)?;
        let hash = hmac(&*self.nonce, &[&length.to_be_bytes(), bound_to, content]).ok_or(EncryptionError)?;
        let nonce = hash.first_chunk::<NONCE_BYTES>().ok_or(EncryptionError)?;
        let encrypted = self.cipher()?.encrypt(&XNonce::from(*nonce), Payload { msg: content, aad: bound_to });
        let mut bytes = nonce.to_vec();
        bytes.extend(encrypted.map_err(|_| EncryptionError)?);
        Ok(bytes)
    }

    fn decrypt(&self, bound_to: &[u8], encrypted: &[u8]) -> Result<Vec<u8>, EncryptionError> {
        let (nonce, encrypted) = encrypted.split_first_chunk::<NONCE_BYTES>().ok_or(EncryptionError)?;
        let decrypted = self.cipher()?.decrypt(&XNonce::from(*nonce), Payload { msg: encrypted, aad: bound_to });
        decrypted.map_err(|_| EncryptionError)
    }

    fn cipher(&self) -> Result<XChaCha20Poly1305, EncryptionError> {
        XChaCha20Poly1305::new_from_slice(&*self.content).map_err(|_| EncryptionError)
    }
}

impl MarkerKey {
    /// Derives a key for each use.
    fn of(text: &[u8]) -> Option<Self> {
        let derived = |of: &str| hmac(text, &[b"ecopay-ledger marker ", of.as_bytes()]).map(Zeroizing::new);
        Some(Self {
            fingerprint: derived("fingerprint")?,
            body: CipherKeys { content: derived("body")?, nonce: derived("nonce")? },
            destination: CipherKeys { content: derived("destination")?, nonce: derived("destination nonce")? },
            lookup: derived("lookup")?,
        })
    }
}

impl fmt::Debug for MarkerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.keys.keys().collect();
        f.debug_struct("MarkerKeys").field("current", &self.current).field("ids", &ids).finish_non_exhaustive()
    }
}

#[cfg(test)]
impl MarkerKeys {
    /// The keys of tests.
    pub(crate) fn of_tests() -> Self {
        Self::parse(r#"{"current":"k1","k1":"0123456789012345678901234567890123456789012"}"#).unwrap()
    }
}

/// HMAC-SHA256 of parts, one after the other. It takes keys of every length, so that there is always one.
fn hmac(key: &[u8], parts: &[&[u8]]) -> Option<[u8; 32]> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).ok()?;
    for part in parts {
        mac.update(part);
    }
    Some(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests;
