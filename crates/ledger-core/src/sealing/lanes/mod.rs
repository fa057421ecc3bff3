//! The chains of lanes: a tenant's trail is sealed in up to 16 lanes at once, and bindings tie their heads together.
//!
//! The lane of a record follows from its partition key, so an account's records are in one lane, in order. A lane is a
//! chain of segments, numbered from 1 without a gap. Its head names the last segment, and is replaced in the
//! transaction that writes the next: of two workers one is rejected, and writes nothing. There is no lease to wait for.
//!
//! A *binding* lists the heads of all lanes and is a chain too: its hash covers every record that was sealed before. It also
//! covers the root of a Merkle tree over the segments since the last one, so that a record is proven without its neighbours.
//! One is written when the lanes are opened or raised, and an hour after the last one if something was sealed since.

mod binding;
mod head;
mod records;
mod roots;
mod segment;
mod verify;

pub(super) use binding::covered as binding_hash;
pub use binding::{Binding, BindingLink};
pub use head::{Heads, LaneHead, TrailHead};
pub use roots::Unbound;
pub(super) use segment::covered as segment_hash;
pub use segment::{Finishing, LaneBatch, LaneRejection, LaneSegment, WrittenSegment};
pub use verify::{LaneChecks, LaneRange, NamedSegment};

use super::canonical::SealHash;
use crate::canonical::parse_canonical;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::keys::{Key, attr, sk};
use crate::transaction::MAX_ITEMS;
use sha2::{Digest, Sha256};
use std::fmt;

/// The attribute for the hash of a segment or binding, which the hash itself does not cover.
const HASH: &str = "hash";
/// The attribute of a binding with the root of what it binds, and the name under which a segment's hash covers its root.
const ROOT: &str = "root";
/// The version of the items of lanes. Readers refuse any other.
const VERSION: i64 = 1;
/// The items of a segment's transaction besides its records and the sums of merchants: the lane's head and the segment.
const ITEMS_BESIDE_RECORDS: usize = 2;
/// The most records in a segment of a lane; fewer if it credits merchants.
pub const LANE_RECORDS_MAX: usize = MAX_ITEMS - ITEMS_BESIDE_RECORDS;

/// The number of lanes of a trail: 1, 2, 4, 8 or 16. It is only raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lanes(u32);

/// A reference to a segment of a lane, with its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneLink {
    /// The lane.
    pub lane: u32,
    /// The segment's number in the lane, from 1 on; 0 before the first.
    pub number: u64,
    /// Its hash.
    pub hash: SealHash,
}

impl Lanes {
    /// One lane.
    pub const ONE: Self = Self(1);
    /// The largest number.
    pub const MAX: Self = Self(16);

    /// Accepts 1, 2, 4, 8 and 16; `None` for any other number.
    #[must_use]
    pub fn new(count: u32) -> Option<Self> {
        (count.is_power_of_two() && count <= Self::MAX.0).then_some(Self(count))
    }

    /// The number of lanes.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0
    }

    /// Twice as many; `None` if there are [`Lanes::MAX`].
    #[must_use]
    pub fn doubled(self) -> Option<Self> {
        Self::new(self.0.saturating_mul(2))
    }

    /// The lane of a record. The acts of the staff are always in lane 0, so that one head says how far they are sealed.
    #[must_use]
    pub fn lane_of(self, record: &Key) -> u32 {
        if record.sk().starts_with(sk::AUDIT) {
            return 0;
        }
        // A record's lane is part of what is verified: this never changes.
        let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(record.pk()));
        u32::from_be_bytes([a, b, c, d]).checked_rem(self.0).unwrap_or(0)
    }
}

impl LaneLink {
    /// The stamp for the segment's records: `L0/12`.
    #[must_use]
    pub fn stamp(&self) -> String {
        format!("L{}/{}", self.lane, self.number)
    }

    /// The lane and the number in a stamp; `None` for any other text.
    #[must_use]
    pub fn read_stamp(stamp: &str) -> Option<(u32, u64)> {
        let (lane, number) = stamp.strip_prefix('L')?.split_once('/')?;
        Some((parse_canonical(lane)?, parse_canonical(number)?))
    }
}

impl fmt::Display for LaneLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.stamp(), self.hash)
    }
}

fn hash_of(item: &Item, name: &str) -> Result<SealHash, ItemError> {
    item.parsed_bytes(name, SealHash::read)
}

fn lanes_of(item: &Item) -> Result<Lanes, ItemError> {
    item.checked_int("lanes", Lanes::new)
}

/// Requires that an item has the version that this code reads.
fn check_version(item: &Item) -> Result<(), ItemError> {
    item.checked_int("v", |version: i64| (version == VERSION).then_some(()))
}

/// Requires that an item is under its own key.
fn check_key(item: &Item, key: &Key) -> Result<(), ItemError> {
    let is_own = item.text(attr::PK)? == key.pk() && item.text(attr::SK)? == key.sk();
    if is_own { Ok(()) } else { Err(ItemError::invalid(attr::SK)) }
}

fn whole(number: u64) -> Value {
    Value::N(number.to_string())
}

/// The item with its keys, as it is stored.
fn stored(key: &Key, attributes: Item) -> Item {
    let mut item = attributes;
    item.insert(attr::PK.to_owned(), Value::s(key.pk()));
    item.insert(attr::SK.to_owned(), Value::s(key.sk()));
    item
}

#[cfg(test)]
mod tests;
