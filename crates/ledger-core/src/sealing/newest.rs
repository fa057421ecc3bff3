//! The sealed entries of a tenant, or the sealed beginnings of its top-ups, those that were sealed last first.
//!
//! The order is that of the segments: by the time of sealing, of equal times the lower lane first. Within a segment the
//! newest id is first. A lane's times never decrease, so the place of every entry is fixed once it is sealed: what is
//! sealed later comes before all of them, and none is met twice or skipped.

use super::lanes::{Binding, Heads, LaneSegment};
use crate::account::Account;
use crate::dynamo::{Item, ItemError};
use crate::ids::{Tenant, TopupId, born_at};
use crate::keys::{self, Key};
use crate::time::{CLOCK_SKEW, Timestamp};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// The time after an entry's request in which it is sealed, or the worker did not run.
const SEALED_WITHIN: Duration = Duration::from_secs(60 * 60);

/// A place in the order of sealed entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedPlace {
    /// The next segment of each lane; 0 if none is left.
    pub next: Vec<u64>,
    /// The last entry that was met of the first of these segments; `None` before its first.
    pub met: Option<Uuid>,
}

/// What a walk lists, of the records that are sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedKind {
    /// The journal entries of customers and cards, which pay.
    Entries,
    /// The first step of each top-up.
    Topups,
}

/// The range of times of entries, by the time in their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealedRange {
    /// The first instant; `None`: no bound.
    pub from: Option<Timestamp>,
    /// The first instant after the range; `None`: no bound.
    pub until: Option<Timestamp>,
}

/// What a walk needs or has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealedStep {
    /// These segments are to be read, and given to [`SealedWalk::add_segments`].
    Segments(Vec<Key>),
    /// The records of the walk's kind of the next segment within the range, each with the place after it.
    Entries(Vec<(SealedPlace, Key)>),
    /// Nothing follows.
    End,
}

/// A walk through the sealed entries from a place on.
#[derive(Clone, Debug)]
pub struct SealedWalk {
    tenant: Tenant,
    kind: SealedKind,
    range: SealedRange,
    place: SealedPlace,
    lanes: BTreeMap<(usize, u64), LaneSegment>,
}

impl SealedPlace {
    /// The place before everything that is sealed by these heads; `None`: nothing is sealed.
    #[must_use]
    pub fn first(heads: Option<&Heads>) -> Self {
        let lanes = heads.iter().flat_map(|heads| &heads.lanes);
        Self { next: lanes.map(|lane| lane.link.number).collect(), met: None }
    }

    /// The place before everything that was bound.
    #[must_use]
    pub fn bound(binding: &Binding) -> Self {
        Self { next: binding.lanes.iter().map(|lane| lane.number).collect(), met: None }
    }

    /// Whether a place that a client sent exists under these heads.
    #[must_use]
    pub fn is_of(&self, heads: Option<&Heads>) -> bool {
        heads.is_some_and(|heads| {
            self.next.len() <= heads.lanes.len()
                && self.next.iter().zip(&heads.lanes).all(|(next, lane)| *next <= lane.link.number)
        })
    }
}

impl SealedRange {
    /// The time from which on a binding covers what the worker sealed in time; `None` without an end of the range.
    ///
    /// A list begins at the second binding from then on: bindings are at least an hour apart, so that what waited while
    /// the worker did not run is sealed by then.
    #[must_use]
    pub fn sealed_by(&self) -> Option<Timestamp> {
        self.until.map(|until| until.plus(SEALED_WITHIN))
    }

    /// Whether nothing that was sealed at an instant, or before, is in the range.
    fn is_over(&self, sealed_at: Timestamp) -> bool {
        self.from.is_some_and(|from| sealed_at.plus(CLOCK_SKEW) < from)
    }

    fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }
}

impl SealedWalk {
    /// A walk from a place on.
    #[must_use]
    pub fn new(tenant: Tenant, kind: SealedKind, range: SealedRange, place: SealedPlace) -> Self {
        Self { tenant, kind, range, place, lanes: BTreeMap::new() }
    }

    /// Where the walk is: before the next segment.
    #[must_use]
    pub fn place(&self) -> &SealedPlace {
        &self.place
    }

    /// The next step. At most `segments_max` segments are asked for, which must be at least 1.
    #[must_use]
    pub fn step(&mut self, segments_max: usize) -> SealedStep {
        let SealedPlace { next, met } = self.place.clone();
        let open: Vec<(usize, u64)> = next.iter().copied().enumerate().filter(|(_, number)| *number > 0).collect();
        let unread = open.iter().filter(|place| !self.lanes.contains_key(place));
        let unread: Vec<(usize, u64)> = unread.copied().take(segments_max.max(1)).collect();
        if !unread.is_empty() {
            let each = u64::try_from(segments_max.checked_div(open.len()).unwrap_or(1).max(1)).unwrap_or(1);
            let of_lane = |(lane, number): (usize, u64)| {
                let lane = u32::try_from(lane).unwrap_or(u32::MAX);
                let numbers = (number.saturating_sub(each).saturating_add(1)..=number).rev();
                numbers.map(move |number| (lane, number))
            };
            let segments = unread.into_iter().flat_map(of_lane).filter(|(_, number)| *number > 0);
            return SealedStep::Segments(
                segments.map(|(lane, number)| keys::lane_segment(&self.tenant, lane, number)).collect(),
            );
        }
        let read = open.iter().filter_map(|place| Some((*place, self.lanes.get(place)?)));
        // Of those that were sealed last, that of the lowest lane.
        let newest = read.max_by_key(|((lane, _), segment)| (segment.sealed_at, Reverse(*lane)));
        let Some(((lane, number), segment)) = newest.filter(|(_, segment)| !self.range.is_over(segment.sealed_at))
        else {
            return SealedStep::End;
        };
        let after = |id| SealedPlace { next: next.clone(), met: Some(id) };
        let entries = self.entries(segment.records.iter().map(|(key, _)| key), met, after);
        let rest = |(of, next): (usize, u64)| if of == lane { number.saturating_sub(1) } else { next };
        let _ = self.lanes.remove(&(lane, number));
        self.place = SealedPlace { next: next.iter().copied().enumerate().map(rest).collect(), met: None };
        SealedStep::Entries(entries)
    }

    /// Adds segments that were asked for.
    ///
    /// # Errors
    /// [`ItemError`] if one is missing or malformed.
    pub fn add_segments(&mut self, keys: &[Key], items: &[Option<Item>]) -> Result<(), ItemError> {
        for (at, key) in keys.iter().enumerate() {
            let item = items.get(at).and_then(Option::as_ref).ok_or_else(|| ItemError::missing(key.sk()))?;
            let segment = LaneSegment::read(&self.tenant, key, item)?;
            let lane = usize::try_from(segment.link.lane).unwrap_or(usize::MAX);
            let _ = self.lanes.insert((lane, segment.link.number), segment);
        }
        Ok(())
    }

    /// Those of the walk's kind among the records of a segment, after the one that was met.
    fn entries<'a>(
        &self,
        records: impl Iterator<Item = &'a Key>,
        met: Option<Uuid>,
        after: impl Fn(Uuid) -> SealedPlace,
    ) -> Vec<(SealedPlace, Key)> {
        let mut found: Vec<(Uuid, &Key)> = records.filter_map(|key| Some((self.kind.id(key)?, key))).collect();
        found.retain(|(id, _)| {
            met.is_none_or(|met| *id < met) && born_at(*id).is_some_and(|born| self.range.contains(born))
        });
        found.sort_by_key(|(id, _)| Reverse(*id));
        found.into_iter().map(|(id, key)| (after(id), key.clone())).collect()
    }
}

impl SealedKind {
    /// The id by which a record of this kind is sorted; `None` for any other record.
    fn id(self, key: &Key) -> Option<Uuid> {
        match self {
            Self::Entries => match key.entry()? {
                (Account::Customer(_) | Account::Card(_), id) => Some(id.uuid()),
                (Account::Merchant(_) | Account::Tenant(_), _) => None,
            },
            Self::Topups => key.claimed_topup().map(TopupId::uuid),
        }
    }
}

#[cfg(test)]
mod tests;
