//! Verifies the chain of days: a fold over segments, the records that they list, and the stored progress of the days and of
//! the chain. The caller reads the items; this module reports what is wrong.

use super::canonical::digest;
use super::holder::Sealing;
use super::segment::{Link, SealedDay, Segment, segment_of};
use crate::dynamo::Item;
use crate::ids::Tenant;
use crate::keys::{self, Key};
use crate::time::UtcDay;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most missing segments of a day that are named. A forged day could claim a billion.
pub(super) const GAPS_MAX: usize = 1000;

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The item is not as it was when it was sealed.
    Edited,
    /// The item was sealed, or must have existed, and is missing.
    Missing,
    /// The item does not follow the segment that it names.
    BrokenLink,
    /// The record should have been sealed long before.
    Unsealed,
    /// The chain does not have the expected head.
    OtherHead,
}

/// The kind of item that has the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A record: an entry, an act or a step.
    Record,
    /// A segment.
    Segment,
    /// The progress of a day.
    Day,
    /// A binding of the lanes.
    Binding,
    /// The end of a chain.
    Chain,
}

/// A fault, and the item that has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The fault.
    pub fault: Fault,
    /// The kind of the item.
    pub kind: Kind,
    /// The item's key.
    pub key: Key,
}

/// The parts of a chain that were read so far, with the faults found.
#[derive(Clone, Debug)]
pub struct Chain {
    tenant: Tenant,
    found: BTreeSet<Finding>,
    /// The hashes of the segments, by day and number.
    hashes: BTreeMap<(UtcDay, u32), String>,
    /// The segment that each segment follows; `None` for the first of all.
    links: Vec<(Key, Option<Link>)>,
    /// The records of each day's segments, and the stored progress of the day.
    days: BTreeMap<UtcDay, Day>,
    /// The hashes of segments that were named but not among those read; `None` if there is no such segment.
    outside: BTreeMap<(UtcDay, u32), Option<String>>,
    /// The days that have segments beyond their stored progress.
    beyond: BTreeSet<UtcDay>,
    records: u64,
}

#[derive(Clone, Debug)]
struct Day {
    records: u32,
    recorded: SealedDay,
}

/// How a chain was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Whether every day was read.
    pub is_whole: bool,
    /// Whether nothing was sealed during the read.
    pub is_still: bool,
}

impl Fault {
    /// The stable name, in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edited => "edited",
            Self::Missing => "missing",
            Self::BrokenLink => "broken_link",
            Self::Unsealed => "unsealed",
            Self::OtherHead => "other_head",
        }
    }
}

impl Kind {
    /// The stable name, in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Segment => "segment",
            Self::Day => "day",
            Self::Binding => "binding",
            Self::Chain => "chain",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.fault.name(), self.kind.name(), self.key.pk(), self.key.sk())
    }
}

impl Chain {
    /// The empty state for a tenant's chain.
    #[must_use]
    pub fn new(tenant: &Tenant) -> Self {
        Self {
            tenant: tenant.clone(),
            found: BTreeSet::new(),
            hashes: BTreeMap::new(),
            links: Vec::new(),
            days: BTreeMap::new(),
            outside: BTreeMap::new(),
            beyond: BTreeSet::new(),
            records: 0,
        }
    }

    /// The numbers of segments and records that were checked.
    #[must_use]
    pub fn looked_at(&self) -> (usize, u64) {
        (self.hashes.len(), self.records)
    }

    /// Adds the stored progress of a day. It must be added before the day's segments.
    pub fn day(&mut self, key: &Key, item: &Item) {
        match SealedDay::read(item) {
            Ok(recorded) if *key == keys::sealed_day(&self.tenant, recorded.last.day) => {
                let _ = self.days.insert(recorded.last.day, Day { records: 0, recorded });
            }
            Ok(_) | Err(_) => self.finds(Fault::Edited, Kind::Day, key.clone()),
        }
    }

    /// Adds the item under a segment's key. Returns the segment if its records are to be checked; not if it is beyond
    /// the day's stored progress.
    pub fn segment(&mut self, key: &Key, item: &Item) -> Option<Segment> {
        let read = Segment::read(&self.tenant, item).ok();
        let own = |of: &Segment| *key == keys::seal(&self.tenant, of.link.day, of.link.number);
        let Some(segment) = read.filter(own) else {
            self.finds(Fault::Edited, Kind::Segment, key.clone());
            return None;
        };
        let Link { day, number, .. } = segment.link;
        let Some(of) = self.days.get_mut(&day).filter(|of| number <= of.recorded.last.number) else {
            self.beyond.insert(day);
            return None;
        };
        of.records = of.records.saturating_add(u32::try_from(segment.records.len()).unwrap_or(u32::MAX));
        let hash = Segment::digest(item);
        if hash != segment.link.hash {
            self.finds(Fault::Edited, Kind::Segment, key.clone());
        }
        self.hashes.insert((day, number), hash);
        self.links.push((key.clone(), segment.after.clone()));
        Some(segment)
    }

    /// Checks the items under the keys of a segment's records, given in their order.
    pub fn records(&mut self, segment: &Segment, items: &[Option<Item>]) {
        let stamp = segment.link.stamp();
        for (at, (key, hash)) in segment.records.iter().enumerate() {
            self.records = self.records.saturating_add(1);
            match items.get(at).and_then(Option::as_ref) {
                None => self.finds(Fault::Missing, Kind::Record, key.clone()),
                Some(item) if digest(item).to_string() != *hash || segment_of(item) != Ok(Some(stamp.as_str())) => {
                    self.finds(Fault::Edited, Kind::Record, key.clone());
                }
                Some(_) => {}
            }
        }
    }

    /// Adds a record that was not sealed for too long.
    pub fn unsealed(&mut self, key: Key) {
        self.finds(Fault::Unsealed, Kind::Record, key);
    }

    /// The segments that were named by those read, and not read themselves.
    #[must_use]
    pub fn named(&self, sealing: Option<&Sealing>) -> Vec<(Link, Key)> {
        let last = sealing.and_then(|sealing| sealing.last.as_ref());
        let links = self.links.iter().filter_map(|(_, after)| after.as_ref()).chain(last);
        let unread = links.filter(|link| !self.hashes.contains_key(&(link.day, link.number)));
        let unread: BTreeSet<&Link> = unread.collect();
        unread.into_iter().map(|link| (link.clone(), keys::seal(&self.tenant, link.day, link.number))).collect()
    }

    /// Adds the item under the key of a named segment.
    pub fn outside(&mut self, link: &Link, item: Option<&Item>) {
        self.outside.insert((link.day, link.number), item.map(Segment::digest));
    }

    /// Whether a segment of those read has this hash.
    #[must_use]
    pub fn has_hash(&self, expected: &str) -> bool {
        self.hashes.values().any(|hash| hash == expected)
    }

    /// The faults, given the stored end of the chain.
    #[must_use]
    pub fn finish(mut self, sealing: Option<&Sealing>, read: Read) -> Vec<Finding> {
        for (day, of) in std::mem::take(&mut self.days) {
            self.check_day(day, &of);
        }
        if read.is_still {
            for day in std::mem::take(&mut self.beyond) {
                self.finds(Fault::Edited, Kind::Day, keys::sealed_day(&self.tenant, day));
            }
        }
        self.check_links();
        self.check_end(sealing, read.is_whole);
        self.found.into_iter().collect()
    }

    /// Checks that a day's segments are numbered without a gap, up to its stored progress.
    fn check_day(&mut self, day: UtcDay, of: &Day) {
        let last = &of.recorded.last;
        let missing = (1..=last.number).filter(|number| !self.hashes.contains_key(&(day, *number)));
        let missing: Vec<u32> = missing.take(GAPS_MAX).collect();
        let is_whole = missing.is_empty();
        for number in missing {
            self.finds(Fault::Missing, Kind::Segment, keys::seal(&self.tenant, day, number));
        }
        let key = keys::sealed_day(&self.tenant, day);
        if self.hashes.get(&(day, last.number)) != Some(&last.hash) {
            self.finds(Fault::BrokenLink, Kind::Day, key);
        } else if is_whole && of.recorded.records != of.records {
            self.finds(Fault::Edited, Kind::Day, key);
        }
    }

    /// Checks that each segment follows an existing one, and that no two follow the same.
    fn check_links(&mut self) {
        let mut followed = BTreeSet::<Option<(UtcDay, u32)>>::new();
        for (key, after) in std::mem::take(&mut self.links) {
            if !followed.insert(after.as_ref().map(|link| (link.day, link.number))) {
                self.finds(Fault::BrokenLink, Kind::Segment, key.clone());
            }
            if let Some(link) = after {
                self.check_link(&link, Kind::Segment, key);
            }
        }
    }

    /// Checks the stored end of the chain.
    fn check_end(&mut self, sealing: Option<&Sealing>, is_whole: bool) {
        let key = keys::sealing(&self.tenant);
        let Some(sealing) = sealing else {
            if !self.hashes.is_empty() {
                self.finds(Fault::Missing, Kind::Chain, key);
            }
            return;
        };
        if is_whole && i64::try_from(self.hashes.len()) != Ok(sealing.segments) {
            self.finds(Fault::BrokenLink, Kind::Chain, key.clone());
        }
        match &sealing.last {
            Some(link) => self.check_link(link, Kind::Chain, key),
            None if !self.hashes.is_empty() => self.finds(Fault::BrokenLink, Kind::Chain, key),
            None => {}
        }
    }

    /// Checks that the segment of a link exists with its hash. `kind` and `key` are those of the item that has the
    /// link.
    fn check_link(&mut self, link: &Link, kind: Kind, key: Key) {
        let place = (link.day, link.number);
        let found_hash = self.hashes.get(&place).or_else(|| self.outside.get(&place).and_then(Option::as_ref));
        match found_hash {
            Some(hash) if *hash == link.hash => {}
            Some(_) => self.finds(Fault::BrokenLink, kind, key),
            None => self.finds(Fault::Missing, Kind::Segment, keys::seal(&self.tenant, link.day, link.number)),
        }
    }

    fn finds(&mut self, fault: Fault, kind: Kind, key: Key) {
        self.found.insert(Finding { fault, kind, key });
    }
}
