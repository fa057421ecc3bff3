//! Records of the audit trail: those that wait for their seal, and the stamp of those that have it.

use super::canonical::{self, SealHash};
use super::lanes::LaneLink;
use crate::crediting::EntryCredit;
use crate::crediting::{CREDITED_AT, PERIOD_OF_ENTRY, PeriodId};
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, Shards, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};

/// The attribute for the segment of a record: `L0/12`.
pub(super) const STAMP: &str = "_sealed";

/// A record of the audit trail that is not sealed, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealable {
    key: Key,
    at: Timestamp,
    hash: SealHash,
    mark: MarkOnceSealed,
    credit: Option<EntryCredit>,
}

/// What becomes of a record's due index entry in the transaction that seals it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkOnceSealed {
    /// It is removed.
    Removed,
    /// It moves to this partition of the late publications.
    PublishLate(String),
    /// It stays: whether the record was published is not known.
    Kept,
}

/// Whether a record is in a segment.
#[must_use]
pub fn is_sealed(item: &Item) -> bool {
    item.contains_key(STAMP)
}

/// Whether the event of an entry was not taken, by its item as it was read.
#[must_use]
pub fn is_to_publish(tenant: &Tenant, entry: &Item) -> bool {
    let due = entry.key_text(attr::DUE_PK).zip(entry.key_text(attr::DUE_SK));
    due.is_some_and(|due| keys::is_to_publish(tenant, due))
}

/// The segment in a record's stamp: `L0/12`. `None` without a stamp.
///
/// # Errors
/// [`ItemError`] if the stamp is no string.
pub fn segment_of(item: &Item) -> Result<Option<&str>, ItemError> {
    item.opt_text(STAMP)
}

/// The lane and the number of the segment that a record is in. `None` without a stamp.
///
/// # Errors
/// [`ItemError`] if the stamp names no segment.
pub fn lane_segment_of(item: &Item) -> Result<Option<(u32, u64)>, ItemError> {
    let place = |stamp| LaneLink::read_stamp(stamp).ok_or_else(|| ItemError::invalid(STAMP));
    segment_of(item)?.map(place).transpose()
}

/// Removes the due index entries of sealed records: of entries that were published late, and of those that one worker has
/// sealed while another, which could not, put their index entry back.
///
/// # Errors
/// [`BuildError`] for no record, too many, or one given twice.
pub fn unmark(records: &[Key]) -> Result<Transaction, BuildError> {
    let unmarked = |key: &Key| {
        let clause = Clause { condition: Condition::exists(STAMP), failure: Failure::StalePlan };
        let update = Update::new().remove(attr::DUE_PK).remove(attr::DUE_SK);
        TransactItem::update(Role::Sealed, key.clone(), update, vec![clause])
    };
    Transaction::unkeyed(records.iter().map(unmarked).collect())
}

impl Sealable {
    /// Reads a stored record. `None` if it is no record of the trail, or is sealed. A record without a time of
    /// writing belongs to the day in its id.
    ///
    /// # Errors
    /// [`ItemError`] if the record has neither a time of writing nor a time in its id, or if its seal credits a merchant
    /// and its postings are malformed.
    pub fn read(tenant: &Tenant, item: &Item) -> Result<Option<Self>, ItemError> {
        let key = Key::stored(tenant, item.text(attr::PK)?, item.text(attr::SK)?);
        let Some(key) = key.filter(|key| key.recorded().is_some()) else { return Ok(None) };
        if is_sealed(item) {
            return Ok(None);
        }
        let at = match item.opt_timestamp(attr::CREATED_AT)? {
            Some(written) => written,
            None => key.born().ok_or_else(|| ItemError::missing(attr::CREATED_AT))?,
        };
        let credit = if key.entry().is_some() { EntryCredit::read(item)? } else { None };
        Ok(Some(Self { key, at, hash: canonical::digest(item), mark: MarkOnceSealed::Removed, credit }))
    }

    /// The same record, as an entry whose event was not taken: once sealed, it is due to be published late.
    #[must_use]
    pub fn unpublished(mut self, tenant: &Tenant, shards: Shards) -> Self {
        if let Some((_, id)) = self.key.entry() {
            let shard = keys::shard_of(id.uuid(), shards);
            self.mark = MarkOnceSealed::PublishLate(keys::publish_late_partition(tenant, shard));
        }
        self
    }

    /// The record's key.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// When it was written.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The hash of its content.
    #[must_use]
    pub fn hash(&self) -> SealHash {
        self.hash
    }

    /// What its seal credits to a merchant.
    #[must_use]
    pub fn credit(&self) -> Option<&EntryCredit> {
        self.credit.as_ref()
    }

    /// The action that puts the record into the segment of this stamp, if it is in none.
    pub(super) fn stamped(&self, stamp: &str, credited: Option<(PeriodId, Timestamp)>) -> TransactItem {
        stamped(&self.key, stamp, &self.mark, credited)
    }
}

/// The action that puts a record into the segment of this stamp, if it is in none. An entry whose seal credits its
/// merchant also names the period and the time.
pub(super) fn stamped(
    record: &Key,
    stamp: &str,
    mark: &MarkOnceSealed,
    credited: Option<(PeriodId, Timestamp)>,
) -> TransactItem {
    let clause = |condition, failure| Clause { condition, failure };
    let once = vec![
        clause(Condition::exists(attr::PK), Failure::AccountMissing),
        clause(Condition::absent(STAMP), Failure::AlreadyExists),
    ];
    let update = Update::new().set(STAMP, "stamp", Value::s(stamp));
    let update = match credited {
        Some((period, at)) => {
            update.set(CREDITED_AT, "now", Value::s(at)).set(PERIOD_OF_ENTRY, "period", Value::s(period))
        }
        None => update,
    };
    let update = match mark {
        MarkOnceSealed::Removed => update.remove(attr::DUE_PK).remove(attr::DUE_SK),
        MarkOnceSealed::PublishLate(due) => update.set(attr::DUE_PK, "due_pk", Value::s(due)),
        MarkOnceSealed::Kept => update,
    };
    TransactItem::update(Role::Sealed, record.clone(), update, once)
}
