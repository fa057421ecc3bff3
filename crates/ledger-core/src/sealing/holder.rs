//! The lease of a tenant's audit trail: one worker seals it at a time.

use super::segment::{Link, Sealable, SealedDay, Segment};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::time::{Timestamp, UtcDay};
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Rejection, Role, TransactItem, Transaction};
use std::time::Duration;

/// The lease of a trail.
pub const SEALING_LEASE: Duration = Duration::from_secs(30);
/// The items of a segment's transaction besides its records: the lease, the segment, and the progress of the day.
const ITEMS_BESIDE_RECORDS: usize = 3;
/// The most records in one segment.
pub const RECORDS_MAX: usize = MAX_ITEMS - ITEMS_BESIDE_RECORDS;

/// The stored state of a tenant's trail: its lease holder, and the end of its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealing {
    /// The last lease holder.
    pub holder: Holder,
    /// The number of segments.
    pub segments: i64,
    /// The last segment of the chain.
    pub last: Option<Link>,
    /// Every act whose id has a time before this is sealed.
    pub acts_until: Timestamp,
}

/// A tenant's trail and its progress, held by the lease holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail {
    tenant: Tenant,
    last: Option<Link>,
    acts_until: Timestamp,
}

impl Leasable for Trail {
    const LEASE_DURATION: Duration = SEALING_LEASE;
    const ROLE: Role = Role::Sealing;
}

/// A segment to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    transaction: Transaction,
    next: Leased<Trail>,
    records: usize,
}

/// Why a segment was rejected. Nothing of it was written. Records are named by their position in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchRejection {
    /// Another worker has taken the trail: this one stops.
    LeaseLost,
    /// These records do not exist any more. Our code never removes any.
    Missing(Vec<usize>),
    /// These have been sealed before.
    Sealed(Vec<usize>),
}

impl Sealing {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            holder: Holder::read(item)?,
            segments: item.int("segments")?,
            last: item.opt_map("last")?.map(Link::read).transpose()?,
            acts_until: item.timestamp("acts_until")?,
        })
    }
}

impl Trail {
    /// Takes a trail whose item is `seen`, or has none yet. `None` while another worker holds it.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn take(
        tenant: &Tenant,
        seen: Option<&Sealing>,
        now: Timestamp,
    ) -> Result<Option<(Leased<Self>, Transaction)>, BuildError> {
        let key = keys::sealing(tenant);
        let Some(seen) = seen else {
            let acts_until = Timestamp::from_millis(0);
            let attributes =
                Item::from([("segments".to_owned(), Value::int(0)), ("acts_until".to_owned(), Value::s(acts_until))]);
            let this = Self { tenant: tenant.clone(), last: None, acts_until };
            return Leased::create(this, key, attributes, now).map(Some);
        };
        let this = Self { tenant: tenant.clone(), last: seen.last.clone(), acts_until: seen.acts_until };
        let segments = Condition::compare("segments", Cmp::Eq, "segments", Value::int(seen.segments));
        let chain = Clause { condition: segments, failure: Failure::StalePlan };
        Leased::take(key, seen.holder, vec![chain], now, |next| (this, next.taken(Update::new())))
    }

    /// Every act whose id has a time before this is sealed.
    #[must_use]
    pub fn acts_until(&self) -> Timestamp {
        self.acts_until
    }
}

impl Leased<Trail> {
    /// Releases the trail: any worker may take it at once. Every act whose id has a time before `acts_until` is
    /// sealed.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn release(&self, acts_until: Timestamp, now: Timestamp) -> Result<Transaction, BuildError> {
        let released = Self::released(now).set("acts_until", "acts_until", Value::s(acts_until));
        Transaction::unkeyed(vec![self.change(released)])
    }

    /// Builds a segment of `day` from as many of the first records as fit, and renews the lease. `sealed` is the
    /// progress of that day. `None` if there are no records. All of them must be of that day.
    ///
    /// # Errors
    /// [`BuildError`] if a record is given twice, or its seal credits a merchant, which only that of a lane does.
    pub fn batch(
        &self,
        day: UtcDay,
        sealed: Option<&SealedDay>,
        waiting: &[Sealable],
        now: Timestamp,
    ) -> Result<Option<Batch>, BuildError> {
        let records = waiting.get(..waiting.len().min(RECORDS_MAX)).unwrap_or(waiting);
        if records.is_empty() {
            return Ok(None);
        }
        let number = sealed.map_or(0, |day| day.last.number).saturating_add(1);
        let segment = Segment::of(&self.tenant, (day, number), self.last.clone(), records, now);
        let link = segment.link.clone();
        let longer =
            Self::renewed(now).set("last", "last", Value::M(link.item())).add("segments", "one", Value::int(1));
        let mut items =
            vec![self.change(longer), segment.put(&self.tenant), self.counted(&link, sealed, records.len())];
        let stamp = link.stamp();
        if records.iter().any(|record| record.credit().is_some()) {
            return Err(BuildError::Uncredited);
        }
        items.extend(records.iter().map(|record| record.stamped(&stamp, None)));
        let next = self.with(Trail { last: Some(link), ..(**self).clone() });
        Ok(Some(Batch { transaction: Transaction::unkeyed(items)?, next, records: records.len() }))
    }
}

impl Trail {
    /// The progress of the day after one more segment, guarded on the progress that was read.
    fn counted(&self, link: &Link, sealed: Option<&SealedDay>, more: usize) -> TransactItem {
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let records = sealed.map_or(0, |day| day.records).saturating_add(more);
        let mut item = link.item();
        item.insert("records".to_owned(), Value::int(records.into()));
        let as_seen = match sealed {
            None => Condition::absent(attr::PK),
            Some(day) => Condition::compare("number", Cmp::Eq, "seen", Value::int(day.last.number.into())),
        };
        let clauses = vec![Clause { condition: as_seen, failure: Failure::StalePlan }];
        TransactItem::put(Role::Seal, keys::sealed_day(&self.tenant, link.day), item, clauses)
    }
}

impl Batch {
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

    /// The trail after the write: its chain is one segment longer.
    #[must_use]
    pub fn into_next(self) -> Leased<Trail> {
        self.next
    }

    /// What a failed guard means; `None` for a failure that no batch has.
    #[must_use]
    pub fn explain(&self, rejection: &Rejection) -> Option<BatchRejection> {
        let records = || rejection.positions_behind(ITEMS_BESIDE_RECORDS);
        match rejection.failure {
            // A stale guard of another item does not mean that the lease was lost.
            Failure::StalePlan => rejection.positions.contains(&0).then_some(BatchRejection::LeaseLost),
            Failure::AccountMissing => Some(BatchRejection::Missing(records())),
            Failure::AlreadyExists => Some(BatchRejection::Sealed(records())),
            Failure::FourEyes
            | Failure::AccountFrozen
            | Failure::WrongState
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
