//! Segments of a lane, and the transaction that writes one with the stamps of its records.

use super::super::canonical::{self, SealHash};
use super::super::segment::{HASH, MarkOnceSealed, Sealable, segment_of, stamped};
use super::head::LaneHead;
use super::{
    ITEMS_BESIDE_RECORDS, LANE_RECORDS_MAX, LaneLink, Lanes, VERSION, check_key, check_version, hash_of, lanes_of,
    records, stored,
};
use crate::canonical::parse_canonical;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, sk};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Rejection, Role, TransactItem, Transaction};

/// A segment of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSegment {
    /// Its reference, with the stored hash.
    pub link: LaneLink,
    /// The number of lanes when it was written.
    pub lanes: Lanes,
    /// The hash of the segment before it in the lane; for the first, that of the binding that opened the lane.
    pub after: SealHash,
    /// When it was written, and not before the segment before it.
    pub sealed_at: Timestamp,
    /// The keys and hashes of its records.
    pub records: Vec<(Key, SealHash)>,
}

/// A segment to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneBatch {
    transaction: Transaction,
    next: LaneHead,
    records: usize,
}

/// Why a segment was rejected. Nothing of it was written. Records are named by their position in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneRejection {
    /// The lane's head is not as it was read: another worker has written a segment, or raised the number of lanes.
    HeadMoved,
    /// A segment exists beyond the head, which our code never leaves, but a restore may.
    HeadSetBack,
    /// These records do not exist any more. Our code never removes any.
    Missing(Vec<usize>),
    /// These have been sealed before.
    Sealed(Vec<usize>),
}

impl LaneSegment {
    /// Reads a stored segment.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed, or the item is under another key.
    pub fn read(tenant: &Tenant, key: &Key, item: &Item) -> Result<Self, ItemError> {
        let wrong_key = || ItemError::invalid(keys::attr::SK);
        let (lane, number) = key.sk().strip_prefix(sk::SEAL_LANE).and_then(place).ok_or_else(wrong_key)?;
        if *key != keys::lane_segment(tenant, lane, number) {
            return Err(wrong_key());
        }
        check_key(item, key)?;
        check_version(item)?;
        Ok(Self {
            link: LaneLink { lane, number, hash: hash_of(item, HASH)? },
            lanes: lanes_of(item)?,
            after: hash_of(item, "after")?,
            sealed_at: item.timestamp("sealed_at")?,
            records: item.parsed_bytes("records", |bytes| records::decode(tenant, bytes))?,
        })
    }

    /// The hash of a stored segment or binding, over all its attributes but the hash itself.
    #[must_use]
    pub fn digest(item: &Item) -> SealHash {
        canonical::without(item, &[HASH])
    }
}

/// The lane and the number in the rest of a segment's sort key: `03#0000000012`.
fn place(text: &str) -> Option<(u32, u64)> {
    let (lane, number) = text.split_once('#')?;
    let lane = if lane == "00" { 0 } else { parse_canonical(lane.strip_prefix('0').unwrap_or(lane))? };
    Some((lane, number.parse().ok()?))
}

impl LaneHead {
    /// Builds a segment from as many of the first records as fit. `acts_until` is the time before which every act is
    /// sealed once this segment is written; `None` leaves it. `None` if there are no records. All of them must belong to
    /// this lane.
    ///
    /// # Errors
    /// [`BuildError`] if a record is given twice, or its key has no encoding.
    pub fn batch(
        &self,
        tenant: &Tenant,
        waiting: &[Sealable],
        acts_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<LaneBatch>, BuildError> {
        let sealed = waiting.get(..waiting.len().min(LANE_RECORDS_MAX)).unwrap_or(waiting);
        if sealed.is_empty() {
            return Ok(None);
        }
        let number = self.link.number.saturating_add(1);
        let sealed_at = self.sealed_at.max(now);
        let key = keys::lane_segment(tenant, self.link.lane, number);
        let bytes = records::encode(tenant, sealed.iter().map(|record| (record.key(), record.hash())));
        let mut item = Item::from([
            ("v".to_owned(), Value::int(VERSION)),
            ("lanes".to_owned(), Value::int(self.lanes.count().into())),
            ("after".to_owned(), self.link.hash.value()),
            ("sealed_at".to_owned(), Value::s(sealed_at)),
            ("records".to_owned(), Value::B(bytes.ok_or(BuildError::NoHome)?)),
        ]);
        let hash = LaneSegment::digest(&stored(&key, item.clone()));
        item.insert(HASH.to_owned(), hash.value());
        let link = LaneLink { hash, number, ..self.link };
        let records = u64::try_from(sealed.len()).unwrap_or(u64::MAX);
        let next = Self {
            link,
            lanes: self.lanes,
            records: self.records.saturating_add(records),
            sealed_at,
            acts_until: acts_until.map_or(self.acts_until, |until| until.max(self.acts_until)),
        };
        let stamp = link.stamp();
        let mut items =
            vec![self.replaced_by(tenant, &next), TransactItem::put_new(Role::Seal, key, item, Failure::StalePlan)];
        items.extend(sealed.iter().map(|record| record.stamped(&stamp)));
        Ok(Some(LaneBatch { transaction: Transaction::unkeyed(items)?, next, records: sealed.len() }))
    }
}

impl LaneHead {
    /// Builds what finishes the segment after this head, which is there though the head does not know it: only a restore
    /// that holds a part of a transaction leaves one. It moves the head, and stamps those records that have no stamp.
    /// `item` is the segment's, and `items` are those of its records, in their order. `None` unless the segment follows
    /// this head, and all of it and its records are as they were sealed.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn finish_restored(
        &self,
        tenant: &Tenant,
        item: &Item,
        items: &[Option<Item>],
    ) -> Result<Option<LaneBatch>, BuildError> {
        let key = keys::lane_segment(tenant, self.link.lane, self.link.number.saturating_add(1));
        let Ok(segment) = LaneSegment::read(tenant, &key, item) else { return Ok(None) };
        let follows = LaneSegment::digest(item) == segment.link.hash && segment.after == self.link.hash;
        if !follows || items.len() != segment.records.len() {
            return Ok(None);
        }
        let stamp = segment.link.stamp();
        let mut unstamped = Vec::new();
        for ((key, hash), item) in segment.records.iter().zip(items) {
            let Some(item) = item.as_ref().filter(|item| canonical::digest(item) == *hash) else { return Ok(None) };
            match segment_of(item) {
                Ok(Some(own)) if own == stamp => {}
                Ok(None) => unstamped.push(stamped(key, &stamp, &mark_of(tenant, item))),
                Ok(Some(_)) | Err(_) => return Ok(None),
            }
        }
        let records = u64::try_from(segment.records.len()).unwrap_or(u64::MAX);
        let next = Self {
            link: segment.link,
            records: self.records.saturating_add(records),
            sealed_at: segment.sealed_at.max(self.sealed_at),
            ..self.clone()
        };
        let sealed = unstamped.len();
        let mut actions = vec![self.replaced_by(tenant, &next)];
        actions.extend(unstamped);
        Ok(Some(LaneBatch { transaction: Transaction::unkeyed(actions)?, next, records: sealed }))
    }
}

/// A restore may have brought back an entry from before its publication. Its event is then sent again.
fn mark_of(tenant: &Tenant, item: &Item) -> MarkOnceSealed {
    let is_to_publish = item.key_text(keys::attr::DUE_PK).is_some_and(|mark| keys::publish_mark(tenant, mark));
    if is_to_publish { MarkOnceSealed::Kept } else { MarkOnceSealed::Removed }
}

impl LaneBatch {
    /// The transaction to write.
    #[must_use]
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// The number of records that it seals.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// The lane's head after the write.
    #[must_use]
    pub fn into_next(self) -> LaneHead {
        self.next
    }

    /// What a failed guard means; `None` for a failure that no batch has.
    #[must_use]
    pub fn explain(&self, rejection: &Rejection) -> Option<LaneRejection> {
        let records = || rejection.positions_behind(ITEMS_BESIDE_RECORDS);
        match rejection.failure {
            Failure::StalePlan if rejection.positions.contains(&0) => Some(LaneRejection::HeadMoved),
            Failure::StalePlan => Some(LaneRejection::HeadSetBack),
            Failure::AccountMissing => Some(LaneRejection::Missing(records())),
            Failure::AlreadyExists => Some(LaneRejection::Sealed(records())),
            Failure::FourEyes
            | Failure::AccountFrozen
            | Failure::WrongState
            | Failure::OverRefund
            | Failure::CapExceeded
            | Failure::LimitExceeded
            | Failure::Insufficient => None,
        }
    }
}
