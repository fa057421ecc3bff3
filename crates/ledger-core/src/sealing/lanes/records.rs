//! The records of a segment as bytes: for each what names it, and its hash.
//!
//! A record is a form (one byte), what the form needs, and 32 bytes of hash:
//!
//! | form | record | then |
//! |---|---|---|
//! | 1, 2, 3 | entry of a customer, a card, a merchant | the account's id (16), the entry's id (16) |
//! | 4 | act in the partition that follows from its id | its id (16) |
//! | 5 | step of the partition's own resource | kind of the partition (1), its id (16), the place |
//! | 6 | step of another resource | kind of the partition (1), its id (16), the resource's id (16), the place |
//! | 255 | any other key | partition without the tenant (length as 2 bytes, UTF-8), sort key (the same) |
//!
//! A place is milliseconds (6 bytes) and text (length as 1 byte, UTF-8). A key has one encoding, the first form that
//! holds it, and bytes that are not the encoding of their records are refused.

use super::super::canonical::SealHash;
use crate::ids::{Tenant, parse_uuid};
use crate::keys::{AUDIT_PARTITION, Key, partition_of_act, sk};
use crate::time::Timestamp;
use uuid::Uuid;

const ACT: u8 = 4;
const STEP: u8 = 5;
const STEP_OF_OTHER: u8 = 6;
const TEXT: u8 = 255;
/// Kinds of partitions by their form of an entry.
const ACCOUNTS: [(&str, u8); 3] = [("customer", 1), ("card", 2), ("merchant", 3)];
/// Kinds of partitions that have steps, by their byte.
const STEPPING: [(&str, u8); 3] = [("merchant", 1), ("payment", 2), ("topup", 3)];
const ID_BYTES: usize = 16;
const MILLIS_BYTES: usize = 6;

/// The encoding of records; `None` if a key is too long for it, which no key of DynamoDB is.
pub(super) fn encode<'a>(tenant: &Tenant, records: impl Iterator<Item = (&'a Key, SealHash)>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for (key, hash) in records {
        bytes.extend(key_bytes(tenant, key)?);
        bytes.extend(hash.bytes());
    }
    Some(bytes)
}

/// The records of an encoding; `None` unless these bytes are the encoding of one record or more.
pub(super) fn decode(tenant: &Tenant, bytes: &[u8]) -> Option<Vec<(Key, SealHash)>> {
    let mut rest = Bytes(bytes);
    let mut records = Vec::new();
    while !rest.0.is_empty() {
        let key = rest.key(tenant)?;
        records.push((key, SealHash::read(rest.take(SealHash::BYTES)?)?));
    }
    let again = encode(tenant, records.iter().map(|(key, hash)| (key, *hash)))?;
    (!records.is_empty() && again == bytes).then_some(records)
}

fn key_bytes(tenant: &Tenant, key: &Key) -> Option<Vec<u8>> {
    compact(key).or_else(|| {
        let partition = key.pk().strip_prefix(tenant.as_str())?.strip_prefix('#')?;
        let mut bytes = vec![TEXT];
        for text in [partition, key.sk()] {
            bytes.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        Some(bytes)
    })
}

/// The encoding of a key that one of the short forms holds.
fn compact(key: &Key) -> Option<Vec<u8>> {
    let (kind, id) = key.pk().split_once('#')?.1.split_once('#')?;
    if kind == AUDIT_PARTITION {
        let act = parse_uuid(key.sk().strip_prefix(sk::AUDIT)?).ok()?;
        let is_own = key.pk().split_once('#').is_some_and(|(_, own)| own == partition_of_act(act));
        return is_own.then(|| [&[ACT], act.as_bytes().as_slice()].concat());
    }
    let id = parse_uuid(id).ok()?;
    let byte_of = |kinds: &[(&str, u8)]| kinds.iter().find(|(name, _)| *name == kind).map(|(_, byte)| *byte);
    if let Some(entry) = key.sk().strip_prefix(sk::TXN) {
        let entry = parse_uuid(entry).ok()?;
        return Some([&[byte_of(&ACCOUNTS)?], id.as_bytes().as_slice(), entry.as_bytes()].concat());
    }
    let (resource, place) = key.sk().strip_prefix(sk::TRAIL)?.split_once('#')?;
    let (resource, (at, place)) = (parse_uuid(resource).ok()?, place.split_once('#')?);
    let time = Timestamp::parse(at).ok().filter(|time| time.rfc3339() == at)?;
    let millis = u64::try_from(time.millis()).ok()?.to_be_bytes();
    let (high, millis) = millis.split_at_checked(millis.len().checked_sub(MILLIS_BYTES)?)?;
    let length = u8::try_from(place.len()).ok()?;
    if high.iter().any(|byte| *byte != 0) {
        return None;
    }
    let kind = byte_of(&STEPPING)?;
    let mut bytes = vec![if resource == id { STEP } else { STEP_OF_OTHER }, kind];
    bytes.extend(id.as_bytes());
    if resource != id {
        bytes.extend(resource.as_bytes());
    }
    bytes.extend(millis);
    bytes.push(length);
    bytes.extend(place.as_bytes());
    Some(bytes)
}

/// Bytes that are not read yet.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn id(&mut self) -> Option<Uuid> {
        Uuid::from_slice(self.take(ID_BYTES)?).ok()
    }

    fn text(&mut self, length: usize) -> Option<&'a str> {
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn long_text(&mut self) -> Option<&'a str> {
        let length = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        self.text(length.into())
    }

    fn key(&mut self, tenant: &Tenant) -> Option<Key> {
        let form = self.byte()?;
        let (partition, sort_key) = match form {
            TEXT => (self.long_text()?.to_owned(), self.long_text()?.to_owned()),
            ACT => {
                let act = self.id()?;
                (partition_of_act(act), format!("{}{act}", sk::AUDIT))
            }
            STEP | STEP_OF_OTHER => {
                let kind = self.byte()?;
                let (name, _) = STEPPING.iter().find(|(_, byte)| *byte == kind)?;
                let id = self.id()?;
                let resource = if form == STEP { id } else { self.id()? };
                let millis = self.take(MILLIS_BYTES)?.iter().fold(0_i64, |sum, byte| (sum << 8) | i64::from(*byte));
                let length = self.byte()?;
                let place = self.text(length.into())?;
                let at = Timestamp::from_millis(millis);
                (format!("{name}#{id}"), format!("{}{resource}#{at}#{place}", sk::TRAIL))
            }
            entry => {
                let (name, _) = ACCOUNTS.iter().find(|(_, byte)| *byte == entry)?;
                (format!("{name}#{}", self.id()?), format!("{}{}", sk::TXN, self.id()?))
            }
        };
        Key::stored(tenant, &format!("{tenant}#{partition}"), &sort_key)
    }
}
