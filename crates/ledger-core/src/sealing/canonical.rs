//! The canonical bytes of a record, and their hash.
//!
//! A value is a letter, a length as eight bytes, and its content. `S` is text in UTF-8, `N` a number's canonical
//! decimal text, `B` bytes; `T` and `F` are true and false, without content. `L` is a count and that many values. `M`
//! is a count and that many pairs of a name (a length and UTF-8) and a value, sorted by the bytes of their names. A
//! record is the `M` of all its attributes, keys included, without those that change after it was written. The hash
//! is SHA-256 over the name of this encoding, a zero byte and those bytes.

use crate::dynamo::{Item, Value};
use crate::keys::attr;
use crate::money::stored_text;
use sha2::{Digest, Sha256};

/// The name and version of the encoding. A changed encoding gets another name, and segments record theirs.
const ENCODING: &[u8] = b"ecopay.ledger.seal.v1";
/// The attributes of a record that may change: its due index entry and its stamp.
const CHANGING: [&str; 3] = [attr::DUE_PK, attr::DUE_SK, super::segment::STAMP];

/// The hash of a stored record, in hexadecimal. It covers every attribute but the due index entry and the stamp.
#[must_use]
pub fn digest(item: &Item) -> String {
    without(item, &CHANGING)
}

/// The hash of an item without some of its attributes.
pub(super) fn without(item: &Item, left_out: &[&str]) -> String {
    let mut hash = Sha256::new();
    hash.update(ENCODING);
    hash.update([0]);
    let kept: Vec<(&String, &Value)> = item.iter().filter(|(name, _)| !left_out.contains(&name.as_str())).collect();
    map(&mut hash, &kept);
    hex::encode(hash.finalize())
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
