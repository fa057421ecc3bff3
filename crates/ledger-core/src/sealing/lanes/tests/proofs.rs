//! Proofs of records: each is verified with the hash of any binding from its own on, and any change is refused.

use super::super::{Binding, LaneSegment};
use super::{Rows, tenant, two_days};
use crate::dynamo::{Item, Value};
use crate::keys::{self, Key};
use crate::sealing::{Proof, ProofFault, SealHash, Sibling};
use proptest::prelude::*;
use std::sync::LazyLock;

/// The stored bindings, in order.
fn bindings(rows: &Rows) -> Vec<(Binding, Item)> {
    let of = |(key, item): (&Key, &Item)| Some((Binding::read(&tenant(), key, item).ok()?, item.clone()));
    rows.iter().filter(|(key, _)| key.sk().starts_with("BINDING#")).filter_map(of).collect()
}

fn number(binding: Option<&Binding>, lane: u32) -> u64 {
    binding.and_then(|binding| binding.lanes.get(lane as usize)).map_or(0, |lane| lane.number)
}

/// The proof of a record that is bound, up to the last binding but so many.
fn proof(rows: &Rows, record: &Key, before_last: usize) -> Option<(Proof, SealHash)> {
    let (lane, of_lane) = crate::sealing::lane_segment_of(&rows[record]).unwrap()?;
    let key = keys::lane_segment(&tenant(), lane, of_lane);
    let segment = LaneSegment::read(&tenant(), &key, &rows[&key]).unwrap();
    let all = bindings(rows);
    let at = all.iter().position(|(binding, _)| number(Some(binding), lane) >= of_lane)?;
    let before = at.checked_sub(1).map(|before| &all[before].0);
    let mut bound = all[at].0.unread(before);
    for (lane, range) in (0..).zip(bound.ranges().to_vec()) {
        for key in (range.first..=range.last).map(|number| keys::lane_segment(&tenant(), lane, number)) {
            assert!(bound.add(&LaneSegment::read(&tenant(), &key, &rows[&key]).unwrap().link));
        }
    }
    let chain: Vec<Item> = all[at..all.len() - before_last].iter().map(|(_, item)| item.clone()).collect();
    let head = Binding::digest(chain.last()?);
    Some((Proof::of(&rows[record], (&segment, &rows[&key]), &bound, &chain).unwrap(), head))
}

/// The proofs of all records that are bound.
static PROOFS: LazyLock<Vec<(Proof, SealHash)>> = LazyLock::new(|| {
    let rows = two_days();
    let records: Vec<Key> = rows.keys().filter(|key| key.recorded().is_some()).cloned().collect();
    records.iter().filter_map(|record| proof(&rows, record, 0)).collect()
});

#[test]
fn every_bound_record_is_proven_up_to_each_later_binding() {
    let rows = two_days();
    let records: Vec<Key> = rows.keys().filter(|key| key.recorded().is_some()).cloned().collect();
    let mut unbound = 0;
    for record in &records {
        let Some((whole, head)) = proof(&rows, record, 0) else {
            unbound += 1;
            continue;
        };
        assert_eq!(whole.verify(head), Ok(()));
        assert_eq!(whole.verify(SealHash::NONE), Err(ProofFault::OtherHead));
        for before_last in 1..whole.bindings.len() {
            let (shorter, earlier) = proof(&rows, record, before_last).unwrap();
            assert_eq!(shorter.verify(earlier), Ok(()));
            assert_eq!(shorter.verify(head), Err(ProofFault::OtherHead));
        }
    }
    assert_eq!((records.len(), unbound), (6 + 20 + 20 + 12 * 3, 12), "the last 12 are not bound");
}

#[test]
fn proof_shows_what_the_seal_covers_and_nothing_else() {
    let (mut proof, head) = PROOFS.last().unwrap().clone();
    assert!(proof.record.keys().chain(proof.segment.keys()).all(|name| !name.starts_with('_')));
    assert!(["records", "hash", "root"].iter().all(|name| !proof.segment.contains_key(*name)));
    for name in ["_memo", "_sealed"] {
        let mut more = proof.clone();
        more.record.insert(name.to_owned(), Value::s("x"));
        assert_eq!(more.verify(head), Err(ProofFault::Uncovered(name.to_owned())));
    }
    for name in ["records", "hash", "root", "_x"] {
        let mut more = proof.clone();
        more.segment.insert(name.to_owned(), Value::B(vec![0; 32]));
        assert_eq!(more.verify(head), Err(ProofFault::Uncovered(name.to_owned())));
    }
    proof.record.insert("n".to_owned(), Value::N("1.50".to_owned()));
    assert_eq!(proof.verify(head), Err(ProofFault::Uncovered("n".to_owned())));
}

fn flip(hash: SealHash, bit: usize) -> SealHash {
    let mut bytes = hash.bytes().to_vec();
    bytes[bit / 8 % 32] ^= 1 << (bit % 8);
    SealHash::read(&bytes).unwrap()
}

/// Changes one path: a bit, a side, or its length.
fn change_path(path: &mut Vec<Sibling>, how: usize, at: usize, bit: usize) {
    if path.is_empty() {
        path.push(Sibling::Left(SealHash::NONE));
        return;
    }
    let at = at % path.len();
    match (how % 4, path[at]) {
        (0, Sibling::Left(hash)) => path[at] = Sibling::Left(flip(hash, bit)),
        (0, Sibling::Right(hash)) => path[at] = Sibling::Right(flip(hash, bit)),
        (1, Sibling::Left(hash)) => path[at] = Sibling::Right(hash),
        (1, Sibling::Right(hash)) => path[at] = Sibling::Left(hash),
        (2, _) => drop(path.remove(at)),
        (_, sibling) => path.insert(at, sibling),
    }
}

fn change_item(item: &mut Item, how: usize, at: usize, bit: usize) {
    let name = item.keys().nth(at % item.len()).unwrap().clone();
    if how.is_multiple_of(2) {
        item.remove(&name);
        return;
    }
    let changed = match &item[&name] {
        Value::S(text) => Value::S(format!("{text} ")),
        Value::N(_) => Value::N("98765".to_owned()),
        Value::B(bytes) => {
            let mut bytes = bytes.clone();
            let length = bytes.len();
            bytes[bit / 8 % length] ^= 1 << (bit % 8);
            Value::B(bytes)
        }
        Value::Bool(_) | Value::L(_) | Value::M(_) => Value::Bool(true),
    };
    item.insert(name, changed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_change_of_a_proof_is_refused(
        which in any::<prop::sample::Index>(),
        part in 0..8_usize,
        how in 0..8_usize,
        at in 0..64_usize,
        bit in 0..256_usize,
    ) {
        let (proof, head) = which.get(&PROOFS);
        let mut changed = proof.clone();
        match part {
            0 => change_path(&mut changed.in_segment, how, at, bit),
            1 => change_path(&mut changed.in_lane, how, at, bit),
            2 => change_path(&mut changed.in_binding, how, at, bit),
            3 => change_item(&mut changed.record, how, at, bit),
            4 => change_item(&mut changed.segment, how, at, bit),
            5 => changed.after = match (changed.after, how % 2) {
                (Some(after), 0) => Some(flip(after, bit)),
                (Some(_), _) => None,
                (None, _) => Some(SealHash::NONE),
            },
            6 => {
                let at = at % changed.bindings.len();
                match how % 3 {
                    0 => changed.bindings[at].root = flip(changed.bindings[at].root, bit),
                    1 => changed.bindings[at].rest = flip(changed.bindings[at].rest, bit),
                    _ => drop(changed.bindings.remove(at)),
                }
            }
            _ => prop_assert!(proof.verify(flip(*head, bit)).is_err()),
        }
        prop_assert!(changed == *proof || changed.verify(*head).is_err(), "{:?}", changed);
    }
}
