//! The sealed entries of a tenant, or the sealed beginnings of its top-ups, those that were sealed last first.
//!
//! The order is that of the segments: by the time of sealing, of equal times the lower lane first; then the chain of days,
//! its last day first. Within a segment the newest id is first. A lane's times never decrease, so the place of every
//! entry is fixed once it is sealed: what is sealed later comes before all of them, and none is met twice or skipped.

use super::lanes::{Binding, Heads, LaneSegment};
use super::segment::Segment;
use crate::account::Account;
use crate::dynamo::{Item, ItemError};
use crate::ids::{Tenant, TopupId, born_at};
use crate::keys::{self, Key};
use crate::reads::{self, Query};
use crate::time::{CLOCK_SKEW, Timestamp, UtcDay};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use uuid::Uuid;

/// The most segments of the chain of days that are read at once.
const DAYS_AT_ONCE: usize = 8;
/// The time after an entry's request in which it is sealed, or the worker did not run.
const SEALED_WITHIN: Duration = Duration::from_secs(60 * 60);
/// Entries of the chain of days have a `created_at` within this time of the time in their id.
const DAYS_MARGIN: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// A place in the order of sealed entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealedPlace {
    /// In the lanes.
    Lanes {
        /// The next segment of each lane; 0 if none is left.
        next: Vec<u64>,
        /// The last entry that was met of the first of these segments; `None` before its first.
        met: Option<Uuid>,
    },
    /// In the chain of days.
    Days {
        /// Segments before this day and number follow; `None`: all.
        before: Option<(UtcDay, u32)>,
        /// The last entry that was met of the first of these segments; `None` before its first.
        met: Option<Uuid>,
    },
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
    /// These segments of lanes are to be read, and given to [`SealedWalk::add_segments`].
    Segments(Vec<Key>),
    /// These segments of the chain of days are to be read, and given to [`SealedWalk::add_days`].
    Days(Query),
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
    days: VecDeque<Segment>,
}

impl SealedPlace {
    /// The place before everything that is sealed by these heads; `None`: the trail has no lanes.
    #[must_use]
    pub fn first(heads: Option<&Heads>, range: SealedRange) -> Self {
        match heads {
            Some(heads) => Self::Lanes { next: heads.lanes.iter().map(|lane| lane.link.number).collect(), met: None },
            None => Self::first_of_days(range),
        }
    }

    /// The place before everything that was bound.
    #[must_use]
    pub fn bound(binding: &Binding) -> Self {
        Self::Lanes { next: binding.lanes.iter().map(|lane| lane.number).collect(), met: None }
    }

    /// Whether a place that a client sent exists under these heads.
    #[must_use]
    pub fn is_of(&self, heads: Option<&Heads>) -> bool {
        match self {
            Self::Lanes { next, .. } => heads.is_some_and(|heads| {
                next.len() <= heads.lanes.len()
                    && next.iter().zip(&heads.lanes).all(|(next, lane)| *next <= lane.link.number)
            }),
            Self::Days { .. } => true,
        }
    }

    fn first_of_days(range: SealedRange) -> Self {
        Self::Days { before: range.until.map(|until| (until.plus(DAYS_MARGIN).utc_day(), 0)), met: None }
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
        Self { tenant, kind, range, place, lanes: BTreeMap::new(), days: VecDeque::new() }
    }

    /// Where the walk is: before the next segment.
    #[must_use]
    pub fn place(&self) -> &SealedPlace {
        &self.place
    }

    /// The next step. At most `segments_max` segments are asked for, which must be at least 1.
    #[must_use]
    pub fn step(&mut self, segments_max: usize) -> SealedStep {
        match self.place.clone() {
            SealedPlace::Lanes { next, met } => self.step_in_lanes(next, met, segments_max),
            SealedPlace::Days { before, met } => self.step_in_days(before, met, segments_max),
        }
    }

    /// Adds segments of lanes that were asked for.
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

    /// Adds segments of the chain of days that were asked for. Returns whether there are any: else the chain is at its end.
    ///
    /// # Errors
    /// [`ItemError`] if one is malformed.
    pub fn add_days(&mut self, items: &[Item]) -> Result<bool, ItemError> {
        for item in items {
            self.days.push_back(Segment::read(&self.tenant, item)?);
        }
        Ok(!items.is_empty())
    }

    fn step_in_lanes(&mut self, next: Vec<u64>, met: Option<Uuid>, segments_max: usize) -> SealedStep {
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
            self.place = SealedPlace::first_of_days(self.range);
            return SealedStep::Entries(Vec::new());
        };
        let after = |id| SealedPlace::Lanes { next: next.clone(), met: Some(id) };
        let entries = self.entries(segment.records.iter().map(|(key, _)| key), met, after);
        let rest = |(of, next): (usize, u64)| if of == lane { number.saturating_sub(1) } else { next };
        let _ = self.lanes.remove(&(lane, number));
        self.place = SealedPlace::Lanes { next: next.iter().copied().enumerate().map(rest).collect(), met: None };
        SealedStep::Entries(entries)
    }

    fn step_in_days(&mut self, before: Option<(UtcDay, u32)>, met: Option<Uuid>, segments_max: usize) -> SealedStep {
        let Some(segment) = self.days.pop_front() else {
            let query = reads::segments(&self.tenant, UtcDay::MIN, UtcDay::MAX).newest_first();
            let after = before.map(|(day, number)| keys::seal(&self.tenant, day, number).sk().to_owned());
            return SealedStep::Days(query.after(after).limit(segments_max.clamp(1, DAYS_AT_ONCE)));
        };
        let (day, number) = (segment.link.day, segment.link.number);
        if self.range.is_over(day.end()) {
            return SealedStep::End;
        }
        let after = |id| SealedPlace::Days { before: Some((day, number.saturating_add(1))), met: Some(id) };
        let entries = self.entries(segment.records.iter().map(|(key, _)| key), met, after);
        self.place = SealedPlace::Days { before: Some((day, number)), met: None };
        SealedStep::Entries(entries)
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
