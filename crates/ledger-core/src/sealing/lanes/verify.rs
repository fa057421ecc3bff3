//! Verifies the lanes: a fold over bindings, segments and the records that they list, against the heads. The caller
//! reads the items; this module reports what is wrong.

use super::super::canonical::digest;
use super::super::findings::{Fault, Finding, GAPS_MAX, Kind};
use super::super::sealable::segment_of;
use super::roots::Roots;
use super::{Binding, BindingLink, Heads, LaneLink, LaneSegment};
use crate::dynamo::Item;
use crate::ids::Tenant;
use crate::keys::{self, Key};
use crate::memo::is_as_hashed;
use std::collections::{BTreeMap, BTreeSet};

/// The numbers of a lane's segments to verify, inclusive; none if `first` is after `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRange {
    /// The first number.
    pub first: u64,
    /// The last number.
    pub last: u64,
}

/// A segment that an item names with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSegment {
    /// The segment.
    pub link: LaneLink,
    kind: Kind,
    by: Key,
}

/// The parts of the lanes that were read so far, with the faults found.
#[derive(Clone, Debug)]
pub struct LaneChecks {
    tenant: Tenant,
    heads: Heads,
    ranges: Vec<LaneRange>,
    found: BTreeSet<Finding>,
    /// The last binding that was read.
    bound: Option<Binding>,
    /// The hash of the binding that opened each lane, of those that were read.
    opened: BTreeMap<u32, String>,
    /// What bindings and segments name, until it is read.
    named: BTreeMap<(u32, u64), Vec<NamedSegment>>,
    /// The last segment of each lane that was read, and the number of records in those read.
    last: BTreeMap<u32, (LaneLink, u64)>,
    /// Lanes of which a segment is there, or is named, beyond the head.
    beyond: BTreeSet<u32>,
    is_bound_beyond: bool,
    /// The roots of the bindings that were read.
    roots: Roots,
    expected: Option<String>,
    has_expected: bool,
    segments: usize,
    records: u64,
}

impl LaneChecks {
    /// The empty state for a tenant's lanes. `before` is the last binding before those to be read. `expected` is a hash that
    /// a segment or binding of those read must have.
    #[must_use]
    pub fn new(
        tenant: &Tenant,
        heads: Heads,
        ranges: Vec<LaneRange>,
        before: Option<Binding>,
        expected: Option<&str>,
    ) -> Self {
        Self {
            tenant: tenant.clone(),
            heads,
            ranges,
            found: BTreeSet::new(),
            bound: before,
            opened: BTreeMap::new(),
            named: BTreeMap::new(),
            last: BTreeMap::new(),
            beyond: BTreeSet::new(),
            is_bound_beyond: false,
            roots: Roots::default(),
            expected: expected.map(str::to_owned),
            has_expected: false,
            segments: 0,
            records: 0,
        }
    }

    /// The numbers of segments and records that were checked.
    #[must_use]
    pub fn looked_at(&self) -> (usize, u64) {
        (self.segments, self.records)
    }

    /// Whether the expected hash was found.
    #[must_use]
    pub fn has_expected(&self) -> bool {
        self.has_expected
    }

    /// Adds the item under a binding's key, in the order of the keys. All are added before the segments. Returns the
    /// binding if it is one.
    pub fn binding(&mut self, key: &Key, item: &Item) -> Option<Binding> {
        let Ok(binding) = Binding::read(&self.tenant, key, item) else {
            self.finds(Fault::Edited, Kind::Binding, key.clone());
            return None;
        };
        if binding.link.number > self.heads.trail.last.number {
            self.is_bound_beyond = true;
            return None;
        }
        let hash = Binding::digest(item).to_string();
        if hash != binding.link.hash {
            self.finds(Fault::Edited, Kind::Binding, key.clone());
        }
        self.has_expected |= self.expected.as_ref() == Some(&hash);
        let before = self.bound.take();
        self.check_binding(before.as_ref(), &binding, key);
        if before.as_ref().map_or(0, |before| before.link.number).saturating_add(1) == binding.link.number {
            self.roots.add(before.as_ref(), &binding, key);
        }
        let known = before.as_ref().map_or(0, |before| before.lanes.len());
        for (lane, link) in (0_usize..).zip(&binding.lanes) {
            let head = self.place(link.lane).map_or(0, |(head, _)| head.number);
            if link.number > head {
                self.beyond.insert(link.lane);
            } else if link.number > 0 {
                self.name(*link, Kind::Binding, key);
            }
            if lane >= known && (before.is_some() || binding.link.number == 1) {
                self.opened.insert(link.lane, hash.clone());
            }
        }
        self.bound = Some(Binding { link: BindingLink { hash, ..binding.link.clone() }, ..binding.clone() });
        Some(binding)
    }

    /// Checks that a binding follows the one before it, and that no lane was left out or set back in between.
    fn check_binding(&mut self, before: Option<&Binding>, binding: &Binding, key: &Key) {
        let number = binding.link.number;
        let Some(before) = before else {
            for missing in (1..number).take(GAPS_MAX) {
                self.finds(Fault::Missing, Kind::Binding, keys::binding(&self.tenant, binding.link.day, missing));
            }
            if number == 1 && (binding.after.is_some() || binding.lanes.iter().any(|lane| lane.number > 0)) {
                self.finds(Fault::BrokenLink, Kind::Binding, key.clone());
            }
            return;
        };
        let next = before.link.number.saturating_add(1);
        let missing = (next..number).take(GAPS_MAX);
        for number in missing {
            self.finds(Fault::Missing, Kind::Binding, keys::binding(&self.tenant, before.link.day, number));
        }
        let follows =
            number == next && binding.after.map(|after| after.to_string()).as_ref() == Some(&before.link.hash);
        let pairs = || before.lanes.iter().zip(&binding.lanes);
        let grows = before.lanes.len() <= binding.lanes.len() && pairs().all(|(seen, lane)| seen.number <= lane.number);
        let opens = binding.lanes.iter().skip(before.lanes.len()).all(|lane| lane.number == 0);
        if !(follows && grows && opens) {
            self.finds(Fault::BrokenLink, Kind::Binding, key.clone());
        }
    }

    /// Adds the item under a segment's key, in the order of a lane's keys. Returns the segment if its records are to be
    /// checked; not if it is outside the lane's range.
    pub fn segment(&mut self, key: &Key, item: &Item) -> Option<LaneSegment> {
        let Ok(segment) = LaneSegment::read(&self.tenant, key, item) else {
            self.finds(Fault::Edited, Kind::Segment, key.clone());
            return None;
        };
        let LaneLink { lane, number, .. } = segment.link;
        let (head, range) = self.place(lane)?;
        if number > head.number {
            self.beyond.insert(lane);
            return None;
        }
        if !(range.first..=range.last).contains(&number) {
            return None;
        }
        let hash = LaneSegment::digest(&self.tenant, item);
        if hash == segment.link.hash {
            self.roots.segment(&segment.link);
        } else {
            self.finds(Fault::Edited, Kind::Segment, key.clone());
        }
        self.has_expected |= self.expected.as_ref() == Some(&hash.to_string());
        self.follow(&segment, key);
        let wrong = self.named.remove(&(lane, number)).unwrap_or_default();
        for named in wrong.into_iter().filter(|named| named.link.hash != hash) {
            self.finds(Fault::BrokenLink, named.kind, named.by);
        }
        if segment.records.iter().any(|(key, _)| segment.lanes.lane_of(key) != lane) {
            self.finds(Fault::BrokenLink, Kind::Segment, key.clone());
        }
        let count = u64::try_from(segment.records.len()).unwrap_or(u64::MAX);
        let before = self.last.get(&lane).map_or(0, |(_, records)| *records);
        self.last.insert(lane, (LaneLink { hash, ..segment.link }, before.saturating_add(count)));
        self.segments = self.segments.saturating_add(1);
        Some(segment)
    }

    /// Whether a segment's key is after the range of its lane.
    #[must_use]
    pub fn is_past(&self, key: &Key) -> bool {
        let number = key.sk().rsplit('#').next().and_then(|number| number.parse::<u64>().ok());
        let past = |lane: &super::LaneHead, range: &LaneRange, number: u64| {
            number > range.last && *key == keys::lane_segment(&self.tenant, lane.link.lane, number)
        };
        self.heads
            .lanes
            .iter()
            .zip(&self.ranges)
            .any(|(lane, range)| number.is_some_and(|number| past(lane, range, number)))
    }

    /// Checks that a segment follows the one before it.
    fn follow(&mut self, segment: &LaneSegment, key: &Key) {
        let LaneLink { lane, number, .. } = segment.link;
        let before = self.last.get(&lane).map(|(before, _)| *before);
        let first = self.place(lane).map_or(1, |(_, range)| range.first);
        let next = before.map_or(first, |before| before.number.saturating_add(1));
        for missing in (next..number).take(GAPS_MAX) {
            self.finds(Fault::Missing, Kind::Segment, keys::lane_segment(&self.tenant, lane, missing));
        }
        match before {
            _ if number == 1 => {
                let opened = self.opened.get(&lane);
                if opened.is_some_and(|opened| *opened != segment.after.to_string()) {
                    self.finds(Fault::BrokenLink, Kind::Segment, key.clone());
                }
            }
            Some(before) if before.number.saturating_add(1) == number => {
                if before.hash != segment.after {
                    self.finds(Fault::BrokenLink, Kind::Segment, key.clone());
                }
            }
            // What is before it was not read, or is missing.
            Some(_) | None => {
                let link = LaneLink { lane, number: number.saturating_sub(1), hash: segment.after };
                self.name(link, Kind::Segment, key);
            }
        }
    }

    /// Checks the items under the keys of a segment's records, given in their order.
    pub fn records(&mut self, segment: &LaneSegment, items: &[Option<Item>]) {
        let stamp = segment.link.stamp();
        for (at, (key, hash)) in segment.records.iter().enumerate() {
            self.records = self.records.saturating_add(1);
            match items.get(at).and_then(Option::as_ref) {
                None => self.finds(Fault::Missing, Kind::Record, key.clone()),
                Some(item) if digest(item) != *hash || segment_of(item) != Ok(Some(stamp.as_str())) => {
                    self.finds(Fault::Edited, Kind::Record, key.clone());
                }
                Some(item) if !is_as_hashed(item) => self.finds(Fault::OtherMemo, Kind::Record, key.clone()),
                Some(_) => {}
            }
        }
    }

    /// The segments that were named and not read. Those of heads are among them if their lanes were not read to the end.
    #[must_use]
    pub fn named(&self) -> Vec<(LaneLink, Key)> {
        let heads = self.heads.lanes.iter().zip(&self.ranges);
        let heads = heads.filter(|(lane, range)| range.last < lane.link.number).map(|(lane, _)| lane.link);
        let named = self.named.values().flatten().map(|named| named.link).chain(heads);
        let distinct: BTreeMap<(u32, u64), LaneLink> = named.map(|link| ((link.lane, link.number), link)).collect();
        distinct.into_values().map(|link| (link, keys::lane_segment(&self.tenant, link.lane, link.number))).collect()
    }

    /// Adds the item under the key of a named segment.
    pub fn outside(&mut self, link: LaneLink, key: &Key, item: Option<&Item>) {
        let named = self.named.remove(&(link.lane, link.number)).unwrap_or_default();
        let Some(hash) = item.map(|item| LaneSegment::digest(&self.tenant, item)) else {
            self.finds(Fault::Missing, Kind::Segment, key.clone());
            return;
        };
        for named in named.into_iter().filter(|named| named.link.hash != hash) {
            self.finds(Fault::BrokenLink, named.kind, named.by);
        }
        let head = self.place(link.lane).map(|(head, _)| head);
        if head.is_some_and(|head| head.number == link.number && head.hash != hash) {
            self.finds(Fault::BrokenLink, Kind::Chain, keys::lane_head(&self.tenant, link.lane));
        }
    }

    /// The last binding, if it was not read.
    #[must_use]
    pub fn named_binding(&self) -> Option<Key> {
        let last = &self.heads.trail.last;
        let is_read = self.bound.as_ref().is_some_and(|bound| bound.link.number >= last.number);
        (!is_read).then(|| keys::binding(&self.tenant, last.day, last.number))
    }

    /// Adds the item under the key of the last binding.
    pub fn outside_binding(&mut self, key: &Key, item: Option<&Item>) {
        match item.map(|item| Binding::read(&self.tenant, key, item).map(|binding| (binding, Binding::digest(item)))) {
            None => self.finds(Fault::Missing, Kind::Binding, key.clone()),
            Some(Err(_)) => self.finds(Fault::Edited, Kind::Binding, key.clone()),
            Some(Ok((binding, hash))) => {
                self.bound =
                    Some(Binding { link: BindingLink { hash: hash.to_string(), ..binding.link.clone() }, ..binding });
            }
        }
    }

    /// The faults. `again` are the heads as they were read at the end; what was written in between is not judged.
    /// `lanes_beyond` are lanes above the number of lanes that have a head.
    #[must_use]
    pub fn finish(mut self, again: &Heads, lanes_beyond: &[u32]) -> Vec<Finding> {
        let trail_key = keys::lanes(&self.tenant);
        let trail = self.heads.trail.clone();
        let is_last = |bound: &Binding| bound.link == trail.last && bound.count() == trail.lanes.count();
        // A binding that is missing is named by its key.
        if self.bound.as_ref().is_some_and(|bound| !is_last(bound)) {
            self.finds(Fault::BrokenLink, Kind::Chain, trail_key.clone());
        }
        if self.is_bound_beyond && again.trail.last.number == trail.last.number {
            self.finds(Fault::BrokenLink, Kind::Chain, trail_key.clone());
        }
        if again.trail.lanes == trail.lanes {
            for lane in lanes_beyond {
                self.finds(Fault::BrokenLink, Kind::Chain, keys::lane_head(&self.tenant, *lane));
            }
        }
        for at in 0..self.heads.lanes.len() {
            self.check_lane(at, again);
        }
        let wrong: Vec<Key> = self.roots.wrong().cloned().collect();
        for key in wrong {
            self.finds(Fault::BrokenLink, Kind::Binding, key);
        }
        self.found.into_iter().collect()
    }

    /// Checks that a lane was read to the end of its range, and its head.
    fn check_lane(&mut self, at: usize, again: &Heads) {
        let (Some(head), Some(range)) = (self.heads.lanes.get(at).cloned(), self.ranges.get(at).copied()) else {
            return;
        };
        let lane = head.link.lane;
        let key = keys::lane_head(&self.tenant, lane);
        let read = self.last.get(&lane).copied();
        let next = read.map_or(range.first, |(last, _)| last.number.saturating_add(1));
        for missing in (next..=range.last).take(GAPS_MAX) {
            self.finds(Fault::Missing, Kind::Segment, keys::lane_segment(&self.tenant, lane, missing));
        }
        let is_whole = range.first == 1 && range.last == head.link.number;
        let is_wrong = match read {
            Some((last, _)) if last.number == head.link.number && last.hash != head.link.hash => true,
            Some((last, records)) => is_whole && last.number == head.link.number && records != head.records,
            None => {
                let opened = self.opened.get(&lane);
                head.link.number == 0 && opened.is_some_and(|opened| *opened != head.link.hash.to_string())
            }
        };
        let unmoved = again.lanes.get(at).map(|again| again.link.number) == Some(head.link.number);
        if is_wrong || head.lanes != self.heads.trail.lanes || (self.beyond.contains(&lane) && unmoved) {
            self.finds(Fault::BrokenLink, Kind::Chain, key);
        }
    }

    fn place(&self, lane: u32) -> Option<(LaneLink, LaneRange)> {
        let at = usize::try_from(lane).ok()?;
        Some((self.heads.lanes.get(at)?.link, *self.ranges.get(at)?))
    }

    fn name(&mut self, link: LaneLink, kind: Kind, by: &Key) {
        self.named.entry((link.lane, link.number)).or_default().push(NamedSegment { link, kind, by: by.clone() });
    }

    fn finds(&mut self, fault: Fault, kind: Kind, key: Key) {
        self.found.insert(Finding { fault, kind, key });
    }
}

impl Heads {
    /// The ranges of all segments.
    #[must_use]
    pub fn whole(&self) -> Vec<LaneRange> {
        self.lanes.iter().map(|lane| LaneRange { first: 1, last: lane.link.number }).collect()
    }

    /// The ranges of the segments that were written after the binding `before` and until the binding `until`.
    #[must_use]
    pub fn between(&self, before: Option<&Binding>, until: Option<&Binding>) -> Vec<LaneRange> {
        let number = |binding: &Binding, lane: &LaneLink| {
            usize::try_from(lane.lane).ok().and_then(|at| binding.lanes.get(at)).map_or(0, |lane| lane.number)
        };
        let range = |lane: &LaneLink| LaneRange {
            first: before.map_or(0, |binding| number(binding, lane)).saturating_add(1),
            last: until.map_or(lane.number, |binding| number(binding, lane)),
        };
        self.lanes.iter().map(|lane| range(&lane.link)).collect()
    }
}
