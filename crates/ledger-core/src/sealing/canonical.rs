//! The canonical bytes of a record, and their hash.
//!
//! A value is a letter, a length as eight bytes, and its content. `S` is text in UTF-8, `N` a number's canonical
//! decimal text, `B` bytes; `T` and `F` are true and false, without content. `L` is a count and that many values. `M`
//! is a count and that many pairs of a name (a length and UTF-8) and a value, sorted by the bytes of their names. A
//! record is the `M` of all its attributes, keys included, whose names do not begin with `_`. The hash is SHA-256 over the
//! name of this encoding, a zero byte and those bytes. Segments and bindings are hashed as records are, with a root in the
//! place of what it covers.

use crate::dynamo::{Item, Value};
use crate::keys::attr;
use crate::money::stored_text;
use sha2::{Digest, Sha256};
use std::fmt;

/// The name and version of the encoding. A changed encoding gets another name, and segments record theirs.
const ENCODING: &[u8] = b"ecopay.ledger.seal.v1";

/// A SHA-256 hash, shown as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SealHash([u8; 32]);

impl SealHash {
    /// The number of its bytes.
    pub const BYTES: usize = 32;
    /// 32 zero bytes, where there is no segment.
    pub const NONE: Self = Self([0; Self::BYTES]);

    /// Reads 32 bytes; `None` for any other number.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// SHA-256 of these bytes, one after the other.
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Reads what `Display` writes; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_canonical = text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        hex::decode(text).ok().filter(|_| is_canonical).and_then(|bytes| Self::read(&bytes))
    }

    pub(super) fn value(self) -> Value {
        Value::B(self.0.to_vec())
    }
}

impl fmt::Display for SealHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// The hash of a stored record. It covers every attribute whose name does not begin with `_`.
#[must_use]
pub fn digest(item: &Item) -> SealHash {
    without(item, &[])
}

/// The hash of an item, also without some attributes whose names do not begin with `_`.
pub(super) fn without(item: &Item, left_out: &[&str]) -> SealHash {
    let mut hash = Sha256::new();
    hash.update(ENCODING);
    hash.update([0]);
    let is_covered = |name: &str| !name.starts_with(attr::OUTSIDE_SEAL) && !left_out.contains(&name);
    let kept: Vec<(&String, &Value)> = item.iter().filter(|(name, _)| is_covered(name)).collect();
    map(&mut hash, &kept);
    SealHash(hash.finalize().into())
}

fn map(hash: &mut Sha256, pairs: &[(&String, &Value)]) {
    head(hash, b'M', pairs.len());
    for (name, of) in pairs {
        length(hash, name.len());
        hash.update(name.as_bytes());
        value(hash, of);
    }
}

fn value(hash: &mut Sha256, of: &Value) {
    match of {
        Value::S(text) => content(hash, b'S', text.as_bytes()),
        // A number has several spellings, and the store may change the spelling.
        Value::N(number) => {
            content(hash, b'N', stored_text(number).as_deref().unwrap_or(number.as_str()).as_bytes());
        }
        Value::Bool(truth) => head(hash, if *truth { b'T' } else { b'F' }, 0),
        Value::B(bytes) => content(hash, b'B', bytes),
        Value::L(list) => {
            head(hash, b'L', list.len());
            for of in list {
                value(hash, of);
            }
        }
        Value::M(of) => map(hash, &of.iter().collect::<Vec<_>>()),
    }
}

fn content(hash: &mut Sha256, letter: u8, bytes: &[u8]) {
    head(hash, letter, bytes.len());
    hash.update(bytes);
}

fn head(hash: &mut Sha256, letter: u8, count: usize) {
    hash.update([letter]);
    length(hash, count);
}

fn length(hash: &mut Sha256, count: usize) {
    hash.update(u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes());
}
