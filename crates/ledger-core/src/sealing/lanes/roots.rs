//! The root that a binding covers: of a Merkle tree over its lanes, in their order, each with the root of the segments that
//! were written in it since the binding before, in their order.

use super::super::canonical::SealHash;
use super::super::merkle::{Sibling, Tree, path};
use super::{Binding, Heads, LaneLink, LaneRange};
use crate::keys::Key;
use crate::transaction::BuildError;

/// The segments of all lanes since a binding, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbound {
    ranges: Vec<LaneRange>,
    lanes: Vec<Vec<SealHash>>,
}

impl Unbound {
    fn new(ranges: Vec<LaneRange>) -> Self {
        let lanes = ranges.iter().map(|_| Vec::new()).collect();
        Self { ranges, lanes }
    }

    /// The ranges.
    #[must_use]
    pub fn ranges(&self) -> &[LaneRange] {
        &self.ranges
    }

    /// Adds the next segment of its lane; `false` if it is not the next one of the lane's range.
    pub fn add(&mut self, segment: &LaneLink) -> bool {
        let at = usize::try_from(segment.lane).unwrap_or(usize::MAX);
        let Some((range, read)) = self.ranges.get(at).zip(self.lanes.get_mut(at)) else { return false };
        let next = range.first.saturating_add(u64::try_from(read.len()).unwrap_or(u64::MAX));
        let is_next = segment.number == next && next <= range.last;
        read.extend(is_next.then_some(segment.hash));
        is_next
    }

    /// The root, with as many lanes: those that are opened have no segment. `None` unless every segment was read.
    pub(super) fn root(&self, lanes: usize) -> Option<SealHash> {
        let opened = std::iter::repeat_n(Tree::default().root(), lanes.saturating_sub(self.lanes.len()));
        self.is_whole().then(|| root_of_lanes(self.roots().chain(opened)))
    }

    /// The path from a segment to the root of its lane, and from that to the root; `None` unless every segment was read, and
    /// it is among them.
    #[must_use]
    pub fn paths(&self, (lane, number): (u32, u64)) -> Option<(Vec<Sibling>, Vec<Sibling>)> {
        let lane = usize::try_from(lane).ok()?;
        let at = usize::try_from(number.checked_sub(self.ranges.get(lane)?.first)?).ok()?;
        let in_lane = path(self.lanes.get(lane)?, at)?;
        let roots: Vec<SealHash> = self.roots().collect();
        path(&roots, lane).filter(|_| self.is_whole()).map(|of_lanes| (in_lane, of_lanes))
    }

    /// Whether every segment was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let count = |range: &LaneRange| range.last.saturating_add(1).saturating_sub(range.first);
        let is_read = |(range, read): (&LaneRange, &Vec<SealHash>)| u64::try_from(read.len()) == Ok(count(range));
        self.ranges.iter().zip(&self.lanes).all(is_read)
    }

    fn roots(&self) -> impl Iterator<Item = SealHash> {
        self.lanes.iter().map(|read| Tree::of(read.iter().copied()).root())
    }
}

/// The bindings that were read, whose roots are compared once the segments are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Roots(Vec<BoundRoot>);

#[derive(Clone, Debug)]
struct BoundRoot {
    key: Key,
    root: SealHash,
    lanes: Vec<BoundLane>,
}

/// A lane's segments of a binding, as far as they were read.
#[derive(Clone, Debug)]
struct BoundLane {
    /// The number of the last segment before them.
    after: u64,
    /// The number of the last of them.
    until: u64,
    /// The number of those that were read and are as they were written.
    read: u64,
    tree: Tree,
}

impl Roots {
    /// Adds a binding after the one before it. `before` is `None` for the first of the trail.
    pub(super) fn add(&mut self, before: Option<&Binding>, binding: &Binding, key: &Key) {
        let number = |at: usize| before.and_then(|before| before.lanes.get(at)).map_or(0, |lane| lane.number);
        let lane = |(at, lane): (usize, &LaneLink)| BoundLane {
            after: number(at),
            until: lane.number,
            read: 0,
            tree: Tree::default(),
        };
        let lanes = binding.lanes.iter().enumerate().map(lane).collect();
        self.0.push(BoundRoot { key: key.clone(), root: binding.root, lanes });
    }

    /// Adds a segment that is as it was written. Those of a lane are added in their order.
    pub(super) fn segment(&mut self, segment: &LaneLink) {
        let at = usize::try_from(segment.lane).unwrap_or(usize::MAX);
        let until = |bound: &BoundRoot| bound.lanes.get(at).map_or(0, |lane| lane.until);
        let place = self.0.partition_point(|bound| until(bound) < segment.number);
        let lane = self.0.get_mut(place).and_then(|bound| bound.lanes.get_mut(at));
        if let Some(lane) = lane.filter(|lane| lane.after < segment.number) {
            lane.read = lane.read.saturating_add(1);
            lane.tree.add(segment.hash);
        }
    }

    /// The bindings of which all segments were read, and whose root is another.
    pub(super) fn wrong(&self) -> impl Iterator<Item = &Key> {
        let is_read = |lane: &BoundLane| lane.until.checked_sub(lane.after) == Some(lane.read);
        let read = self.0.iter().filter(move |bound| bound.lanes.iter().all(is_read));
        let root = |bound: &BoundRoot| root_of_lanes(bound.lanes.iter().map(|lane| lane.tree.root()));
        read.filter(move |bound| root(bound) != bound.root).map(|bound| &bound.key)
    }
}

/// The root of the roots of all lanes.
pub(super) fn root_of_lanes(roots: impl IntoIterator<Item = SealHash>) -> SealHash {
    Tree::of(roots).root()
}

impl Binding {
    /// The segments of this binding, none of which is read yet. `before` is the binding before it; `None` for the first.
    #[must_use]
    pub fn unread(&self, before: Option<&Self>) -> Unbound {
        Unbound::new(self.lanes.iter().map(|lane| lane.since(before, lane.number)).collect())
    }
}

impl LaneLink {
    /// The numbers of its lane's segments since a binding, up to `last`.
    fn since(&self, binding: Option<&Binding>, last: u64) -> LaneRange {
        let bound = binding.and_then(|binding| binding.lanes.get(usize::try_from(self.lane).ok()?));
        LaneRange { first: bound.map_or(0, |lane| lane.number).saturating_add(1), last }
    }
}

impl Heads {
    /// The root of what a binding of these heads covers, with as many lanes.
    pub(super) fn root(&self, unbound: &Unbound, lanes: usize) -> Result<SealHash, BuildError> {
        let is_last = |(range, lane): (&LaneRange, &super::LaneHead)| range.last == lane.link.number;
        let is_of_heads =
            unbound.ranges.len() == self.lanes.len() && unbound.ranges.iter().zip(&self.lanes).all(is_last);
        unbound.root(lanes).filter(|_| is_of_heads).ok_or(BuildError::SegmentsUnread)
    }

    /// The segments since the last binding, none of which is read yet.
    #[must_use]
    pub fn unbound(&self, last: &Binding) -> Unbound {
        Unbound::new(self.lanes.iter().map(|lane| lane.link.since(Some(last), lane.link.number)).collect())
    }
}
