//! The chain by itself: every change, removal and reordering is detected, and nothing else is reported.

use super::segment::STAMP;
use super::*;
use crate::dynamo::{Attributes, Item, Value};
use crate::ids::Tenant;
use crate::keys::{self, Key, attr};
use crate::lease::Holder;
use crate::time::{Timestamp, UtcDay};
use crate::transaction::{RenderedAction, Transaction};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MORNING: &str = "2026-11-21T03:00:00.000Z";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn now() -> Timestamp {
    Timestamp::parse(MORNING).unwrap()
}

pub(super) type Rows = BTreeMap<Key, Item>;

/// An entry, an act or a step of a day, by number.
fn record(number: u32, day: u32) -> Item {
    let id = format!("019a9000-0000-7000-8000-{number:012}");
    let (pk, sk) = match number % 3 {
        0 => (format!("demo#customer#{id}"), format!("TXN#{id}")),
        1 => ("demo#tenant#root".to_owned(), format!("AUDIT#{id}")),
        _ => (format!("demo#topup#{id}"), format!("TRAIL#{id}#2026-11-{day:02}T03:00:00.000Z#claimed")),
    };
    let posting = Item::from([("account".to_owned(), Value::s("fees")), ("delta".to_owned(), Value::N("1.50".into()))]);
    Item::from([
        (attr::PK.to_owned(), Value::S(pk)),
        (attr::SK.to_owned(), Value::S(sk)),
        (attr::CREATED_AT.to_owned(), Value::S(format!("2026-11-{day:02}T03:00:00.000Z"))),
        (attr::DUE_PK.to_owned(), Value::s("demo#due#seal#0")),
        ("operation".to_owned(), Value::s("pay")),
        ("postings".to_owned(), Value::L(vec![Value::M(posting), Value::Bool(true), Value::B(vec![1, 2])])),
    ])
}

fn key_of(item: &Item) -> Key {
    let text = |name: &str| item.text(name).unwrap();
    Key::stored(&tenant(), text(attr::PK), text(attr::SK)).unwrap()
}

/// Applies an accepted transaction to the rows. Its updates are those of sealing.
fn apply(rows: &mut Rows, transaction: &Transaction, lease_item: impl FnOnce(&mut Item)) {
    for item in transaction.items() {
        match item.render().unwrap().action {
            RenderedAction::Put(put) => drop(rows.insert(item.key().clone(), put)),
            RenderedAction::Update(_, _) if *item.key() == keys::sealing(&tenant()) => {}
            RenderedAction::Update(_, text) => {
                assert_eq!(text, "SET #sealed = :stamp REMOVE #due_pk, #due_sk");
                let values = item.render().unwrap().values;
                let row = rows.get_mut(item.key()).unwrap();
                row.insert(STAMP.to_owned(), values[":stamp"].clone());
                row.remove(attr::DUE_PK);
            }
            RenderedAction::ConditionCheck(_) | RenderedAction::Delete(_) => {
                panic!("sealing has no lone condition checks")
            }
        }
    }
    lease_item(rows.get_mut(&keys::sealing(&tenant())).unwrap());
}

/// A table in which these groups of records, each with its day, were sealed, in a segment each.
fn sealed(groups: &[(u32, u32)]) -> Rows {
    let mut rows = Rows::new();
    let (mut lease, take) = Trail::take(&tenant(), None, now()).unwrap().unwrap();
    apply(&mut rows, &take, |_| {});
    let mut numbers = 1..;
    for (segments, (day, count)) in (1_i64..).zip(groups) {
        let records: Vec<Item> =
            numbers.by_ref().take(usize::try_from(*count).unwrap()).map(|number| record(number, *day)).collect();
        rows.extend(records.iter().map(|item| (key_of(item), item.clone())));
        let waiting: Vec<Sealable> =
            records.iter().map(|item| Sealable::read(&tenant(), item).unwrap().unwrap()).collect();
        let day = waiting[0].at().utc_day();
        let so_far = rows.get(&keys::sealed_day(&tenant(), day)).map(|item| SealedDay::read(item).unwrap());
        let batch = lease.batch(day, so_far.as_ref(), &waiting, now()).unwrap().unwrap();
        let transaction = batch.transaction().clone();
        lease = batch.into_next();
        let last = rows_last(&transaction);
        apply(&mut rows, &transaction, |sealing| {
            sealing.insert("last".to_owned(), last);
            sealing.insert("segments".to_owned(), Value::int(segments));
        });
    }
    rows
}

fn rows_last(transaction: &Transaction) -> Value {
    transaction.items()[0].render().unwrap().values[":last"].clone()
}

/// The findings in a table.
fn verify(rows: &Rows, days: (UtcDay, UtcDay), expected: Option<&str>) -> Vec<Finding> {
    let mut chain = Chain::new(&tenant());
    let of =
        |prefix: &str| -> Vec<(&Key, &Item)> { rows.iter().filter(|(key, _)| key.sk().starts_with(prefix)).collect() };
    let within = |key: &Key| {
        let day = UtcDay::parse(key.sk().split('#').nth(1).unwrap());
        day.is_ok_and(|day| days.0 <= day && day <= days.1)
    };
    for (key, item) in of("SEALED#").into_iter().filter(|(key, _)| within(key)) {
        chain.day(key, item);
    }
    for (key, item) in of("SEAL#").into_iter().filter(|(key, _)| within(key)) {
        if let Some(segment) = chain.segment(key, item) {
            let items: Vec<Option<Item>> = segment.records.iter().map(|(key, _)| rows.get(key).cloned()).collect();
            chain.records(&segment, &items);
        }
    }
    let sealing = rows.get(&keys::sealing(&tenant())).map(|item| Sealing::read(item).unwrap());
    for (link, key) in chain.named(sealing.as_ref()) {
        chain.outside(&link, rows.get(&key));
    }
    let read = Read { is_whole: days == (UtcDay::MIN, UtcDay::MAX), is_still: true };
    let has_expected = expected.is_none_or(|head| chain.has_hash(head));
    let mut found = chain.finish(sealing.as_ref(), read);
    if !has_expected {
        found.push(Finding { fault: Fault::OtherHead, kind: Kind::Chain, key: keys::sealing(&tenant()) });
    }
    found
}

pub(super) fn all(rows: &Rows) -> Vec<Finding> {
    verify(rows, (UtcDay::MIN, UtcDay::MAX), None)
}

fn day(text: &str) -> UtcDay {
    UtcDay::parse(text).unwrap()
}

/// Three days. One of them got a late record after the next had begun.
fn three_days() -> Rows {
    sealed(&[(20, 3), (20, 2), (21, 4), (20, 1), (22, 2)])
}

fn kinds(found: &[Finding]) -> BTreeSet<(Fault, Kind)> {
    found.iter().map(|found| (found.fault, found.kind)).collect()
}

#[test]
fn unchanged_chain_has_no_finding() {
    let rows = three_days();
    assert_eq!(all(&rows), []);
    for (from, to) in [("2026-11-20", "2026-11-20"), ("2026-11-21", "2026-11-22"), ("2026-11-23", "2026-11-30")] {
        assert_eq!(verify(&rows, (day(from), day(to)), None), [], "{from} {to}");
    }
    let segment = |number| Segment::read(&tenant(), &rows[&keys::seal(&tenant(), day("2026-11-20"), number)]).unwrap();
    // The segment of the late record follows the last one written, not the last one of its day.
    assert_eq!(segment(2).after, Some(segment(1).link));
    assert_eq!(segment(3).after.unwrap().day, day("2026-11-21"));
    assert_eq!(segment(1).after, None);
    // And a head that was noted earlier is in the chain.
    assert_eq!(verify(&rows, (UtcDay::MIN, UtcDay::MAX), Some(&segment(2).link.hash)), []);
    let other = verify(&rows, (UtcDay::MIN, UtcDay::MAX), Some(&"0".repeat(64)));
    assert_eq!(kinds(&other), BTreeSet::from([(Fault::OtherHead, Kind::Chain)]));
}

#[test]
fn removed_item_is_reported_by_its_key() {
    let rows = three_days();
    for removed in rows.keys() {
        let mut rows = rows.clone();
        rows.remove(removed);
        let found = all(&rows);
        let named = found.iter().any(|finding| finding.fault == Fault::Missing && finding.key == *removed);
        // A day's item that is missing may be reported as edited, not as missing.
        let is_day = removed.sk().starts_with("SEALED#") && found.iter().any(|finding| finding.key == *removed);
        assert!(named || is_day, "{removed:?}: {found:?}");
    }
}

#[test]
fn removed_day_is_detected() {
    let whole = three_days();
    let mut rows = whole.clone();
    rows.retain(|key, item| {
        let of_day = |text: &str| text.contains("2026-11-21");
        !of_day(key.sk()) && !item.opt_text(STAMP).unwrap().is_some_and(of_day)
    });
    assert_eq!(whole.len() - rows.len(), 6);
    let found = all(&rows);
    assert!(kinds(&found).contains(&(Fault::Missing, Kind::Segment)), "{found:?}");
    // Also if only the days before it are read.
    let behind = verify(&rows, (day("2026-11-20"), day("2026-11-20")), None);
    assert!(kinds(&behind).contains(&(Fault::Missing, Kind::Segment)), "{behind:?}");
}

#[test]
fn rebuilt_chain_lacks_the_noted_head() {
    let rows = three_days();
    let head = &rows[&keys::sealed_day(&tenant(), day("2026-11-22"))];
    let head = SealedDay::read(head).unwrap().last.hash;
    // An attacker with full write access can build a chain without a record, but not with the noted head.
    let forged = sealed(&[(20, 3), (20, 2), (21, 3), (20, 1), (22, 2)]);
    assert_eq!(all(&forged), []);
    let found = verify(&forged, (UtcDay::MIN, UtcDay::MAX), Some(&head));
    assert_eq!(kinds(&found), BTreeSet::from([(Fault::OtherHead, Kind::Chain)]));
}

#[test]
fn reordered_segments_are_detected() {
    let rows = three_days();
    let [a, b] = [1, 2].map(|number| keys::seal(&tenant(), day("2026-11-20"), number));
    let mut swapped = rows.clone();
    swapped.insert(a.clone(), rows[&b].clone());
    swapped.insert(b.clone(), rows[&a].clone());
    assert!(kinds(&all(&swapped)).contains(&(Fault::Edited, Kind::Segment)));
    // With their keys and numbers changed too, so that each segment is well-formed.
    for (key, number) in [(&a, 1), (&b, 2)] {
        let item = swapped.get_mut(key).unwrap();
        item.insert(attr::SK.to_owned(), Value::s(key.sk()));
        item.insert("number".to_owned(), Value::int(number));
        let hash = Segment::digest(item);
        item.insert("hash".to_owned(), Value::S(hash));
    }
    let found = kinds(&all(&swapped));
    assert!(found.contains(&(Fault::BrokenLink, Kind::Segment)), "{found:?}");
}

#[test]
fn digest_ignores_index_entries_and_stamp_only() {
    let mut item = record(3, 20);
    let before = digest(&item);
    item.remove(attr::DUE_PK);
    item.insert(attr::OWNER_PK.to_owned(), Value::s("demo#acts_of#019a9000-0000-7000-8000-000000000009#0"));
    item.insert(attr::OWNER_SK.to_owned(), Value::s("019a9000-0000-7000-8000-000000000003"));
    item.insert(STAMP.to_owned(), Value::s("2026-11-20/1"));
    assert_eq!(digest(&item), before);
    assert_eq!(Sealable::read(&tenant(), &item).unwrap(), None);
    // One number in two spellings is equal; text is another type.
    item.insert("n".to_owned(), Value::N("1.50".into()));
    let spelt = digest(&item);
    item.insert("n".to_owned(), Value::N("15e-1".into()));
    assert_eq!(digest(&item), spelt);
    item.insert("n".to_owned(), Value::S("1.5".into()));
    assert_ne!(digest(&item), spelt);
}

#[test]
fn encoding_never_changes() {
    // Computed by hand: SHA-256 of the encoding's name, a zero byte, and `M` 1 `a` `S` `b`.
    let item = Item::from([("a".to_owned(), Value::s("b"))]);
    assert_eq!(digest(&item).to_string(), "4405f5964ce1332fca8538798395ba5c13dab41ccada9138e56eef9f83599805");
}

#[test]
fn segment_has_as_many_records_as_fit_into_a_transaction() {
    let (lease, _) = Trail::take(&tenant(), None, now()).unwrap().unwrap();
    let waiting: Vec<Sealable> =
        (0..200).map(|number| Sealable::read(&tenant(), &record(number, 20)).unwrap().unwrap()).collect();
    let batch = lease.batch(day("2026-11-20"), None, &waiting, now()).unwrap().unwrap();
    assert_eq!((batch.records(), batch.transaction().items().len()), (RECORDS_MAX, 100));
    assert_eq!(lease.batch(day("2026-11-20"), None, &[], now()).unwrap(), None);
    let holder = Holder { fence: 1, lease_until: now().plus(SEALING_LEASE) };
    let held = Sealing { holder, segments: 0, last: None, acts_until: now() };
    assert_eq!(Trail::take(&tenant(), Some(&held), now()).unwrap(), None);
    assert!(Trail::take(&tenant(), Some(&held), now().plus(SEALING_LEASE)).unwrap().is_some());
}

/// Every single change of a value, at any depth.
fn edits(value: &Value) -> Vec<Value> {
    match value {
        Value::S(text) => vec![Value::S(format!("{text} ")), Value::S(String::new()), Value::N("1".into())],
        Value::N(_) => vec![Value::N("98765".into())],
        Value::Bool(truth) => vec![Value::Bool(!truth)],
        Value::B(bytes) => vec![Value::B([bytes.as_slice(), &[0]].concat())],
        Value::L(list) => {
            let mut all = vec![Value::L(list.iter().skip(1).cloned().collect())];
            let mut turned = list.clone();
            turned.reverse();
            all.extend((turned != *list).then_some(Value::L(turned)));
            for (at, inner) in list.iter().enumerate() {
                all.extend(edits(inner).into_iter().map(|edited| {
                    let mut list = list.clone();
                    list[at] = edited;
                    Value::L(list)
                }));
            }
            all
        }
        Value::M(map) => map
            .iter()
            .flat_map(|(name, inner)| {
                edits(inner).into_iter().map(move |edited| {
                    let mut map = map.clone();
                    map.insert(name.clone(), edited);
                    Value::M(map)
                })
            })
            .collect(),
    }
}

#[test]
fn every_edit_of_every_attribute_is_reported_by_key() {
    let rows = three_days();
    let sealing = keys::sealing(&tenant());
    let mut looked_at = 0;
    for (key, item) in rows.iter().filter(|(key, _)| **key != sealing) {
        let is_key = |name: &str| name == attr::PK || name == attr::SK;
        for (name, value) in item.iter().filter(|(name, _)| !is_key(name)) {
            let removed = || {
                let mut item = item.clone();
                item.remove(name);
                item
            };
            let edited = edits(value).into_iter().filter(|edited| edited != value).map(|edited| {
                let mut item = item.clone();
                item.insert(name.clone(), edited);
                item
            });
            for edited in edited.chain([removed()]) {
                let mut rows = rows.clone();
                rows.insert(key.clone(), edited);
                let found = all(&rows);
                assert!(found.iter().any(|finding| finding.key == *key), "{key:?} {name}: {found:?}");
                looked_at += 1;
            }
        }
        let mut more = item.clone();
        more.insert("more".to_owned(), Value::s("x"));
        let mut rows = rows.clone();
        rows.insert(key.clone(), more);
        // The progress of a day is a number and a hash; its other attributes are not checked.
        assert!(key.sk().starts_with("SEALED#") || all(&rows).iter().any(|finding| finding.key == *key), "{key:?}");
    }
    assert!(looked_at > 200, "{looked_at}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_chain_is_whole_and_any_gap_is_detected(
        groups in prop::collection::vec((18_u32..24, 1_u32..5), 1..8),
        at in any::<prop::sample::Index>(),
    ) {
        let rows = sealed(&groups);
        prop_assert_eq!(all(&rows), []);
        let key = rows.keys().nth(at.index(rows.len())).unwrap().clone();
        let mut less = rows.clone();
        less.remove(&key);
        prop_assert!(!all(&less).is_empty(), "{:?}", key);
    }
}
