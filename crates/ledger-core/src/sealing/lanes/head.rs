//! The heads of a trail's lanes, and the transactions that open, raise and bind the lanes.

use super::super::canonical::SealHash;
use super::super::merkle::Tree;
use super::binding::{Binding, BindingLink};
use super::roots::{Unbound, root_of_lanes};
use super::{HASH, LaneLink, Lanes, VERSION, check_key, check_version, hash_of, lanes_of, whole};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use std::time::Duration;

/// The attribute of a lane's head that names what was last written by its segments: `binding 3`, `batch 5`, `day 2026-11-27`.
const READ_BY: &str = "read_by";
/// The time between bindings while records are sealed.
const BOUND_EVERY: Duration = Duration::from_secs(60 * 60);

/// The head of a trail's lanes: their number, and the last binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailHead {
    /// The number of lanes.
    pub lanes: Lanes,
    /// The last binding.
    pub last: BindingLink,
    /// When it was written.
    pub bound_at: Timestamp,
    /// The number of segments that it covers.
    pub segments: u64,
    /// The number of records in them.
    pub records: u64,
    /// The number of records that were bound on its day.
    pub day_records: u64,
    hash: SealHash,
}

/// The head of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneHead {
    /// The last segment. Before the first, number 0 and the hash of the binding that opened the lane.
    pub link: LaneLink,
    /// The number of lanes of the trail.
    pub lanes: Lanes,
    /// The number of records in its segments.
    pub records: u64,
    /// When the last segment was written.
    pub sealed_at: Timestamp,
    /// Every act whose id has a time before this is sealed. Lane 0 holds it.
    pub acts_until: Timestamp,
}

/// The heads of a trail's lanes, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heads {
    /// The head of all.
    pub trail: TrailHead,
    /// The heads of the lanes, by lane.
    pub lanes: Vec<LaneHead>,
}

impl TrailHead {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(tenant: &Tenant, item: &Item) -> Result<Self, ItemError> {
        check_key(item, &keys::lanes(tenant))?;
        check_version(item)?;
        let (hash, bound_at) = (hash_of(item, HASH)?, item.timestamp("bound_at")?);
        Ok(Self {
            lanes: lanes_of(item)?,
            last: BindingLink { day: bound_at.utc_day(), number: item.int("number")?, hash: hash.to_string() },
            bound_at,
            segments: item.int("segments")?,
            records: item.int("records")?,
            day_records: item.int("day_records")?,
            hash,
        })
    }

    fn attributes(&self) -> [(&'static str, Value); 8] {
        [
            ("v", Value::int(VERSION)),
            ("lanes", Value::int(self.lanes.count().into())),
            ("number", Value::int(self.last.number.into())),
            (HASH, self.hash.value()),
            ("bound_at", Value::s(self.bound_at)),
            ("segments", whole(self.segments)),
            ("records", whole(self.records)),
            ("day_records", whole(self.day_records)),
        ]
    }
}

impl LaneHead {
    /// Reads the stored item of a lane.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(tenant: &Tenant, lane: u32, item: &Item) -> Result<Self, ItemError> {
        check_key(item, &keys::lane_head(tenant, lane))?;
        check_version(item)?;
        Ok(Self {
            link: LaneLink { lane, number: item.int("number")?, hash: hash_of(item, HASH)? },
            lanes: lanes_of(item)?,
            records: item.int("records")?,
            sealed_at: item.timestamp("sealed_at")?,
            acts_until: item.timestamp("acts_until")?,
        })
    }

    /// Moves the time before which every act is sealed, without a segment.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn acts_sealed_until(&self, tenant: &Tenant, until: Timestamp) -> Result<Transaction, BuildError> {
        let update = Update::new().set("acts_until", "acts_until", Value::s(until));
        Transaction::unkeyed(vec![self.update(tenant, update)])
    }

    fn attributes(&self) -> [(&'static str, Value); 7] {
        [
            ("v", Value::int(VERSION)),
            ("lanes", Value::int(self.lanes.count().into())),
            ("number", whole(self.link.number)),
            (HASH, self.link.hash.value()),
            ("records", whole(self.records)),
            ("sealed_at", Value::s(self.sealed_at)),
            ("acts_until", Value::s(self.acts_until)),
        ]
    }

    /// The action that replaces this head by the next, if it is as it was read.
    pub(super) fn replaced_by(&self, tenant: &Tenant, next: &Self) -> TransactItem {
        self.update(tenant, changed(&self.attributes(), &next.attributes()))
    }

    /// Names a transaction that relies on the lane's segments in the lane's head, if the head exists. `reader` says which one.
    ///
    /// INVARIANT: whatever relies on segments writes their lanes' heads. In a copy of the table, which has no order but that of
    /// an item's writes, it so comes after the segments.
    pub(crate) fn read_by(tenant: &Tenant, lane: u32, reader: String) -> TransactItem {
        let exists = Clause { condition: Condition::exists(keys::attr::PK), failure: Failure::StalePlan };
        let update = Update::new().set(READ_BY, READ_BY, Value::S(reader));
        TransactItem::update(Role::Sealing, keys::lane_head(tenant, lane), update, vec![exists])
    }

    /// The same, requiring this head as it was read.
    pub(crate) fn read_unchanged_by(&self, tenant: &Tenant, reader: String) -> TransactItem {
        self.update(tenant, Update::new().set(READ_BY, READ_BY, Value::S(reader)))
    }

    /// Requires this head as it was read.
    pub(super) fn unchanged(&self, tenant: &Tenant) -> TransactItem {
        TransactItem::check(Role::Sealing, keys::lane_head(tenant, self.link.lane), self.as_read())
    }

    // INVARIANT: a segment is written only if the lane's head, and the number of lanes, are as they were read.
    fn update(&self, tenant: &Tenant, update: Update) -> TransactItem {
        TransactItem::update(Role::Sealing, keys::lane_head(tenant, self.link.lane), update, self.as_read())
    }

    fn as_read(&self) -> Vec<Clause> {
        vec![
            is("number", "seen", whole(self.link.number)),
            is("lanes", "seen_lanes", Value::int(self.lanes.count().into())),
        ]
    }

    fn put_new(&self, tenant: &Tenant) -> TransactItem {
        let key = keys::lane_head(tenant, self.link.lane);
        TransactItem::put_new(Role::Sealing, key, owned(self.attributes()), Failure::StalePlan)
    }
}

impl Heads {
    /// Reads the heads among `items`: that of all lanes, and that of each; `None` if the lanes are not opened.
    ///
    /// # Errors
    /// [`ItemError`] if an item is missing or malformed.
    pub fn read(tenant: &Tenant, items: &[Item]) -> Result<Option<Self>, ItemError> {
        let is = |item: &Item, key: &Key| {
            (item.key_text(keys::attr::PK), item.key_text(keys::attr::SK)) == (Some(key.pk()), Some(key.sk()))
        };
        let find = |key: &Key| items.iter().find(|item| is(item, key));
        let Some(trail) = find(&keys::lanes(tenant)) else { return Ok(None) };
        let trail = TrailHead::read(tenant, trail)?;
        let lane = |lane| {
            let key = keys::lane_head(tenant, lane);
            LaneHead::read(tenant, lane, find(&key).ok_or_else(|| ItemError::missing(key.sk()))?)
        };
        let lanes = (0..trail.lanes.count()).map(lane).collect::<Result<_, _>>()?;
        Ok(Some(Self { trail, lanes }))
    }

    /// Whether the heads are of one number of lanes. They are not if it was raised while they were read.
    #[must_use]
    pub fn is_of_one_number(&self) -> bool {
        self.lanes.iter().all(|lane| lane.lanes == self.trail.lanes)
    }

    /// Opens a trail's lanes, with one lane and the first binding.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn open(tenant: &Tenant, now: Timestamp) -> Result<(Self, Transaction), BuildError> {
        let lanes = vec![LaneLink { lane: 0, number: 0, hash: SealHash::NONE }];
        let root = root_of_lanes([Tree::default().root()]);
        let (trail, binding) = TrailHead::bound(tenant, None, Lanes::ONE, (lanes, 0, root), now);
        let lane = LaneHead::opened(0, &trail);
        let head =
            TransactItem::put_new(Role::Sealing, keys::lanes(tenant), owned(trail.attributes()), Failure::StalePlan);
        let transaction = Transaction::unkeyed(vec![head, binding, lane.put_new(tenant)])?;
        Ok((Self { trail, lanes: vec![lane] }, transaction))
    }

    /// Whether a binding is due: something was sealed since the last one, which is an hour old.
    #[must_use]
    pub fn is_binding_due(&self, now: Timestamp) -> bool {
        now.since(self.trail.bound_at) >= BOUND_EVERY && self.segments() != self.trail.segments
    }

    /// Binds the heads of all lanes and the segments since the last binding, and names the binding in the heads. A head may have
    /// moved on: the binding names the segments that were read.
    ///
    /// # Errors
    /// [`BuildError::SegmentsUnread`] unless all of these segments were read.
    pub fn bind(&self, tenant: &Tenant, unbound: &Unbound, now: Timestamp) -> Result<(Self, Transaction), BuildError> {
        let (head, binding, trail) = self.binding(tenant, self.trail.lanes, unbound, now)?;
        let reader = format!("binding {}", trail.last.number);
        let lanes = self.lanes.iter().map(|lane| LaneHead::read_by(tenant, lane.link.lane, reader.clone()));
        let items = [head, binding].into_iter().chain(lanes).collect();
        Ok((Self { trail, lanes: self.lanes.clone() }, Transaction::unkeyed(items)?))
    }

    /// Doubles the number of lanes, with a binding; `None` if there are as many as there may be. Every head is replaced,
    /// so that a worker that knows the earlier number writes nothing.
    ///
    /// # Errors
    /// [`BuildError::SegmentsUnread`] unless all segments since the last binding were read.
    pub fn raise(
        &self,
        tenant: &Tenant,
        unbound: &Unbound,
        now: Timestamp,
    ) -> Result<Option<(Self, Transaction)>, BuildError> {
        let Some(to) = self.trail.lanes.doubled() else { return Ok(None) };
        let (head, binding, trail) = self.binding(tenant, to, unbound, now)?;
        let mut items = vec![head, binding];
        let mut lanes = Vec::new();
        for lane in &self.lanes {
            let next = LaneHead { lanes: to, ..lane.clone() };
            items.push(lane.replaced_by(tenant, &next));
            lanes.push(next);
        }
        for lane in self.trail.lanes.count()..to.count() {
            let opened = LaneHead::opened(lane, &trail);
            items.push(opened.put_new(tenant));
            lanes.push(opened);
        }
        Ok(Some((Self { trail, lanes }, Transaction::unkeyed(items)?)))
    }

    /// The number of segments of all lanes.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.lanes.iter().fold(0, |sum, lane| sum.saturating_add(lane.link.number))
    }

    /// The next binding with `lanes` lanes: the action on the head of all, the binding, and that head after it.
    fn binding(
        &self,
        tenant: &Tenant,
        lanes: Lanes,
        unbound: &Unbound,
        now: Timestamp,
    ) -> Result<(TransactItem, TransactItem, TrailHead), BuildError> {
        let link = |lane: &LaneHead| match lane.link.number {
            0 => LaneLink { hash: SealHash::NONE, ..lane.link },
            _ => lane.link,
        };
        let mut links: Vec<LaneLink> = self.lanes.iter().map(link).collect();
        let more = self.trail.lanes.count()..lanes.count();
        links.extend(more.map(|lane| LaneLink { lane, number: 0, hash: SealHash::NONE }));
        let records = self.lanes.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.records));
        let root = self.root(unbound, links.len())?;
        let (trail, binding) = TrailHead::bound(tenant, Some(&self.trail), lanes, (links, records, root), now);
        let seen = vec![is("number", "seen", Value::int(self.trail.last.number.into()))];
        let update = changed(&self.trail.attributes(), &trail.attributes());
        Ok((TransactItem::update(Role::Sealing, keys::lanes(tenant), update, seen), binding, trail))
    }
}

impl TrailHead {
    /// The next binding, and the head after it. `seen` is the head before; `None` for the first.
    fn bound(
        tenant: &Tenant,
        seen: Option<&Self>,
        lanes: Lanes,
        (links, records, root): (Vec<LaneLink>, u64, SealHash),
        now: Timestamp,
    ) -> (Self, TransactItem) {
        let bound_at = seen.map_or(now, |seen| seen.bound_at.max(now));
        let day = bound_at.utc_day();
        let more = records.saturating_sub(seen.map_or(0, |seen| seen.records));
        let same_day = seen.filter(|seen| seen.last.day == day).map_or(0, |seen| seen.day_records);
        let segments = links.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.number));
        let number = seen.map_or(0, |seen| seen.last.number).saturating_add(1);
        let mut binding = Binding {
            link: BindingLink { day, number, hash: String::new() },
            after: seen.map(|seen| seen.hash),
            bound_at,
            root,
            lanes: links,
            records,
            day_records: same_day.saturating_add(more),
        };
        let (put, hash) = binding.put(tenant);
        let (last, day_records) = (binding.link, binding.day_records);
        (Self { lanes, last, bound_at, segments, records, day_records, hash }, put)
    }
}

impl LaneHead {
    /// The head of a lane before its first segment.
    fn opened(lane: u32, trail: &TrailHead) -> Self {
        Self {
            link: LaneLink { lane, number: 0, hash: trail.hash },
            lanes: trail.lanes,
            records: 0,
            sealed_at: trail.bound_at,
            acts_until: Timestamp::from_millis(0),
        }
    }
}

fn is(attribute: &'static str, name: &'static str, value: Value) -> Clause {
    Clause { condition: Condition::compare(attribute, Cmp::Eq, name, value), failure: Failure::StalePlan }
}

fn owned<const N: usize>(attributes: [(&'static str, Value); N]) -> Item {
    attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Sets the attributes that differ.
fn changed(seen: &[(&'static str, Value)], next: &[(&'static str, Value)]) -> Update {
    let differing = next.iter().zip(seen).filter(|(next, seen)| next != seen).map(|(next, _)| next);
    differing.fold(Update::new(), |update, (name, value)| update.set(*name, *name, value.clone()))
}
