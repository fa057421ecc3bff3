//! Bindings: the heads of all lanes in one hash.

use super::super::canonical::{self, SealHash};
use super::{HASH, LaneLink, Lanes, ROOT, VERSION, check_key, check_version, hash_of, stored};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, sk};
use crate::time::{Timestamp, UtcDay};
use crate::transaction::{Role, TransactItem};
use std::fmt;

/// The attribute with the hash of the binding before it.
const AFTER: &str = "after";
/// The bytes of a lane in a binding: the number of its last segment (8) and that segment's hash.
const LANE_BYTES: usize = 8 + SealHash::BYTES;

/// A reference to a binding, with its hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindingLink {
    /// The day of its writing.
    pub day: UtcDay,
    /// Its number, from 1 on through all days.
    pub number: u32,
    /// Its hash, 64 hexadecimal digits.
    pub hash: String,
}

/// A binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its reference, with the stored hash.
    pub link: BindingLink,
    /// The hash of the binding before it; `None` for the first.
    pub after: Option<SealHash>,
    /// When it was written, and not before the binding before it.
    pub bound_at: Timestamp,
    /// The root of a Merkle tree over what was sealed since the binding before: its leaves are the lanes, in their order,
    /// each with the root of the hashes of its segments, in their order.
    pub root: SealHash,
    /// The last segment of each lane, by lane. Number 0 and a hash of zeros before a lane's first.
    pub lanes: Vec<LaneLink>,
    /// The number of records in all segments of all lanes.
    pub records: u64,
    /// The number of them that were bound on its day.
    pub day_records: u64,
}

impl fmt::Display for BindingLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.day, self.number, self.hash)
    }
}

impl Binding {
    /// Reads a stored binding.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed, or the item is under another key.
    pub fn read(tenant: &Tenant, key: &Key, item: &Item) -> Result<Self, ItemError> {
        let wrong_key = || ItemError::invalid(keys::attr::SK);
        let place = key.sk().strip_prefix(sk::BINDING).and_then(|place| place.split_once('#'));
        let (day, number) = place.ok_or_else(wrong_key)?;
        let day = UtcDay::parse(day).map_err(|_| wrong_key())?;
        let number = number.parse().map_err(|_| wrong_key())?;
        if *key != keys::binding(tenant, day, number) {
            return Err(wrong_key());
        }
        check_key(item, key)?;
        check_version(item)?;
        let bound_at = item.timestamp("bound_at")?;
        if bound_at.utc_day() != day {
            return Err(ItemError::invalid("bound_at"));
        }
        Ok(Self {
            link: BindingLink { day, number, hash: hash_of(item, HASH)?.to_string() },
            after: item.opt_parsed_bytes(AFTER, SealHash::read)?,
            bound_at,
            root: hash_of(item, ROOT)?,
            lanes: item.parsed_bytes("heads", heads)?,
            records: item.int("records")?,
            day_records: item.int("day_records")?,
        })
    }

    /// The hash of a stored binding. It covers the root and the hash of the binding before it, and the hash of every other
    /// attribute but the hash itself.
    #[must_use]
    pub fn digest(item: &Item) -> SealHash {
        covered(Self::after_in(item), Self::root_in(item).unwrap_or(SealHash::NONE), Self::rest(item))
    }

    /// The root of a stored binding.
    pub(in super::super) fn root_in(item: &Item) -> Option<SealHash> {
        hash_of(item, ROOT).ok()
    }

    /// The hash of the binding before a stored one; `None` if it is the first.
    pub(in super::super) fn after_in(item: &Item) -> Option<SealHash> {
        hash_of(item, AFTER).ok()
    }

    /// The hash of a stored binding's attributes without its hash, the root and the hash of the binding before it.
    #[must_use]
    pub fn rest(item: &Item) -> SealHash {
        canonical::without(item, &[HASH, AFTER, ROOT])
    }

    /// The number of lanes.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.lanes.len()).unwrap_or(u32::MAX)
    }

    /// The action that writes the binding, and its hash, which is set.
    pub(super) fn put(&mut self, tenant: &Tenant) -> (TransactItem, SealHash) {
        let key = keys::binding(tenant, self.link.day, self.link.number);
        let mut bytes = Vec::with_capacity(self.lanes.len().saturating_mul(LANE_BYTES));
        for lane in &self.lanes {
            bytes.extend(lane.number.to_be_bytes());
            bytes.extend(lane.hash.bytes());
        }
        let mut item = Item::from([
            ("v".to_owned(), Value::int(VERSION)),
            ("bound_at".to_owned(), Value::s(self.bound_at)),
            ("heads".to_owned(), Value::B(bytes)),
            (ROOT.to_owned(), self.root.value()),
            ("records".to_owned(), super::whole(self.records)),
            ("day_records".to_owned(), super::whole(self.day_records)),
        ]);
        item.extend(self.after.map(|after| (AFTER.to_owned(), after.value())));
        let hash = Self::digest(&stored(&key, item.clone()));
        item.insert(HASH.to_owned(), hash.value());
        self.link.hash = hash.to_string();
        (TransactItem::put_new(Role::Seal, key, item, Failure::StalePlan), hash)
    }
}

/// The hash of a binding, of the three things that it covers.
pub(in super::super) fn covered(after: Option<SealHash>, root: SealHash, rest: SealHash) -> SealHash {
    let mut covered = Item::from([(ROOT.to_owned(), root.value()), ("rest".to_owned(), rest.value())]);
    covered.extend(after.map(|after| (AFTER.to_owned(), after.value())));
    canonical::digest(&covered)
}

/// The lanes of a binding; `None` unless there are as many as a trail may have, and each has a hash from its first
/// segment on.
fn heads(bytes: &[u8]) -> Option<Vec<LaneLink>> {
    let mut lanes = Vec::new();
    for (lane, bytes) in (0..).zip(bytes.chunks(LANE_BYTES)) {
        let (number, hash) = bytes.split_at_checked(LANE_BYTES.checked_sub(SealHash::BYTES)?)?;
        let (number, hash) = (u64::from_be_bytes(number.try_into().ok()?), SealHash::read(hash)?);
        if (number == 0) != (hash == SealHash::NONE) {
            return None;
        }
        lanes.push(LaneLink { lane, number, hash });
    }
    Lanes::new(u32::try_from(lanes.len()).ok()?).map(|_| lanes)
}
