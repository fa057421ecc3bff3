//! Who seals a tenant's trail: one worker at a time, by a lease with a fencing token. Whoever has lost the
//! token writes nothing.

use super::segment::{Link, Sealable, SealedDay, Segment};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::lease::{self, Holder};
use crate::time::{Timestamp, UtcDay};
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Rejection, Role, TransactItem, Transaction};
use std::time::Duration;

/// How long a holder may be silent before another takes the trail over. Each segment begins it anew.
pub const LEASE: Duration = Duration::from_secs(30);
/// The holder, the segment, and how far the day is sealed.
const BESIDE: usize = 3;
/// How many records one segment lists at most.
pub const RECORDS_MAX: usize = MAX_ITEMS - BESIDE;

/// Who seals a tenant's trail and how far its chain goes, as its item says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealing {
    /// Who has it.
    pub holder: Holder,
    /// How many segments there are.
    pub segments: i64,
    /// The last segment of the chain.
    pub last: Option<Link>,
    /// Every act whose id was born before this is sealed.
    pub acts_until: Timestamp,
}

/// The right to seal a tenant's trail, as long as nobody has a later token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    tenant: Tenant,
    fence: i64,
    last: Option<Link>,
    acts_until: Timestamp,
}

/// A segment that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    transaction: Transaction,
    next: Lease,
    records: usize,
}

/// Why a segment was not written. Nothing of it was. Records are named by their position in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setback {
    /// Somebody else has taken the trail over: whoever finds that stops.
    LeaseLost,
    /// There are no such records any more, and nobody of ours removes one.
    Missing(Vec<usize>),
    /// These have been sealed before.
    Sealed(Vec<usize>),
}

impl Sealing {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            holder: Holder::read(item)?,
            segments: item.int("segments")?,
            last: item.opt_map("last")?.map(Link::read).transpose()?,
            acts_until: item.timestamp("acts_until")?,
        })
    }
}

impl Lease {
    /// Takes a trail as it was seen. `None` while somebody else has it. The guard is on exactly what was seen:
    /// of two that take it at once, one fails with `StalePlan`.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn take(
        tenant: &Tenant,
        seen: Option<&Sealing>,
        now: Timestamp,
    ) -> Result<Option<(Self, Transaction)>, BuildError> {
        let key = keys::sealing(tenant);
        let (holder, item) = match seen {
            None => {
                let first = Holder { fence: 1, lease_until: now.plus(LEASE) };
                let mut attributes = Item::from(first.attributes());
                attributes.insert("segments".to_owned(), Value::int(0));
                attributes.insert("acts_until".to_owned(), Value::s(Timestamp::from_millis(0)));
                (first, TransactItem::put_new(Role::Sealing, key, attributes, Failure::StalePlan))
            }
            Some(seen) => {
                let Some(next) = seen.holder.next(LEASE, now) else { return Ok(None) };
                let segments = Condition::compare("segments", Cmp::Eq, "segments", Value::int(seen.segments));
                let chain = Clause { condition: segments, failure: Failure::StalePlan };
                let [fence, lease] = seen.holder.as_seen();
                let update = next.taken(Update::new());
                (next, TransactItem::update(Role::Sealing, key, update, vec![fence, chain, lease]))
            }
        };
        let last = seen.and_then(|seen| seen.last.clone());
        let acts_until = seen.map_or(Timestamp::from_millis(0), |seen| seen.acts_until);
        let lease = Self { tenant: tenant.clone(), fence: holder.fence, last, acts_until };
        Ok(Some((lease, Transaction::unkeyed(vec![item])?)))
    }

    /// Every act whose id was born before this is sealed.
    #[must_use]
    pub fn acts_until(&self) -> Timestamp {
        self.acts_until
    }

    /// Lets the trail go: anybody may take it at once. Every act whose id was born before `acts_until` is
    /// sealed by now.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn release(&self, acts_until: Timestamp, now: Timestamp) -> Result<Transaction, BuildError> {
        let update = lease::alive(Update::new(), now).set("acts_until", "acts_until", Value::s(acts_until));
        Transaction::unkeyed(vec![self.held(update)])
    }

    /// As many of the first records as fit into one segment of `day`, of which `sealed` is how far it is; `None`
    /// if there are none. All of them must be of that day. It also says that the holder is alive.
    ///
    /// # Errors
    /// [`BuildError`] if a record is there twice.
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
        let alive = lease::alive(Update::new(), now.plus(LEASE)).set("last", "last", Value::M(link.item())).add(
            "segments",
            "one",
            Value::int(1),
        );
        let mut items = vec![self.held(alive), segment.put(&self.tenant), self.counted(&link, sealed, records.len())];
        items.extend(records.iter().map(|record| record.stamped(&link)));
        let next = Self { last: Some(link), ..self.clone() };
        Ok(Some(Batch { transaction: Transaction::unkeyed(items)?, next, records: records.len() }))
    }

    /// How far the day is sealed with one segment more, if it is as far as it was seen.
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

    /// A change of the trail's item that only the holder of this token can write.
    fn held(&self, update: Update) -> TransactItem {
        TransactItem::update(Role::Sealing, keys::sealing(&self.tenant), update, vec![lease::held(self.fence)])
    }
}

impl Batch {
    /// What is written.
    #[must_use]
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// How many of the first records it seals.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// The lease once it is written: the chain goes one segment further.
    #[must_use]
    pub fn into_next(self) -> Lease {
        self.next
    }

    /// What a failed guard means; `None` if nothing of ours explains it.
    #[must_use]
    pub fn setback(&self, rejection: &Rejection) -> Option<Setback> {
        let records = || rejection.positions.iter().filter_map(|at| at.checked_sub(BESIDE)).collect();
        match rejection.failure {
            // What else is not as it was read is no other holder's doing.
            Failure::StalePlan => rejection.positions.contains(&0).then_some(Setback::LeaseLost),
            Failure::AccountMissing => Some(Setback::Missing(records())),
            Failure::AlreadyExists => Some(Setback::Sealed(records())),
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
