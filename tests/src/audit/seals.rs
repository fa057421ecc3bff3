//! The lanes that seal the audit trail, and their bindings.
//!
//! Everything is computed again: hashes, the bytes of a segment, and what each lane and binding names.

use super::rows::{Row, decimal};
use super::{Audit, Checked};
use ledger_core::dynamo::{Item, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A segment's records: partition, sort key and hash.
type Listed = Vec<(String, String, Vec<u8>)>;

/// The records of each segment, by its stamp.
fn segments(audit: &Audit<'_>) -> Result<BTreeMap<String, Listed>, String> {
    let mut all = BTreeMap::new();
    for row in audit.under("SEGMENT#") {
        let (lane, number) = (lane_of(&row)?, row.sk.trim_start_matches("SEGMENT#"));
        let listed = listed_in_bytes(audit.tenant, bytes(&row, "records")?).ok_or(format!("{row} has other bytes"))?;
        all.insert(format!("L{lane}/{}", trimmed(number)), listed);
    }
    Ok(all)
}

/// Each record with a stamp is listed once, by the segment of its stamp, with the hash of what is stored; and each
/// listed record has that stamp.
pub(super) fn sealed_records_are_in_one_segment(audit: &Audit<'_>) -> Checked {
    let segments = segments(audit)?;
    let mut listed = BTreeMap::new();
    for (stamp, records) in &segments {
        for (pk, sk, hash) in records {
            let row = audit.row(pk, sk).ok_or(format!("segment {stamp} lists {pk} {sk}, which is missing"))?;
            ensure_eq!(row.opt_text("_sealed"), Some(stamp.as_str()), "the stamp of {row}");
            ensure_eq!(record_hash(audit.stored(row)), *hash, "the hash of {row}");
            ensure!(listed.insert((row.pk, row.sk), stamp).is_none(), "{row} is in two segments");
        }
    }
    for row in ["TXN#", "AUDIT#", "TRAIL#"].into_iter().flat_map(|prefix| audit.under(prefix)) {
        let Some(stamp) = row.opt_text("_sealed") else { continue };
        ensure!(listed.contains_key(&(row.pk, row.sk)), "{row} is stamped {stamp}, and that segment does not list it");
    }
    Ok(())
}

/// Each lane's segments are numbered without a gap, each names the hash of the one before, its head names the last, and
/// each has the records of its accounts alone.
pub(super) fn segments_follow_one_another(audit: &Audit<'_>) -> Checked {
    let mut last = BTreeMap::<String, (u64, Vec<u8>, Row<'_>)>::new();
    for row in audit.under("SEGMENT#") {
        let (lane, number) = (lane_of(&row)?, row.sk.trim_start_matches("SEGMENT#"));
        let number: u64 = trimmed(number).parse().map_err(|_| format!("{row} has no number"))?;
        let before = last.get(lane);
        ensure_eq!(number, before.map_or(0, |(number, ..)| *number) + 1, "the number of {row}");
        if let Some((_, hash, _)) = before {
            ensure_eq!(bytes(&row, "after")?, hash.as_slice(), "`after` of {row}");
        }
        let lanes = whole(&row, "lanes")?;
        let records = listed_in_bytes(audit.tenant, bytes(&row, "records")?).ok_or(format!("{row} has other bytes"))?;
        let hash = segment_hash(&row, &records)?;
        for (pk, sk, _) in records {
            let own = if sk.starts_with("AUDIT#") { 0 } else { first_word(&Sha256::digest(&pk)) % lanes };
            ensure_eq!(own.to_string(), lane, "the lane of {pk} {sk}, which {row} lists,");
        }
        last.insert(lane.to_owned(), (number, hash, row));
    }
    for (number, hash, row) in last.values() {
        let head = audit.row(row.pk, "HEAD").ok_or(format!("{row} has no head of its lane"))?;
        ensure_eq!(whole(&head, "number")?, *number, "the number of {head}");
        ensure_eq!(bytes(&head, "hash")?, hash.as_slice(), "the hash of {head}");
    }
    for head in audit.named("HEAD") {
        let number = last.get(lane_of(&head)?).map_or(0, |(number, ..)| *number);
        ensure_eq!(whole(&head, "number")?, number, "the number of {head}");
    }
    Ok(())
}

/// No merchant's sums in a lane have entries of a segment that the lane does not have.
pub(super) fn merchants_are_credited_until_a_segment(audit: &Audit<'_>) -> Checked {
    for credited in audit.under("CREDITED#") {
        let lane = credited.sk.trim_start_matches("CREDITED#");
        let segment = whole(&credited, "segment")?;
        let (pk, sk) = (lane_partition(audit, trimmed(lane)), format!("SEGMENT#{segment:010}"));
        ensure!(audit.row(&pk, &sk).is_some(), "{credited} has entries of {pk} {sk}, which is missing");
    }
    Ok(())
}

/// Bindings are numbered without a gap, each names the one before, no lane is missing from one or is set back in it, and
/// the head of all names the last.
pub(super) fn bindings_cover_every_lane(audit: &Audit<'_>) -> Checked {
    let (mut number, mut hash, mut lanes) = (0, Vec::new(), Vec::<(u64, Vec<u8>)>::new());
    for row in audit.under("BINDING#") {
        number += 1;
        ensure!(row.sk.ends_with(&format!("#{number:010}")), "{row} is not binding {number}");
        ensure!(row.sk.contains(&row.text("bound_at")?[..10]), "{row} is under another day");
        if number > 1 {
            ensure_eq!(bytes(&row, "after")?, hash.as_slice(), "`after` of {row}");
        }
        let bound: Vec<(u64, Vec<u8>)> =
            bytes(&row, "heads")?.chunks(40).map(|lane| (word(&lane[..8]), lane[8..].to_vec())).collect();
        ensure!(bound.len() >= lanes.len(), "{row} has {} lanes, fewer than before", bound.len());
        for (lane, (last, hash)) in bound.iter().enumerate() {
            ensure!(*last >= lanes.get(lane).map_or(0, |(last, _)| *last), "{row} sets lane {lane} back to {last}");
            if *last > 0 {
                let (pk, sk) = (lane_partition(audit, lane), format!("SEGMENT#{last:010}"));
                let segment = audit.row(&pk, &sk).ok_or(format!("{row} names {pk} {sk}, which is missing"))?;
                ensure_eq!(bytes(&segment, "hash")?, hash.as_slice(), "the hash of {segment}, which {row} names,");
            }
        }
        let mut since = Vec::new();
        for (lane, (last, _)) in bound.iter().enumerate() {
            let after = lanes.get(lane).map_or(0, |(last, _)| *last);
            let segment = |number| {
                let (pk, sk) = (lane_partition(audit, lane), format!("SEGMENT#{number:010}"));
                let segment = audit.row(&pk, &sk).ok_or(format!("{row} binds {pk} {sk}, which is missing"))?;
                Ok(bytes(&segment, "hash")?.to_vec())
            };
            since.push((after + 1..=*last).map(segment).collect::<Result<Vec<Vec<u8>>, String>>()?);
        }
        hash = binding_hash(&row, &since)?;
        lanes = bound;
    }
    let heads = audit.named("HEAD").count();
    let Some(head) = audit.named("LANES").next() else {
        ensure!(heads == 0 && number == 0, "LANES is missing");
        return Ok(());
    };
    ensure_eq!(whole(&head, "number")?, number, "the number of {head}");
    ensure_eq!(bytes(&head, "hash")?, hash.as_slice(), "the hash of {head}");
    ensure_eq!(whole(&head, "lanes")?, lanes.len() as u64, "the number of lanes of {head}");
    ensure_eq!(heads, lanes.len(), "the number of heads of lanes beside {head}");
    Ok(())
}

/// The lane that a segment or a head is in.
fn lane_of<'a>(row: &Row<'a>) -> Result<&'a str, String> {
    row.pk.split_once("#lane#").map(|(_, lane)| lane).ok_or(format!("{row} is in no lane"))
}

fn lane_partition(audit: &Audit<'_>, lane: impl std::fmt::Display) -> String {
    format!("{}#lane#{lane}", audit.tenant)
}

/// The records of a lane's segment.
fn listed_in_bytes(tenant: &str, bytes: &[u8]) -> Option<Listed> {
    let (mut rest, mut listed) = (bytes, Vec::new());
    while let Some((form, after)) = rest.split_first() {
        rest = after;
        let mut take = |count: usize| {
            let (taken, after) = rest.split_at_checked(count)?;
            rest = after;
            Some(taken)
        };
        let id = |bytes: &[u8]| uuid::Uuid::from_slice(bytes).ok().map(|id| id.to_string());
        let (pk, sk) = match form {
            1..=3 => {
                let kind = ["customer", "card", "merchant"][usize::from(*form) - 1];
                (format!("{kind}#{}", id(take(16)?)?), format!("TXN#{}", id(take(16)?)?))
            }
            4 => {
                let act = uuid::Uuid::from_slice(take(16)?).ok()?;
                let [.., last] = act.into_bytes();
                (format!("audit#{}#{}", ledger_core::keys::day_of_act(act), last % 4), format!("AUDIT#{act}"))
            }
            5 | 6 => {
                let kind = ["merchant", "payment", "topup"].get(usize::from(take(1)?[0]).checked_sub(1)?)?;
                let own = id(take(16)?)?;
                let resource = if *form == 5 { own.clone() } else { id(take(16)?)? };
                let millis = take(6)?.iter().fold(0_i64, |sum, byte| sum * 256 + i64::from(*byte));
                let at = ledger_core::time::Timestamp::from_millis(millis);
                let length = usize::from(take(1)?[0]);
                let place = String::from_utf8(take(length)?.to_vec()).ok()?;
                (format!("{kind}#{own}"), format!("TRAIL#{resource}#{at}#{place}"))
            }
            255 => {
                let mut text = || {
                    let length = usize::try_from(word(take(2)?)).ok()?;
                    String::from_utf8(take(length)?.to_vec()).ok()
                };
                (text()?, text()?)
            }
            _ => return None,
        };
        let hash = take(32)?.to_vec();
        listed.push((format!("{tenant}#{pk}"), sk, hash));
    }
    Some(listed)
}

/// The hash of a segment of a lane, which must be the one that it has.
fn segment_hash(row: &Row<'_>, records: &Listed) -> Result<Vec<u8>, String> {
    let mut item = row.item.clone();
    item.retain(|name, _| !name.starts_with('_') && name != "hash" && name != "records");
    let hashes: Vec<Vec<u8>> = records.iter().map(|(.., hash)| hash.clone()).collect();
    item.insert("root".to_owned(), Value::B(root(&hashes)));
    own_hash(row, &item)
}

/// The hash of a binding, which must be the one that it has, and whose root is that of its segments, by lane.
fn binding_hash(row: &Row<'_>, segments: &[Vec<Vec<u8>>]) -> Result<Vec<u8>, String> {
    let roots: Vec<Vec<u8>> = segments.iter().map(|of_lane| root(of_lane)).collect();
    let root = root(&roots);
    ensure_eq!(bytes(row, "root")?, root.as_slice(), "the root of {row}");
    let (of_chain, mut rest): (Item, Item) =
        row.item.clone().into_iter().partition(|(name, _)| name == "root" || name == "after");
    rest.retain(|name, _| !name.starts_with('_') && name != "hash");
    let mut covered = of_chain;
    covered.insert("rest".to_owned(), Value::B(hash(&rest)));
    own_hash(row, &covered)
}

fn own_hash(row: &Row<'_>, covered: &Item) -> Result<Vec<u8>, String> {
    let own = hash(covered);
    ensure_eq!(bytes(row, "hash")?, own.as_slice(), "the hash of {row}");
    Ok(own)
}

/// The root of a Merkle tree, by the definition of RFC 6962, 2.1.
fn root(hashes: &[Vec<u8>]) -> Vec<u8> {
    let split = (0..).map(|bits| 1_usize << bits).take_while(|size| *size < hashes.len()).last();
    match (split, hashes) {
        (_, []) => Sha256::digest([]).to_vec(),
        (None, [leaf, ..]) => Sha256::digest([&[0], leaf.as_slice()].concat()).to_vec(),
        (Some(split), _) => {
            let (left, right) = hashes.split_at(split);
            Sha256::digest([&[1], root(left).as_slice(), root(right).as_slice()].concat()).to_vec()
        }
    }
}

fn record_hash(item: &Item) -> Vec<u8> {
    let mut item = item.clone();
    item.retain(|name, _| !name.starts_with('_'));
    hash(&item)
}

fn hash(item: &Item) -> Vec<u8> {
    let mut bytes = b"ecopay.ledger.seal.v1\0".to_vec();
    let covered = item.iter().filter(|(name, _)| !name.starts_with('_'));
    add(&mut bytes, &Value::M(covered.map(|(name, value)| (name.clone(), value.clone())).collect()));
    Sha256::digest(bytes).to_vec()
}

fn add(bytes: &mut Vec<u8>, value: &Value) {
    let mut head = |letter: u8, count: usize| {
        bytes.push(letter);
        bytes.extend((count as u64).to_be_bytes());
    };
    match value {
        Value::S(text) => {
            head(b'S', text.len());
            bytes.extend(text.as_bytes());
        }
        Value::N(number) => {
            let text = decimal(value).map_or(number.clone(), |number| number.normalize().to_string());
            head(b'N', text.len());
            bytes.extend(text.as_bytes());
        }
        Value::B(content) => {
            head(b'B', content.len());
            bytes.extend(content);
        }
        Value::Bool(truth) => head(if *truth { b'T' } else { b'F' }, 0),
        Value::L(list) => {
            head(b'L', list.len());
            list.iter().for_each(|of| add(bytes, of));
        }
        Value::M(map) => {
            head(b'M', map.len());
            for (name, of) in map {
                bytes.extend((name.len() as u64).to_be_bytes());
                bytes.extend(name.as_bytes());
                add(bytes, of);
            }
        }
    }
}

fn bytes<'a>(row: &Row<'a>, name: &str) -> Result<&'a [u8], String> {
    match row.item.get(name) {
        Some(Value::B(bytes)) => Ok(bytes),
        other => Err(format!("{row} has no bytes `{name}`: {other:?}")),
    }
}

fn whole(row: &Row<'_>, name: &str) -> Result<u64, String> {
    row.number(name)?.to_string().parse().map_err(|_| format!("{row} has no whole `{name}`"))
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum * 256 + u64::from(*byte))
}

fn first_word(hash: &[u8]) -> u64 {
    word(&hash[..4])
}

fn trimmed(number: &str) -> &str {
    let trimmed = number.trim_start_matches('0');
    if trimmed.is_empty() { "0" } else { trimmed }
}
