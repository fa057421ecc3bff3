//! The lanes by themselves: the encoding, the transactions, and what verification finds.
#![expect(clippy::arithmetic_side_effects, reason = "small numbers of tests")]

use super::super::sealable::STAMP;
use super::super::*;
use super::*;
use crate::crediting::LaneCredits;
use crate::dynamo::Attributes;
use crate::failure::Failure;
use crate::ids::{AuditId, Tenant};
use crate::keys::{self, Key, attr};
use crate::time::{Timestamp, UtcDay};
use crate::transaction::{Reason, ReasonCode, RenderedAction, Transaction, Verdict};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

mod encoding;
mod planted;
mod proofs;
mod side_by_side;

const HOUR: Duration = Duration::from_secs(60 * 60);

type Rows = BTreeMap<Key, Item>;

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn start() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap()
}

fn key(pk: &str, sk: &str) -> Key {
    Key::stored(&tenant(), pk, sk).unwrap()
}

/// The partition of an act.
fn act_partition(id: &str) -> String {
    crate::keys::audit(&tenant(), AuditId::parse(id).unwrap()).pk().to_owned()
}

/// An entry, an act or a step, by number.
fn record(number: u32) -> Item {
    let id = format!("019a9000-0000-7000-8000-{number:012}");
    let (pk, sk) = match number % 3 {
        0 => (format!("demo#customer#{id}"), format!("TXN#{id}")),
        1 => (act_partition(&id), format!("AUDIT#{id}")),
        _ => (format!("demo#topup#{id}"), format!("TRAIL#{id}#2026-11-21T03:00:00.000Z#claimed")),
    };
    Item::from([
        (attr::PK.to_owned(), Value::S(pk)),
        (attr::SK.to_owned(), Value::S(sk)),
        (attr::CREATED_AT.to_owned(), Value::s(start())),
        (attr::DUE_PK.to_owned(), Value::s("demo#due#publish#0")),
        (attr::DUE_SK.to_owned(), Value::S(format!("{id}#published"))),
        ("operation".to_owned(), Value::s("pay")),
    ])
}

fn key_of(item: &Item) -> Key {
    key(item.text(attr::PK).unwrap(), item.text(attr::SK).unwrap())
}

/// Applies an accepted transaction.
fn apply(rows: &mut Rows, transaction: &Transaction) {
    for item in transaction.items() {
        assert!(item.failure_on(rows.get(item.key())).is_none(), "{item:?}");
    }
    for item in transaction.items() {
        let rendered = item.render().unwrap();
        match rendered.action {
            RenderedAction::Put(put) => drop(rows.insert(item.key().clone(), put)),
            RenderedAction::Update(_, text) => {
                let row = rows.get_mut(item.key()).unwrap();
                let (set, remove) = text.split_once(" REMOVE ").unwrap_or((&text, ""));
                let set = set.strip_prefix("SET ").unwrap();
                for part in set.split(", ") {
                    let (name, value) = part.split_once(" = ").unwrap();
                    row.insert(rendered.names[name].clone(), rendered.values[value].clone());
                }
                for name in remove.split(", ").filter(|name| !name.is_empty()) {
                    row.remove(&rendered.names[name]);
                }
            }
            RenderedAction::ConditionCheck(_) => {
                panic!("sealing has no lone condition checks")
            }
        }
    }
}

fn heads(rows: &Rows) -> Heads {
    let items: Vec<Item> =
        rows.iter().filter(|(key, _)| matches!(key.sk(), "LANES" | "HEAD")).map(|(_, item)| item.clone()).collect();
    Heads::read(&tenant(), &items).unwrap().unwrap()
}

/// The segments since the last binding, all read.
fn unbound(rows: &Rows) -> Unbound {
    let heads = heads(rows);
    let last = keys::binding(&tenant(), heads.trail.last.day, heads.trail.last.number);
    let mut unbound = heads.unbound(&Binding::read(&tenant(), &last, &rows[&last]).unwrap());
    for (lane, range) in (0..).zip(unbound.ranges().to_vec()) {
        for key in (range.first..=range.last).map(|number| keys::lane_segment(&tenant(), lane, number)) {
            assert!(unbound.add(&LaneSegment::read(&tenant(), &key, &rows[&key]).unwrap().link));
        }
    }
    unbound
}

/// The hash of a segment or binding, made again.
fn own_hash(key: &Key, item: &Item) -> SealHash {
    match key.sk().starts_with("BINDING#") {
        true => Binding::digest(item),
        false => LaneSegment::digest(&tenant(), item),
    }
}

/// No record of these tests credits a merchant.
fn no_credits() -> LaneCredits {
    LaneCredits::new(0)
}

/// Seals these records, a segment for each lane that has some.
fn seal(rows: &mut Rows, numbers: std::ops::Range<u32>, now: Timestamp) {
    let records: Vec<Item> = numbers.map(record).collect();
    rows.extend(records.iter().map(|item| (key_of(item), item.clone())));
    let heads = heads(rows);
    for lane in &heads.lanes {
        let of_lane = records.iter().filter(|item| heads.trail.lanes.lane_of(&key_of(item)) == lane.link.lane);
        let waiting: Vec<Sealable> = of_lane.map(|item| Sealable::read(&tenant(), item).unwrap().unwrap()).collect();
        if let Some(batch) = lane.batch(&tenant(), &waiting, &no_credits(), Some(now), now).unwrap() {
            apply(rows, batch.transaction());
            assert_eq!(super::super::lanes::tests::heads(rows).lanes[lane.link.lane as usize], batch.into_next());
        }
    }
}

fn later(hours: u32) -> Timestamp {
    start().plus(HOUR * hours)
}

/// Four lanes, bound three times over two days.
fn two_days() -> Rows {
    let mut rows = Rows::new();
    let (_, open) = Heads::open(&tenant(), start()).unwrap();
    apply(&mut rows, &open);
    seal(&mut rows, 0..6, start());
    for hours in [1, 2] {
        let (_, raise) = heads(&rows).raise(&tenant(), &unbound(&rows), later(hours)).unwrap().unwrap();
        apply(&mut rows, &raise);
        seal(&mut rows, hours * 30..hours * 30 + 20, later(hours));
    }
    for hours in [3, 24, 25] {
        assert!(heads(&rows).is_binding_due(later(hours)));
        let (after, bind) = heads(&rows).bind(&tenant(), &unbound(&rows), later(hours)).unwrap();
        apply(&mut rows, &bind);
        assert_eq!(heads(&rows), after);
        assert!(!after.is_binding_due(later(hours + 1)), "nothing was sealed since");
        seal(&mut rows, hours * 30..hours * 30 + 12, later(hours));
        assert!(!heads(&rows).is_binding_due(later(hours)), "within the hour");
    }
    rows
}

fn verify_days(rows: &Rows, days: (UtcDay, UtcDay), expected: Option<&str>) -> Vec<Finding> {
    let items: Vec<Item> =
        rows.iter().filter(|(key, _)| matches!(key.sk(), "LANES" | "HEAD")).map(|(_, item)| item.clone()).collect();
    let Ok(Some(heads)) = Heads::read(&tenant(), &items) else {
        return vec![Finding { fault: Fault::Missing, kind: Kind::Chain, key: keys::lanes(&tenant()) }];
    };
    let of = |prefix: &str| -> Vec<(Key, Item)> {
        rows.iter()
            .filter(|(key, _)| key.sk().starts_with(prefix))
            .map(|(key, item)| (key.clone(), item.clone()))
            .collect()
    };
    let bindings: Vec<_> = of("BINDING#");
    let read = |(key, item): &(Key, Item)| Binding::read(&tenant(), key, item).ok();
    let before = bindings.iter().filter_map(read).rfind(|binding| binding.link.day < days.0);
    let until = bindings.iter().filter_map(read).find(|binding| binding.link.day > days.1);
    let ranges = heads.between(before.as_ref(), until.as_ref());
    let mut checks = LaneChecks::new(&tenant(), heads.clone(), ranges, before, expected);
    for (key, item) in &bindings {
        let day = UtcDay::parse(key.sk().split('#').nth(1).unwrap()).unwrap();
        if days.0 <= day && day <= days.1 {
            let _ = checks.binding(key, item);
        }
    }
    for (key, item) in &of("SEGMENT#") {
        if let Some(segment) = checks.segment(key, item) {
            let items: Vec<Option<Item>> = segment.records.iter().map(|(key, _)| rows.get(key).cloned()).collect();
            checks.records(&segment, &items);
        }
    }
    for (link, key) in checks.named() {
        checks.outside(link, &key, rows.get(&key));
    }
    if let Some(key) = checks.named_binding() {
        checks.outside_binding(&key, rows.get(&key));
    }
    let has_expected = checks.has_expected() || expected.is_none();
    let count = heads.trail.lanes.count();
    let beyond: Vec<u32> = (count..16).filter(|lane| rows.contains_key(&keys::lane_head(&tenant(), *lane))).collect();
    let mut found = checks.finish(&heads, &beyond);
    if !has_expected {
        found.push(Finding { fault: Fault::OtherHead, kind: Kind::Chain, key: keys::lanes(&tenant()) });
    }
    found
}

fn all(rows: &Rows) -> Vec<Finding> {
    verify_days(rows, (UtcDay::MIN, UtcDay::MAX), None)
}

fn kinds(found: &[Finding]) -> BTreeSet<(Fault, Kind)> {
    found.iter().map(|found| (found.fault, found.kind)).collect()
}

fn day(text: &str) -> UtcDay {
    UtcDay::parse(text).unwrap()
}

#[test]
fn unchanged_lanes_have_no_finding() {
    let rows = two_days();
    assert_eq!(all(&rows), []);
    for (from, to) in [("2026-11-20", "2026-11-20"), ("2026-11-21", "2026-11-21"), ("2026-11-22", "2026-11-30")] {
        assert_eq!(verify_days(&rows, (day(from), day(to)), None), [], "{from} {to}");
    }
    let heads = heads(&rows);
    assert_eq!((heads.trail.lanes.count(), heads.trail.last.number, heads.trail.last.day), (4, 6, day("2026-11-22")));
    assert_eq!(heads.trail.records, 6 + 20 + 20 + 12 + 12);
    assert_eq!(heads.trail.day_records, 24);
    // Every binding and segment, and nothing else, is a head that may have been noted.
    for (key, item) in
        rows.iter().filter(|(key, _)| key.sk().starts_with("BINDING#") || key.sk().starts_with("SEGMENT#"))
    {
        let hash = own_hash(key, item).to_string();
        assert_eq!(verify_days(&rows, (UtcDay::MIN, UtcDay::MAX), Some(&hash)), [], "{key:?}");
    }
    let other = verify_days(&rows, (UtcDay::MIN, UtcDay::MAX), Some(&"0".repeat(64)));
    assert_eq!(kinds(&other), BTreeSet::from([(Fault::OtherHead, Kind::Chain)]));
}

#[test]
fn first_segment_of_a_lane_names_the_binding_that_opened_it() {
    let mut rows = Rows::new();
    let (opened, open) = Heads::open(&tenant(), start()).unwrap();
    apply(&mut rows, &open);
    assert_eq!(heads(&rows), opened);
    let key = keys::binding(&tenant(), day("2026-11-21"), 1);
    let binding = Binding::read(&tenant(), &key, &rows[&key]).unwrap();
    seal(&mut rows, 0..3, start());
    let key = keys::lane_segment(&tenant(), 0, 1);
    let segment = LaneSegment::read(&tenant(), &key, &rows[&key]).unwrap();
    assert_eq!(segment.after.to_string(), binding.link.hash);
}

#[test]
fn rebuilt_chain_lacks_the_noted_head() {
    let rows = two_days();
    let head = heads(&rows).trail.last.hash;
    let mut forged = Rows::new();
    let (_, open) = Heads::open(&tenant(), start()).unwrap();
    apply(&mut forged, &open);
    seal(&mut forged, 1..6, start());
    let (_, bind) = heads(&forged).bind(&tenant(), &unbound(&forged), later(25)).unwrap();
    apply(&mut forged, &bind);
    assert_eq!(all(&forged), []);
    let found = verify_days(&forged, (UtcDay::MIN, UtcDay::MAX), Some(&head));
    assert_eq!(kinds(&found), BTreeSet::from([(Fault::OtherHead, Kind::Chain)]));
}

#[test]
fn of_two_workers_one_writes_the_next_segment() {
    let mut rows = two_days();
    let heads = heads(&rows);
    let sealable = |number: u32| Sealable::read(&tenant(), &record(number)).unwrap().unwrap();
    // Acts are in lane 0.
    let (mine, theirs) = (sealable(1000), sealable(1003));
    rows.insert(key_of(&record(1000)), record(1000));
    rows.insert(key_of(&record(1003)), record(1003));
    let batch = |record: &Sealable, seen: &LaneHead| {
        seen.batch(&tenant(), std::slice::from_ref(record), &no_credits(), None, later(26)).unwrap().unwrap()
    };
    let (first, second) = (batch(&mine, &heads.lanes[0]), batch(&theirs, &heads.lanes[0]));
    apply(&mut rows, first.transaction());
    let explained = |batch: &LaneBatch, rows: &Rows| {
        let reason = |item: &crate::transaction::TransactItem| {
            let old = rows.get(item.key());
            let code = match item.failure_on(old) {
                Some(_) => ReasonCode::ConditionalCheckFailed,
                None => ReasonCode::None,
            };
            Reason { code, item: old.cloned() }
        };
        let reasons: Vec<Reason> = batch.transaction().items().iter().map(reason).collect();
        let Verdict::Rejected(rejection) = batch.transaction().classify(&reasons) else { panic!("it is rejected") };
        batch.explain(&rejection)
    };
    assert_eq!(explained(&second, &rows), Some(LaneRejection::HeadMoved));
    // Sealed by the other worker.
    let next = first.into_next();
    assert_eq!(explained(&batch(&mine, &next), &rows), Some(LaneRejection::Sealed(vec![0])));
    let mut gone = rows.clone();
    gone.remove(theirs.key());
    assert_eq!(explained(&batch(&theirs, &next), &gone), Some(LaneRejection::Missing(vec![0])));
    // A segment that the head does not know.
    let ahead = batch(&theirs, &next);
    let mut planted = rows.clone();
    planted.insert(ahead.transaction().items()[1].key().clone(), record(0));
    assert_eq!(explained(&ahead, &planted), Some(LaneRejection::HeadSetBack));
    // A worker that knows the earlier number of lanes.
    let (_, raise) = super::tests::heads(&rows).raise(&tenant(), &unbound(&rows), later(26)).unwrap().unwrap();
    let mut raised = rows.clone();
    apply(&mut raised, &raise);
    assert_eq!(explained(&ahead, &raised), Some(LaneRejection::HeadMoved));
    for failure in [Failure::Insufficient, Failure::FourEyes] {
        let rejection = crate::transaction::Rejection {
            failure,
            position: 0,
            positions: vec![0],
            role: crate::transaction::Role::Seal,
            old: None,
            guards: Vec::new(),
        };
        assert_eq!(ahead.explain(&rejection), None);
    }
}

#[test]
fn segment_has_as_many_records_as_fit_into_a_transaction() {
    let mut rows = Rows::new();
    let (heads, open) = Heads::open(&tenant(), start()).unwrap();
    apply(&mut rows, &open);
    let waiting: Vec<Sealable> =
        (0..200).map(|number| Sealable::read(&tenant(), &record(number * 3)).unwrap().unwrap()).collect();
    let batch = heads.lanes[0].batch(&tenant(), &waiting, &no_credits(), None, start()).unwrap().unwrap();
    assert_eq!((batch.records(), batch.transaction().items().len()), (96, 98));
    assert_eq!(heads.lanes[0].batch(&tenant(), &[], &no_credits(), None, start()).unwrap(), None);
    // The clock of a worker that is behind does not set a chain back.
    let next = batch.into_next();
    let batch = next.batch(&tenant(), &waiting[96..], &no_credits(), None, Timestamp::from_millis(0)).unwrap().unwrap();
    assert_eq!(batch.into_next().sealed_at, start());
    let (bound, _) = heads.bind(&tenant(), &unbound(&rows), Timestamp::from_millis(0)).unwrap();
    assert_eq!(bound.trail.bound_at, start());
}

#[test]
fn items_of_another_version_are_refused() {
    let rows = two_days();
    for (key, item) in rows.iter().filter(|(key, _)| key.recorded().is_none()) {
        let mut item = item.clone();
        item.insert("v".to_owned(), Value::int(2));
        let mut rows = rows.clone();
        rows.insert(key.clone(), item);
        assert!(!all(&rows).is_empty(), "{key:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_gap_in_any_lanes_is_detected(
        groups in prop::collection::vec((1_u32..9, any::<bool>(), any::<bool>()), 1..8),
        at in any::<prop::sample::Index>(),
    ) {
        let mut rows = Rows::new();
        apply(&mut rows, &Heads::open(&tenant(), start()).unwrap().1);
        for (hours, (count, raises, binds)) in (1_u32..).zip(groups) {
            if let Some((_, raise)) = heads(&rows).raise(&tenant(), &unbound(&rows), later(hours)).unwrap().filter(|_| raises) {
                apply(&mut rows, &raise);
            }
            seal(&mut rows, hours * 30..hours * 30 + count, later(hours));
            if binds {
                let (_, bind) = heads(&rows).bind(&tenant(), &unbound(&rows), later(hours)).unwrap();
                apply(&mut rows, &bind);
            }
        }
        prop_assert_eq!(all(&rows), []);
        let key = rows.keys().nth(at.index(rows.len())).unwrap().clone();
        let mut less = rows.clone();
        less.remove(&key);
        prop_assert!(!all(&less).is_empty(), "{:?}", key);
        prop_assert!(rows.values().all(|row| !row.contains_key(attr::DUE_PK)));
        prop_assert!(rows.iter().all(|(key, row)| key.recorded().is_none() || row.contains_key(STAMP)));
    }
}
