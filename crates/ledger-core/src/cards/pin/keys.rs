//! The digits of a PIN, and the keys of what is stored of them.

use crate::ids::{CardId, Tenant};
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use zeroize::{Zeroize, Zeroizing};

/// How many digits a PIN has.
const DIGITS: RangeInclusive<usize> = 4..=6;
/// The bytes of a key.
const KEY_BYTES: usize = 32;
/// The bytes of a block of SHA-256, to which HMAC fills a key up with zeros.
const BLOCK_BYTES: usize = 64;

/// A PIN as typed: four to six digits. It does not print, and its memory is cleared.
#[derive(Clone)]
pub struct Pin(Zeroizing<String>);

/// Why a text is not accepted as a PIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinFormError {
    /// Not four to six digits.
    #[error("must have four to six digits")]
    Digits,
    /// One of the PINs that are tried first.
    #[error("must not repeat one digit or count up or down: choose other digits")]
    Guessable,
}

impl Pin {
    /// Reads the digits that a holder has typed.
    ///
    /// # Errors
    /// [`PinFormError::Digits`] for any other text.
    pub fn parse(text: &str) -> Result<Self, PinFormError> {
        let fits = DIGITS.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if fits { Ok(Self(Zeroizing::new(text.to_owned()))) } else { Err(PinFormError::Digits) }
    }

    /// Reads the digits of a PIN that is to be set: 0000 and 1234 are not accepted.
    ///
    /// # Errors
    /// [`PinFormError`] if it is not a PIN, or is easy to guess.
    pub fn parse_chosen(text: &str) -> Result<Self, PinFormError> {
        let pin = Self::parse(text)?;
        let pairs = || pin.0.bytes().zip(pin.0.bytes().skip(1));
        let is_run = pairs().all(|(one, next)| one == next)
            || pairs().all(|(one, next)| one.checked_add(1) == Some(next))
            || pairs().all(|(one, next)| next.checked_add(1) == Some(one));
        if is_run { Err(PinFormError::Guessable) } else { Ok(pin) }
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pin(***)")
    }
}

/// A key, filled up to a block.
#[derive(Clone)]
struct Key(Zeroizing<[u8; BLOCK_BYTES]>);

impl Key {
    fn parse(text: &str) -> Option<Self> {
        let mut block = Zeroizing::new([0; BLOCK_BYTES]);
        hex::decode_to_slice(text, block.first_chunk_mut::<KEY_BYTES>()?).ok()?;
        Some(Self(block))
    }

    fn mac(&self, text: &Zeroizing<String>) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new((&*self.0).into());
        mac.update(text.as_bytes());
        mac
    }
}

/// The keys of proofs of PINs, by id, and the key for PINs in fingerprints. They are in the secret store only.
#[derive(Clone)]
pub struct PinKeys {
    current: String,
    keys: BTreeMap<String, Key>,
    request_key: Key,
}

/// The text of the keys is not of the expected form. It repeats no part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    r#"the keys are not of the form {{"current":"<id>","keys":{{"<id>":"<64 hexadecimal digits>"}},"request_key":"<64 hexadecimal digits>"}} with the current id among the keys"#
)]
pub struct PinKeysError;

/// A card's PIN was set with a key that is not among the keys any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key `{0}` of a card's PIN is not among the keys: put it back into the secret")]
pub struct PinKeyAbsent(pub String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    current: String,
    keys: BTreeMap<String, String>,
    request_key: String,
}

impl Drop for Text {
    fn drop(&mut self) {
        self.keys.values_mut().for_each(Zeroize::zeroize);
        self.request_key.zeroize();
    }
}

impl PinKeys {
    /// Reads the secret's text.
    ///
    /// # Errors
    /// [`PinKeysError`] if it is not of the expected form. An id is 1 to 64 letters, digits and hyphens.
    pub fn parse(text: &str) -> Result<Self, PinKeysError> {
        let text: Text = serde_json::from_str(text).map_err(|_| PinKeysError)?;
        let is_id = |id: &String| {
            (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let mut keys = BTreeMap::new();
        for (id, key) in &text.keys {
            if !is_id(id) {
                return Err(PinKeysError);
            }
            keys.insert(id.clone(), Key::parse(key).ok_or(PinKeysError)?);
        }
        let request_key = Key::parse(&text.request_key).ok_or(PinKeysError)?;
        if !keys.contains_key(&text.current) {
            return Err(PinKeysError);
        }
        Ok(Self { current: text.current.clone(), keys, request_key })
    }

    /// What a request's fingerprint holds instead of a PIN: equal for equal digits, and of no use to find them.
    ///
    /// Its key is not rotated with the others, so that a retry after a rotation has the same fingerprint.
    #[must_use]
    pub fn digest_for_request(&self, tenant: &Tenant, card: CardId, pin: &Pin) -> String {
        let text = Zeroizing::new(format!("card pin in a request 1\n{tenant}\n{card}\n{}", pin.0.as_str()));
        hex::encode(self.request_key.mac(&text).finalize().into_bytes())
    }

    /// The id of the key that PINs are set with.
    pub(super) fn current(&self) -> &str {
        &self.current
    }

    /// The proof of a PIN with the key of this id.
    ///
    /// # Errors
    /// [`PinKeyAbsent`] if there is no such key.
    pub(super) fn proof(&self, key: &str, of: &Proven<'_>, pin: &Pin) -> Result<String, PinKeyAbsent> {
        Ok(hex::encode(self.mac(key, of, pin)?.finalize().into_bytes()))
    }

    /// Whether a stored proof is that of this PIN. The time says nothing of how much of it is equal.
    ///
    /// # Errors
    /// As [`PinKeys::proof`].
    pub(super) fn proves(&self, key: &str, of: &Proven<'_>, pin: &Pin, stored: &str) -> Result<bool, PinKeyAbsent> {
        let mac = self.mac(key, of, pin)?;
        Ok(hex::decode(stored).is_ok_and(|stored| mac.verify_slice(&stored).is_ok()))
    }

    fn mac(&self, key: &str, of: &Proven<'_>, pin: &Pin) -> Result<Hmac<Sha256>, PinKeyAbsent> {
        let found = self.keys.get(key).ok_or_else(|| PinKeyAbsent(key.to_owned()))?;
        let Proven { tenant, card, salt } = of;
        Ok(found.mac(&Zeroizing::new(format!("card pin 1\n{tenant}\n{card}\n{salt}\n{}", pin.0.as_str()))))
    }
}

impl fmt::Debug for PinKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PinKeys(***)")
    }
}

/// What a proof is bound to, beside the digits: it proves nothing of another card, nor after the PIN is set again.
pub(super) struct Proven<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) card: CardId,
    pub(super) salt: &'a str,
}
