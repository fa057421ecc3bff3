//! What is planted in whole chains: each edit, removal, exchange and omission is found.

use super::super::{LaneSegment, records};
use super::{all, heads, kinds, own_hash, tenant, two_days};
use crate::dynamo::{Attributes, Item, Value};
use crate::keys::{self, Key, attr};
use crate::sealing::{Fault, Finding, Kind, SealHash};

#[test]
fn removed_item_is_reported_by_its_key() {
    let rows = two_days();
    for removed in rows.keys() {
        let mut rows = rows.clone();
        rows.remove(removed);
        let found = all(&rows);
        // A lane's head that is missing makes the heads unreadable.
        let is_head = matches!(removed.sk(), "LANES" | "HEAD");
        // The day of a binding that is missing is unknown: it is named by its number.
        let number = removed.sk().strip_prefix("BINDING#2026-11-22");
        let is_named = |key: &Key| key == removed || number.is_some_and(|number| key.sk().ends_with(number));
        let named = found.iter().any(|finding| finding.fault == Fault::Missing && is_named(&finding.key));
        assert!(named || is_head && !found.is_empty(), "{removed:?}: {found:?}");
    }
}

#[test]
fn every_edit_of_every_attribute_is_reported() {
    let rows = two_days();
    let mut looked_at = 0;
    for (key, item) in rows.iter().filter(|(key, _)| !matches!(key.sk(), "LANES" | "HEAD")) {
        for (name, value) in item.iter().filter(|(name, _)| *name != attr::PK && *name != attr::SK) {
            let edited = match value {
                Value::B(bytes) => {
                    let mut bytes = bytes.clone();
                    let last = bytes.last_mut().unwrap();
                    *last ^= 1;
                    Value::B(bytes)
                }
                Value::N(_) => Value::int(2),
                Value::S(_) | Value::Bool(_) | Value::L(_) | Value::M(_) => Value::s("2026-11-21T04:30:00.000Z"),
            };
            for to in [Some(edited).filter(|edited| edited != value), None] {
                let mut item = item.clone();
                match &to {
                    Some(edited) => drop(item.insert(name.clone(), edited.clone())),
                    None => drop(item.remove(name)),
                }
                if item == rows[key] {
                    continue;
                }
                let mut rows = rows.clone();
                rows.insert(key.clone(), item);
                assert!(all(&rows).iter().any(|found| found.key == *key), "{key:?} {name} {to:?}");
                looked_at += 1;
            }
        }
        let mut more = item.clone();
        more.insert("more".to_owned(), Value::s("x"));
        let mut rows = rows.clone();
        rows.insert(key.clone(), more);
        assert!(all(&rows).iter().any(|found| found.key == *key), "{key:?}");
    }
    assert!(looked_at > 300, "{looked_at}");
}

/// An item after a change, with its hash made again.
fn forged((key, item): (&Key, &Item), change: impl FnOnce(&mut Item)) -> Item {
    let mut item = item.clone();
    change(&mut item);
    let hash = own_hash(key, &item);
    item.insert("hash".to_owned(), hash.value());
    item
}

#[test]
fn forged_segments_and_heads_are_detected() {
    let whole = two_days();
    let heads = heads(&whole);
    let lane = heads.lanes.iter().find(|lane| lane.link.number > 2).unwrap().link;
    let at = |number| keys::lane_segment(&tenant(), lane.lane, number);

    // Swapped, each well-formed at its place.
    let mut swapped = whole.clone();
    for (to, from) in [(1, 2), (2, 1)] {
        let moved =
            forged((&at(to), &whole[&at(from)]), |item| drop(item.insert(attr::SK.to_owned(), Value::s(at(to).sk()))));
        swapped.insert(at(to), moved);
    }
    let found = all(&swapped);
    assert!(kinds(&found).contains(&(Fault::BrokenLink, Kind::Segment)), "{found:?}");

    // The last segment without a record, and the head made to fit: the binding after it names another.
    let last = at(1);
    let mut short = whole.clone();
    let bytes = |item: &Item| item.parsed_bytes("records", |bytes| Some(bytes.to_vec())).unwrap();
    let first = LaneSegment::read(&tenant(), &last, &whole[&last]).unwrap().records;
    let fewer = records::encode(&tenant(), first.iter().skip(1).map(|(key, hash)| (key, *hash)));
    let fewer = fewer.filter(|fewer| !fewer.is_empty()).unwrap_or_else(|| bytes(&whole[&last]));
    short.insert(
        last.clone(),
        forged((&last, &whole[&last]), |item| drop(item.insert("records".to_owned(), Value::B(fewer)))),
    );
    let found = all(&short);
    assert!(found.iter().any(|found| found.fault == Fault::BrokenLink), "{found:?}");

    // The head set back to an earlier segment: one is there beyond it.
    let mut back = whole.clone();
    let head = back.get_mut(&keys::lane_head(&tenant(), lane.lane)).unwrap();
    let before = own_hash(&last, &whole[&at(lane.number - 1)]);
    head.insert("number".to_owned(), Value::N((lane.number - 1).to_string()));
    head.insert("hash".to_owned(), before.value());
    let found = all(&back);
    let head = Finding { fault: Fault::BrokenLink, kind: Kind::Chain, key: keys::lane_head(&tenant(), lane.lane) };
    assert!(found.contains(&head), "{found:?}");
    // Also if that segment is removed, since a binding names one beyond the head.
    let mut back = whole.clone();
    for number in 1..=lane.number {
        back.remove(&at(number));
    }
    let row = back.get_mut(&keys::lane_head(&tenant(), lane.lane)).unwrap();
    row.insert("number".to_owned(), Value::int(0));
    let found = all(&back);
    assert!(found.contains(&head), "{found:?}");
}

#[test]
fn lane_missing_from_a_binding_is_detected() {
    let whole = two_days();
    let last = heads(&whole).trail.last;
    let key = keys::binding(&tenant(), last.day, last.number);
    let two = |item: &mut Item| {
        let heads = item.parsed_bytes("heads", |bytes| Some(bytes.to_vec())).unwrap();
        item.insert("heads".to_owned(), Value::B(heads[..heads.len() / 2].to_vec()));
    };
    let forged = forged((&key, &whole[&key]), two);
    let hash = own_hash(&key, &forged);
    // Even if the head of all fits, with either number of lanes.
    for lanes in [2, 4] {
        let mut rows = whole.clone();
        rows.insert(key.clone(), forged.clone());
        let head = rows.get_mut(&keys::lanes(&tenant())).unwrap();
        head.insert("hash".to_owned(), hash.value());
        head.insert("lanes".to_owned(), Value::int(lanes));
        let found = all(&rows);
        assert!(
            found.contains(&Finding { fault: Fault::BrokenLink, kind: Kind::Binding, key: key.clone() }),
            "{found:?}"
        );
    }
    // A head of a lane above the number of lanes.
    let mut rows = whole.clone();
    rows.insert(keys::lane_head(&tenant(), 7), Item::new());
    let beyond = Finding { fault: Fault::BrokenLink, kind: Kind::Chain, key: keys::lane_head(&tenant(), 7) };
    assert_eq!(all(&rows), [beyond]);
}

#[test]
fn binding_of_another_root_is_detected() {
    let whole = two_days();
    let last = heads(&whole).trail.last;
    for number in 1..=last.number {
        let (key, item) = whole
            .iter()
            .find(|(key, _)| key.sk().ends_with(&format!("#{number:010}")) && key.sk().starts_with("BINDING#"))
            .unwrap();
        let mut rows = whole.clone();
        // The chain after it is made again.
        let mut hash = None;
        for (key, item) in whole.range(key..).filter(|(key, _)| key.sk().starts_with("BINDING#")) {
            let made = forged((key, item), |item| match hash.map(SealHash::value) {
                Some(after) => drop(item.insert("after".to_owned(), after)),
                None => drop(item.insert("root".to_owned(), SealHash::NONE.value())),
            });
            hash = Some(own_hash(key, &made));
            rows.insert(key.clone(), made);
        }
        let head = rows.get_mut(&keys::lanes(&tenant())).unwrap();
        head.insert("hash".to_owned(), hash.unwrap().value());
        let found = all(&rows);
        let wrong = Finding { fault: Fault::BrokenLink, kind: Kind::Binding, key: key.clone() };
        assert!(found.contains(&wrong), "{number}: {found:?}");
        assert!(item.contains_key("root"));
    }
}
