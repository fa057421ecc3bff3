//! The walk through sealed entries: each once, in one order, from every place, while segments are added.
#![expect(clippy::arithmetic_side_effects, reason = "small numbers of tests")]

use super::*;
use crate::crediting::LaneCredits;
use crate::dynamo::Value;
use crate::ids::{CustomerId, TransactionId};
use crate::keys::{Partition, attr};
use crate::sealing::Sealable;
use crate::sealing::lanes::{LaneHead, Lanes};
use crate::transaction::RenderedAction;
use proptest::prelude::*;

const MINUTE: i64 = 60_000;

type Rows = BTreeMap<Key, Item>;

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn start() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(start().millis() + millis)
}

/// An entry of a wallet whose lane is `lane` of `lanes`.
fn entry((lane, lanes): (u32, Lanes), born: Timestamp, number: u128) -> Item {
    let id = Uuid::from_u128(crate::ids::least_born_at(born).as_u128() | number);
    let home = (0_u128..).map(|salt| {
        let customer = Uuid::from_u128(0x019a_9000_0000_7000_8000_0000_0000_0000 | (number << 16) | salt);
        Partition::customer(&tenant(), CustomerId::parse(&customer.to_string()).unwrap())
    });
    let keys = home.map(|home| home.entry(TransactionId::parse(&id.to_string()).unwrap()));
    let key = keys.into_iter().find(|key| lanes.lane_of(key) == lane).unwrap();
    Item::from([
        (attr::PK.to_owned(), Value::s(key.pk())),
        (attr::SK.to_owned(), Value::s(key.sk())),
        (attr::CREATED_AT.to_owned(), Value::s(born)),
        ("operation".to_owned(), Value::s("pay")),
    ])
}

/// The lanes of a trail, and their segments.
struct Trail {
    lanes: Lanes,
    heads: Vec<LaneHead>,
    rows: Rows,
    entries: u128,
}

impl Trail {
    fn new(lanes: u32) -> Self {
        let lanes = Lanes::new(lanes).unwrap();
        let (opened, _) = Heads::open(&tenant(), start()).unwrap();
        let of_lane = |lane| {
            let mut head = opened.lanes[0].clone();
            (head.lanes, head.link.lane) = (lanes, lane);
            head
        };
        Self { lanes, heads: (0..lanes.count()).map(of_lane).collect(), rows: Rows::new(), entries: 0 }
    }

    /// Seals entries of these ages in a segment of a lane.
    fn seal(&mut self, lane: u32, now: Timestamp, ages: &[i64]) {
        let number = usize::try_from(lane).unwrap();
        let waiting = ages.iter().map(|age| {
            self.entries += 1;
            let born = Timestamp::from_millis(now.millis() - age);
            Sealable::read(&tenant(), &entry((lane, self.lanes), born, self.entries)).unwrap().unwrap()
        });
        let waiting: Vec<Sealable> = waiting.collect();
        let batch = self.heads[number].batch(&tenant(), &waiting, &LaneCredits::new(lane), None, now);
        let batch = batch.unwrap().unwrap();
        for item in batch.transaction().items() {
            if let RenderedAction::Put(row) = item.render().unwrap().action {
                let _ = self.rows.insert(item.key().clone(), row);
            }
        }
        self.heads[number] = batch.into_next();
    }

    fn place(&self) -> SealedPlace {
        SealedPlace { next: self.heads.iter().map(|head| head.link.number).collect(), met: None }
    }

    /// The next entries from a place on, at least `count` if there are as many.
    fn walk(&self, place: SealedPlace, range: SealedRange, count: usize, at_once: usize) -> Vec<(SealedPlace, Key)> {
        let mut walk = SealedWalk::new(tenant(), SealedKind::Entries, range, place);
        let mut found = Vec::new();
        while found.len() < count {
            match walk.step(at_once) {
                SealedStep::Segments(keys) => {
                    assert!(!keys.is_empty() && keys.len() <= at_once.max(1), "{keys:?}");
                    let items: Vec<Option<Item>> = keys.iter().map(|key| self.rows.get(key).cloned()).collect();
                    walk.add_segments(&keys, &items).unwrap();
                }
                SealedStep::Entries(entries) => found.extend(entries),
                SealedStep::End => break,
            }
        }
        found
    }
}

fn keys_of(found: &[(SealedPlace, Key)]) -> Vec<Key> {
    found.iter().map(|(_, key)| key.clone()).collect()
}

/// Segments as they are sealed one after another: lane, time since the one before, and ages of the entries.
fn segments() -> impl Strategy<Value = Vec<(u32, i64, Vec<i64>)>> {
    // Ages are negative where the clock of the request is ahead of the worker's.
    let ages = prop::collection::vec(-4 * MINUTE..90 * MINUTE, 1..5);
    prop::collection::vec((0..16_u32, 0..2 * MINUTE, ages), 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn walk_in_pages_meets_each_entry_once_while_others_are_sealed(
        (lanes, segments, page, at_once) in (0..5_u32, segments(), 1..9_usize, 1..40_usize)
    ) {
        let mut trail = Trail::new(1 << lanes);
        let (mut now, half) = (0, segments.len() / 2);
        for (lane, later, ages) in &segments[..half] {
            now += later;
            trail.seal(lane % trail.lanes.count(), at(now), ages);
        }
        let sealed = trail.entries;
        let all = keys_of(&trail.walk(trail.place(), SealedRange::default(), usize::MAX, 16));
        prop_assert_eq!(all.len(), usize::try_from(sealed).unwrap());
        let (mut place, mut met, mut later) = (trail.place(), Vec::new(), segments[half..].iter());
        loop {
            let mut found = trail.walk(place.clone(), SealedRange::default(), page, at_once);
            found.truncate(page);
            let Some((last, _)) = found.last() else { break };
            place = last.clone();
            met.extend(keys_of(&found));
            if let Some((lane, minutes, ages)) = later.next() {
                now += minutes;
                trail.seal(lane % trail.lanes.count(), at(now), ages);
            }
        }
        prop_assert_eq!(&met, &all, "whatever the page, and what is sealed meanwhile");
        // An entry is met before another one, unless that was sealed later, or has an id of a later time.
        let order = |key: &Key| {
            let of = trail.rows.iter().find_map(|(at, item)| {
                let segment = LaneSegment::read(&tenant(), at, item).unwrap();
                segment.records.iter().any(|(record, _)| record == key).then_some(segment)
            });
            let segment = of.unwrap();
            (Reverse(segment.sealed_at), segment.link.lane, Reverse(segment.link.number), Reverse(key.sk().to_owned()))
        };
        prop_assert!(all.is_sorted_by_key(order));
    }

    #[test]
    fn range_admits_the_entries_of_its_time_whenever_they_were_sealed(
        (segments, from, long) in (segments(), -60..30_i64, 1..60_i64)
    ) {
        let mut trail = Trail::new(4);
        let mut now = 0;
        for (lane, later, ages) in &segments {
            now += later;
            trail.seal(lane % 4, at(now), ages);
        }
        let (from, until) = (at(from * MINUTE), at((from + long) * MINUTE));
        let all = keys_of(&trail.walk(trail.place(), SealedRange::default(), usize::MAX, 16));
        for range in [
            SealedRange { from: Some(from), until: Some(until) },
            SealedRange { from: Some(from), until: None },
            SealedRange { from: None, until: Some(until) },
        ] {
            let found = keys_of(&trail.walk(trail.place(), range, usize::MAX, 16));
            let wanted: Vec<Key> = all.iter().filter(|key| range.contains(key.born().unwrap())).cloned().collect();
            prop_assert_eq!(found, wanted);
        }
    }
}

#[test]
fn place_beyond_the_heads_is_of_another_trail() {
    let mut trail = Trail::new(1);
    trail.seal(0, at(0), &[1]);
    let (opened, _) = Heads::open(&tenant(), start()).unwrap();
    let heads = Heads { lanes: trail.heads.clone(), ..opened };
    let place = |next: &[u64]| SealedPlace { next: next.to_vec(), met: None };
    assert!(place(&[1]).is_of(Some(&heads)) && place(&[0]).is_of(Some(&heads)));
    for beyond in [place(&[2]), place(&[1, 1]), place(&[u64::MAX])] {
        assert!(!beyond.is_of(Some(&heads)), "{beyond:?}");
    }
    assert!(!place(&[1]).is_of(None));
    assert_eq!(SealedPlace::first(Some(&heads)), place(&[1]));
}

#[test]
fn missing_segment_is_an_error_and_not_the_end() {
    let mut trail = Trail::new(1);
    trail.seal(0, at(0), &[1]);
    let mut walk = SealedWalk::new(tenant(), SealedKind::Entries, SealedRange::default(), trail.place());
    let SealedStep::Segments(keys) = walk.step(16) else { panic!("one is unread") };
    assert!(walk.add_segments(&keys, &[None]).is_err());
}

#[test]
fn walk_ends_behind_the_first_segment_and_before_the_range() {
    let place = |next: &[u64]| SealedPlace { next: next.to_vec(), met: None };
    for next in [&[][..], &[0, 0]] {
        let mut walk = SealedWalk::new(tenant(), SealedKind::Entries, SealedRange::default(), place(next));
        assert_eq!(walk.step(16), SealedStep::End);
    }
    assert_eq!(SealedPlace::first(None), place(&[]));
    let mut trail = Trail::new(1);
    trail.seal(0, at(0), &[1]);
    let range = |from| SealedRange { from: Some(from), until: None };
    let walk = |range| {
        let mut walk = SealedWalk::new(tenant(), SealedKind::Entries, range, trail.place());
        let SealedStep::Segments(keys) = walk.step(16) else { panic!("one is unread") };
        walk.add_segments(&keys, &[trail.rows.get(&keys[0]).cloned()]).unwrap();
        walk.step(16)
    };
    // A request's clock may be ahead of the worker's by so much.
    assert!(matches!(walk(range(at(0).plus(CLOCK_SKEW))), SealedStep::Entries(_)));
    assert_eq!(walk(range(at(1).plus(CLOCK_SKEW))), SealedStep::End);
}
