//! Whether what was sealed still stands as it was: a fold over segments, the records that they list, and how
//! far days and chain are said to be. Whoever reads them, reads; here it is only said what is wrong.

use super::canonical::digest;
use super::holder::Sealing;
use super::segment::{Link, SealedDay, Segment, segment_of};
use crate::dynamo::Item;
use crate::ids::Tenant;
use crate::keys::{self, Key};
use crate::time::UtcDay;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many missing segments of a day are named: one that is said to have a billion has not lost so many.
const GAPS_MAX: usize = 1000;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It is not as it was when it was sealed.
    Edited,
    /// It was sealed, or must have been there, and is not.
    Missing,
    /// It does not follow what it says that it follows.
    BrokenLink,
    /// It should have been sealed long since.
    Unsealed,
    /// The chain never had the head that is expected of it.
    OtherHead,
}

/// Of which kind of item something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A record: an entry, an act or a step.
    Record,
    /// A segment.
    Segment,
    /// How far a day is sealed.
    Day,
    /// How far the chain goes.
    Chain,
}

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// What.
    pub fault: Fault,
    /// Of what.
    pub kind: Kind,
    /// Which item.
    pub key: Key,
}

/// What has been read of a chain, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Chain {
    tenant: Tenant,
    found: BTreeSet<Finding>,
    /// By day and number: the hash of what stands there.
    hashes: BTreeMap<(UtcDay, u32), String>,
    /// Which segment says that it follows which; none for the first of all.
    links: Vec<(Key, Option<Link>)>,
    /// What the segments of a day come to, and how far it is said to be.
    days: BTreeMap<UtcDay, Day>,
    /// Segments that were named and not read: none if there is no such segment.
    outside: BTreeMap<(UtcDay, u32), Option<String>>,
    /// Segments that no day is said to have.
    beyond: BTreeSet<UtcDay>,
    records: u64,
}

#[derive(Clone, Debug)]
struct Day {
    records: u32,
    said: SealedDay,
}

/// How a chain was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Every day there is.
    pub is_whole: bool,
    /// Nothing was sealed meanwhile.
    pub is_still: bool,
}

impl Fault {
    /// Its name in reports.
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
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Segment => "segment",
            Self::Day => "day",
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
    /// Nothing of a tenant's chain yet.
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

    /// How many segments and records have been looked at.
    #[must_use]
    pub fn looked_at(&self) -> (usize, u64) {
        (self.hashes.len(), self.records)
    }

    /// Takes how far a day is said to be sealed: before its segments.
    pub fn day(&mut self, key: &Key, item: &Item) {
        match SealedDay::read(item) {
            Ok(said) if *key == keys::sealed_day(&self.tenant, said.last.day) => {
                let _ = self.days.insert(said.last.day, Day { records: 0, said });
            }
            Ok(_) | Err(_) => self.finds(Fault::Edited, Kind::Day, key.clone()),
        }
    }

    /// Takes what stands under a segment's key. The segment is given back if its records are to be looked at:
    /// not if its day is not said to be so far.
    pub fn segment(&mut self, key: &Key, item: &Item) -> Option<Segment> {
        let read = Segment::read(&self.tenant, item).ok();
        let own = |of: &Segment| *key == keys::seal(&self.tenant, of.link.day, of.link.number);
        let Some(segment) = read.filter(own) else {
            self.finds(Fault::Edited, Kind::Segment, key.clone());
            return None;
        };
        let Link { day, number, .. } = segment.link;
        let Some(of) = self.days.get_mut(&day).filter(|of| number <= of.said.last.number) else {
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

    /// Takes what stands under the keys of a segment's records, in their order.
    pub fn records(&mut self, segment: &Segment, items: &[Option<Item>]) {
        let stamp = segment.link.stamp();
        for (at, (key, hash)) in segment.records.iter().enumerate() {
            self.records = self.records.saturating_add(1);
            match items.get(at).and_then(Option::as_ref) {
                None => self.finds(Fault::Missing, Kind::Record, key.clone()),
                Some(item) if digest(item) != *hash || segment_of(item) != Ok(Some(stamp.as_str())) => {
                    self.finds(Fault::Edited, Kind::Record, key.clone());
                }
                Some(_) => {}
            }
        }
    }

    /// Takes a record that has been waiting to be sealed for too long.
    pub fn unsealed(&mut self, key: Key) {
        self.finds(Fault::Unsealed, Kind::Record, key);
    }

    /// The segments that are named by what has been read, and have not been read themselves.
    #[must_use]
    pub fn named(&self, sealing: Option<&Sealing>) -> Vec<(Link, Key)> {
        let last = sealing.and_then(|sealing| sealing.last.as_ref());
        let links = self.links.iter().filter_map(|(_, after)| after.as_ref()).chain(last);
        let unread = links.filter(|link| !self.hashes.contains_key(&(link.day, link.number)));
        let unread: BTreeSet<&Link> = unread.collect();
        unread.into_iter().map(|link| (link.clone(), keys::seal(&self.tenant, link.day, link.number))).collect()
    }

    /// Takes what stands under the key of a segment that was named.
    pub fn outside(&mut self, link: &Link, item: Option<&Item>) {
        self.outside.insert((link.day, link.number), item.map(Segment::digest));
    }

    /// What is wrong, given how far the chain is said to go. `expected` is the hash of a segment that must be
    /// among those that were read.
    #[must_use]
    pub fn finish(mut self, sealing: Option<&Sealing>, read: Read, expected: Option<&str>) -> Vec<Finding> {
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
        if expected.is_some_and(|head| !self.hashes.values().any(|hash| hash == head)) {
            self.finds(Fault::OtherHead, Kind::Chain, keys::sealing(&self.tenant));
        }
        self.found.into_iter().collect()
    }

    /// A day's segments are numbered without a gap, and it is as far as it is said to be.
    fn check_day(&mut self, day: UtcDay, of: &Day) {
        let last = &of.said.last;
        let missing = (1..=last.number).filter(|number| !self.hashes.contains_key(&(day, *number)));
        let missing: Vec<u32> = missing.take(GAPS_MAX).collect();
        let is_whole = missing.is_empty();
        for number in missing {
            self.finds(Fault::Missing, Kind::Segment, keys::seal(&self.tenant, day, number));
        }
        let key = keys::sealed_day(&self.tenant, day);
        if self.hashes.get(&(day, last.number)) != Some(&last.hash) {
            self.finds(Fault::BrokenLink, Kind::Day, key);
        } else if is_whole && of.said.records != of.records {
            self.finds(Fault::Edited, Kind::Day, key);
        }
    }

    /// Each segment follows one that stands, and no two follow the same.
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

    /// The chain ends where it is said to end.
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

    /// What a link names stands, and is what it was. `kind` and `key` are whose link it is.
    fn check_link(&mut self, link: &Link, kind: Kind, key: Key) {
        let place = (link.day, link.number);
        let stands = self.hashes.get(&place).or_else(|| self.outside.get(&place).and_then(Option::as_ref));
        match stands {
            Some(hash) if *hash == link.hash => {}
            Some(_) => self.finds(Fault::BrokenLink, kind, key),
            None => self.finds(Fault::Missing, Kind::Segment, keys::seal(&self.tenant, link.day, link.number)),
        }
    }

    fn finds(&mut self, fault: Fault, kind: Kind, key: Key) {
        self.found.insert(Finding { fault, kind, key });
    }
}
