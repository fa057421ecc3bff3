//! Segments of a lane, and the transaction that writes one with the stamps of its records.

use super::super::canonical::{self, SealHash};
use super::super::merkle::Tree;
use super::super::sealable::{MarkOnceSealed, Sealable, is_to_publish, segment_of, stamped};
use super::head::LaneHead;
use super::{
    HASH, LANE_RECORDS_MAX, LaneLink, Lanes, ROOT, VERSION, check_key, check_version, hash_of, lanes_of, records,
    stored,
};
use crate::canonical::parse_canonical;
use crate::crediting::{EntryCredit, LaneCredits};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, sk};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Rejection, Role, TransactItem, Transaction};
use std::collections::BTreeSet;

/// The attribute with the keys and hashes of a segment's records, for which the root stands in its hash.
const RECORDS: &str = "records";

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
    /// The number of actions before those on the records.
    before: usize,
}

/// Why a segment was rejected. Nothing of it was written. Records are named by their position in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneRejection {
    /// The lane's head is not as it was read: another worker has written a segment, or raised the number of lanes.
    HeadMoved,
    /// A segment exists beyond the head, which our code never leaves, but a restore may.
    HeadSetBack,
    /// A merchant's sums have entries of a segment beyond the head, which our code never leaves, but a restore may.
    CreditedBeyond,
    /// A settlement has closed the period of a merchant. The batch can be built again once the open period is read.
    PeriodClosed,
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
        Ok(Self {
            link: Self::link(tenant, key, item)?,
            lanes: lanes_of(item)?,
            after: hash_of(item, "after")?,
            sealed_at: item.timestamp("sealed_at")?,
            records: item.parsed_bytes(RECORDS, |bytes| records::decode(tenant, bytes))?,
        })
    }

    /// Reads the reference of a stored segment, without its records.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed, or the item is under another key.
    pub fn link(tenant: &Tenant, key: &Key, item: &Item) -> Result<LaneLink, ItemError> {
        let wrong_key = || ItemError::invalid(keys::attr::SK);
        let lane = key.pk().rsplit_once('#').and_then(|(_, lane)| parse_canonical(lane));
        let number = key.sk().strip_prefix(sk::SEGMENT).and_then(|number| number.parse().ok());
        let (lane, number) = lane.zip(number).ok_or_else(wrong_key)?;
        if *key != keys::lane_segment(tenant, lane, number) {
            return Err(wrong_key());
        }
        check_key(item, key)?;
        check_version(item)?;
        Ok(LaneLink { lane, number, hash: hash_of(item, HASH)? })
    }

    /// The hash of a stored segment. It covers the root of the hashes of its records, and every other attribute but the
    /// hash itself. Records that cannot be read count as none, which no segment has.
    #[must_use]
    pub fn digest(tenant: &Tenant, item: &Item) -> SealHash {
        let records = item.opt_parsed_bytes(RECORDS, |bytes| records::decode(tenant, bytes)).ok().flatten();
        let hashes = records.unwrap_or_default().into_iter().map(|(_, hash)| hash);
        covered(item, Tree::of(hashes).root())
    }

    /// What the hash of a stored segment covers besides the root: its attributes without records and hash.
    #[must_use]
    pub fn rest(item: &Item) -> Item {
        let kept = |(name, _): &(&String, &Value)| ![HASH, RECORDS].contains(&name.as_str());
        item.iter().filter(kept).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// The hash of a segment with these attributes, of which the root stands for the records.
pub(in super::super) fn covered(item: &Item, root: SealHash) -> SealHash {
    let mut covered = LaneSegment::rest(item);
    covered.insert(ROOT.to_owned(), root.value());
    canonical::digest(&covered)
}

/// The longest prefix that fits: one action for each record and one for each merchant that it credits.
fn fitting(waiting: &[Sealable]) -> &[Sealable] {
    let mut merchants = BTreeSet::new();
    let mut fit = 0_usize;
    for record in waiting.iter().take(LANE_RECORDS_MAX) {
        merchants.extend(record.credit().map(|credit| credit.merchant));
        if fit.saturating_add(1).saturating_add(merchants.len()) > LANE_RECORDS_MAX {
            break;
        }
        fit = fit.saturating_add(1);
    }
    waiting.get(..fit).unwrap_or_default()
}

impl LaneHead {
    /// Builds a segment from as many of the first records as fit, and credits the merchants of those whose seal does that:
    /// `credits` has their open periods. `acts_until` is the time before which every act is sealed once this segment is
    /// written; `None` leaves it. `None` if there are no records. All of them must belong to this lane.
    ///
    /// # Errors
    /// [`BuildError`] if a record is given twice, its key has no encoding, or the open period of its merchant was not read.
    pub fn batch(
        &self,
        tenant: &Tenant,
        waiting: &[Sealable],
        credits: &LaneCredits,
        acts_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<LaneBatch>, BuildError> {
        let sealed = fitting(waiting);
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
            (RECORDS.to_owned(), Value::B(bytes.ok_or(BuildError::NoHome)?)),
        ]);
        let hash = LaneSegment::digest(tenant, &stored(&key, item.clone()));
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
        // INVARIANT: the sums of a merchant grow by exactly the entries that this transaction stamps.
        items.extend(credits.added(tenant, sealed.iter().filter_map(Sealable::credit), number, sealed_at)?);
        let before = items.len();
        for record in sealed {
            items.push(record.stamped(&stamp, credits.credited(record.credit(), sealed_at)?));
        }
        Ok(Some(LaneBatch { transaction: Transaction::unkeyed(items)?, next, records: sealed.len(), before }))
    }
}

/// A segment that was read with its records and the open periods of the merchants that it credits, to be finished if a
/// restore has brought back a part of its transaction.
#[derive(Clone, Copy, Debug)]
pub struct WrittenSegment<'a> {
    /// The stored segment.
    pub item: &'a Item,
    /// The stored records, in the segment's order.
    pub records: &'a [Option<Item>],
    /// The open periods of their merchants.
    pub credits: &'a LaneCredits,
}

impl LaneHead {
    /// Builds what finishes a segment of which a restore may have brought back a part: the last one of this head, or the
    /// one after it. It moves the head to the segment, stamps those records that have no stamp, and adds to those
    /// merchants' sums that lack the segment. [`Finishing::Unreadable`] unless the segment is the head's last one or follows
    /// it, and it and its records are as they were sealed. Of the last one, a record that has its stamp may have changed.
    ///
    /// # Errors
    /// [`BuildError`] if a sum does not fit.
    pub fn finish(
        &self,
        tenant: &Tenant,
        written: WrittenSegment<'_>,
        now: Timestamp,
    ) -> Result<Finishing, BuildError> {
        let number = if written.is_last_of(self) { self.link.number } else { self.link.number.saturating_add(1) };
        let key = keys::lane_segment(tenant, self.link.lane, number);
        let Ok(segment) = LaneSegment::read(tenant, &key, written.item) else { return Ok(Finishing::Unreadable) };
        let follows = number == self.link.number || segment.after == self.link.hash;
        if !follows
            || LaneSegment::digest(tenant, written.item) != segment.link.hash
            || written.records.len() != segment.records.len()
        {
            return Ok(Finishing::Unreadable);
        }
        let Some(Parts { unstamped, credits, has_changed }) = parts(tenant, &segment, written) else {
            return Ok(Finishing::Unreadable);
        };
        let next = Self { link: segment.link, sealed_at: segment.sealed_at.max(self.sealed_at), ..self.clone() };
        let next = if number == self.link.number {
            next
        } else {
            let records = u64::try_from(segment.records.len()).unwrap_or(u64::MAX);
            Self { records: self.records.saturating_add(records), ..next }
        };
        let mut items = vec![if next == *self { self.unchanged(tenant) } else { self.replaced_by(tenant, &next) }];
        let missing = written.credits.missing(tenant, credits.iter(), number, now)?;
        if has_changed && (next != *self || !missing.is_empty()) {
            return Ok(Finishing::Unreadable);
        }
        items.extend(missing);
        let sealed = unstamped.len();
        items.extend(unstamped);
        if next == *self && items.len() == 1 {
            return Ok(Finishing::Whole);
        }
        let before = items.len().saturating_sub(sealed);
        let batch = LaneBatch { transaction: Transaction::unkeyed(items)?, next, records: sealed, before };
        Ok(Finishing::Torn(Box::new(batch)))
    }
}

/// What [`LaneHead::finish`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finishing {
    /// The whole transaction of the segment is there.
    Whole,
    /// A part of it is missing; this writes it.
    Torn(Box<LaneBatch>),
    /// The segment does not belong to the head, or it or a record was changed: verification says what.
    Unreadable,
}

impl WrittenSegment<'_> {
    fn is_last_of(&self, head: &LaneHead) -> bool {
        hash_of(self.item, HASH).is_ok_and(|hash| hash == head.link.hash)
    }
}

/// What the records of a segment say.
struct Parts {
    /// The actions on those without a stamp.
    unstamped: Vec<TransactItem>,
    /// What those that are as they were sealed credit.
    credits: Vec<EntryCredit>,
    /// Whether one was changed or removed after it was stamped, which verification finds.
    has_changed: bool,
}

/// Reads the records of a segment; `None` if one without a stamp is not as it was sealed.
fn parts(tenant: &Tenant, segment: &LaneSegment, written: WrittenSegment<'_>) -> Option<Parts> {
    let stamp = segment.link.stamp();
    let (mut unstamped, mut credits, mut has_changed) = (Vec::new(), Vec::new(), false);
    for ((key, hash), item) in segment.records.iter().zip(written.records) {
        let Some(item) = item else {
            has_changed = true;
            continue;
        };
        let is_stamped = segment_of(item).ok()?.is_some();
        let is_as_sealed = canonical::digest(item) == *hash;
        if !is_stamped && !is_as_sealed {
            return None;
        }
        has_changed |= !is_as_sealed;
        let credit = if is_as_sealed && key.entry().is_some() { EntryCredit::read(item).ok()? } else { None };
        if !is_stamped {
            let credited = written.credits.credited(credit.as_ref(), segment.sealed_at).ok()?;
            unstamped.push(stamped(key, &stamp, &mark_of(tenant, key, item), credited));
        }
        credits.extend(credit);
    }
    Some(Parts { unstamped, credits, has_changed })
}

/// A restore may have brought back an entry from before its publication. Its event is then sent again.
fn mark_of(tenant: &Tenant, key: &Key, item: &Item) -> MarkOnceSealed {
    if key.entry().is_some() && is_to_publish(tenant, item) { MarkOnceSealed::Kept } else { MarkOnceSealed::Removed }
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
        let records = || rejection.positions_behind(self.before);
        match rejection.failure {
            Failure::StalePlan if rejection.positions.contains(&0) => Some(LaneRejection::HeadMoved),
            Failure::StalePlan if rejection.positions.contains(&1) => Some(LaneRejection::HeadSetBack),
            Failure::StalePlan => Some(LaneRejection::CreditedBeyond),
            Failure::WrongState => Some(LaneRejection::PeriodClosed),
            Failure::AccountMissing => Some(LaneRejection::Missing(records())),
            Failure::AlreadyExists => Some(LaneRejection::Sealed(records())),
            Failure::FourEyes
            | Failure::Decided
            | Failure::AccountFrozen
            | Failure::CashRoomExceeded
            | Failure::CashNotOutstanding
            | Failure::RefundRoomExceeded
            | Failure::BudgetExceeded
            | Failure::ApprovalExpired
            | Failure::ReversalTooLate
            | Failure::PinRequired
            | Failure::PinLocked
            | Failure::PinWrong
            | Failure::OverRefund
            | Failure::CapExceeded
            | Failure::LimitExceeded
            | Failure::Insufficient
            | Failure::RecipientUnavailable => None,
        }
    }
}
