//! Segments of the chain, the links between them, and the records that they list.

use super::canonical::{self, SealHash};
use super::lanes::LaneLink;
use crate::crediting::EntryCredit;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, Shards, Work, attr};
use crate::time::{Timestamp, UtcDay};
use crate::transaction::{BuildError, CREDITED_AT, Clause, PeriodId, Role, TransactItem, Transaction};
use std::fmt;

/// The attribute for the segment of a record: `2026-11-21/3`, or `L0/12` in a lane.
pub(super) const STAMP: &str = "sealed";
/// The attribute for a segment's hash, which the hash itself does not cover.
pub(super) const HASH: &str = "hash";

/// A reference to a segment, with its hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The day of its records.
    pub day: UtcDay,
    /// Its number in that day, from 1 on.
    pub number: u32,
    /// Its hash, 64 hexadecimal digits.
    pub hash: String,
}

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

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its reference, with the stored hash.
    pub link: Link,
    /// The segment that was written before it in the tenant's chain; `None` for the first.
    pub after: Option<Link>,
    /// When it was written.
    pub sealed_at: Timestamp,
    /// The keys and hashes of its records.
    pub records: Vec<(Key, String)>,
}

/// The progress of sealing a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedDay {
    /// Its last segment.
    pub last: Link,
    /// The number of records in its segments.
    pub records: u32,
}

/// Whether a record is in a segment.
#[must_use]
pub fn is_sealed(item: &Item) -> bool {
    item.contains_key(STAMP)
}

/// The segment in a record's stamp: `2026-11-21/3`, or `L0/12` in a lane. `None` without a stamp.
///
/// # Errors
/// [`ItemError`] if the stamp is no string.
pub fn segment_of(item: &Item) -> Result<Option<&str>, ItemError> {
    item.opt_text(STAMP)
}

/// The lane and the number of the segment that a record is in. `None` without a stamp, or with that of a segment of a day.
///
/// # Errors
/// [`ItemError`] if the stamp is no string.
pub fn lane_segment_of(item: &Item) -> Result<Option<(u32, u64)>, ItemError> {
    Ok(segment_of(item)?.and_then(LaneLink::read_stamp))
}

/// Removes the due index entries of sealed records: of entries that were published late, and those that an earlier
/// release's publication has restored.
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

impl Link {
    /// The stamp for the segment's records: `2026-11-21/3`.
    #[must_use]
    pub fn stamp(&self) -> String {
        format!("{}/{}", self.day, self.number)
    }

    pub(super) fn item(&self) -> Item {
        Item::from([
            ("day".to_owned(), Value::s(self.day)),
            ("number".to_owned(), Value::int(self.number.into())),
            (HASH.to_owned(), Value::s(&self.hash)),
        ])
    }

    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { day: item.parsed("day", UtcDay::parse)?, number: item.int("number")?, hash: item.string(HASH)? })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.day, self.number, self.hash)
    }
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
            self.mark = MarkOnceSealed::PublishLate(keys::due_partition(tenant, Work::PublishLate, shard));
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
            update.set(CREDITED_AT, "now", Value::s(at)).set(period.attribute(), "period", period.value())
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

impl Segment {
    /// Builds a segment of these records, with its hash.
    pub(super) fn of(
        tenant: &Tenant,
        (day, number): (UtcDay, u32),
        after: Option<Link>,
        records: &[Sealable],
        now: Timestamp,
    ) -> Self {
        let records = records.iter().map(|record| (record.key.clone(), record.hash.to_string())).collect();
        let link = Link { day, number, hash: String::new() };
        let mut segment = Self { link, after, sealed_at: now, records };
        segment.link.hash = canonical::without(&segment.whole(tenant), &[HASH]).to_string();
        segment
    }

    /// Reads a stored segment.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(tenant: &Tenant, item: &Item) -> Result<Self, ItemError> {
        let record = |map: &Item| {
            let key = Key::stored(tenant, map.text("pk")?, map.text("sk")?);
            Ok((key.ok_or_else(|| ItemError::invalid("records"))?, map.string(HASH)?))
        };
        let segment = Self {
            link: Link::read(item)?,
            after: item.opt_map("after")?.map(Link::read).transpose()?,
            sealed_at: item.timestamp("sealed_at")?,
            records: item.maps("records", record)?,
        };
        let key = keys::seal(tenant, segment.link.day, segment.link.number);
        if item.text(attr::PK)? != key.pk() || item.text(attr::SK)? != key.sk() {
            return Err(ItemError::invalid(attr::SK));
        }
        Ok(segment)
    }

    /// The hash of a stored segment, over all its attributes but the hash itself.
    #[must_use]
    pub fn digest(item: &Item) -> String {
        canonical::without(item, &[HASH]).to_string()
    }

    /// The action that writes the segment.
    pub(super) fn put(&self, tenant: &Tenant) -> TransactItem {
        let key = keys::seal(tenant, self.link.day, self.link.number);
        let mut item = self.whole(tenant);
        item.retain(|name, _| name != attr::PK && name != attr::SK);
        TransactItem::put_new(Role::Seal, key, item, Failure::StalePlan)
    }

    /// The item with its keys, as stored.
    fn whole(&self, tenant: &Tenant) -> Item {
        let key = keys::seal(tenant, self.link.day, self.link.number);
        let record = |(key, hash): &(Key, String)| {
            let pair = |name: &str, text: &str| (name.to_owned(), Value::s(text));
            Value::M(Item::from([pair("pk", key.pk()), pair("sk", key.sk()), pair(HASH, hash)]))
        };
        let mut item = self.link.item();
        item.extend([
            (attr::PK.to_owned(), Value::s(key.pk())),
            (attr::SK.to_owned(), Value::s(key.sk())),
            ("sealed_at".to_owned(), Value::s(self.sealed_at)),
            ("records".to_owned(), Value::L(self.records.iter().map(record).collect())),
        ]);
        if let Some(after) = &self.after {
            item.insert("after".to_owned(), Value::M(after.item()));
        }
        item
    }
}

impl SealedDay {
    /// Reads the progress of a day.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { last: Link::read(item)?, records: item.int("records")? })
    }
}
