//! Who seals a tenant's trail: one worker at a time, by a lease with a fencing token. Whoever has lost the
//! token writes nothing.

use super::segment::{Link, Sealable, SealedDay, Segment};
use crate::dynamo::{Cmp, Condition, Item, ItemError, Update, Value, read};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
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
    /// The token of whoever took it last.
    pub fence: i64,
    /// Until when that one is taken to be alive.
    pub lease_until: Timestamp,
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
        let at = |name: &str| read::parsed(item, name, Timestamp::parse);
        Ok(Self {
            fence: read::int(item, "fence")?,
            lease_until: at("lease_until")?,
            segments: read::int(item, "segments")?,
            last: read::opt_map(item, "last").map(Link::read).transpose()?,
            acts_until: at("acts_until")?,
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
        let until = Value::s(now.plus(LEASE));
        let stale = |condition| Clause { condition, failure: Failure::StalePlan };
        let is = |name: &'static str, as_: &'static str, value| stale(Condition::compare(name, Cmp::Eq, as_, value));
        let (fence, item) = match seen {
            None => {
                let first = Item::from([
                    ("fence".to_owned(), Value::int(1)),
                    ("lease_until".to_owned(), until),
                    ("segments".to_owned(), Value::int(0)),
                    ("acts_until".to_owned(), Value::s(Timestamp::from_millis(0))),
                ]);
                (1, TransactItem::put(Role::Sealing, key, first, vec![stale(Condition::absent(attr::PK))]))
            }
            Some(seen) if now < seen.lease_until => return Ok(None),
            Some(seen) => {
                let fence = seen.fence.saturating_add(1);
                let update =
                    Update::new().set("fence", "to_fence", Value::int(fence)).set("lease_until", "lease_until", until);
                let clauses = vec![
                    is("fence", "fence", Value::int(seen.fence)),
                    is("segments", "segments", Value::int(seen.segments)),
                    is("lease_until", "seen_lease", Value::s(seen.lease_until)),
                ];
                (fence, TransactItem::update(Role::Sealing, key, update, clauses))
            }
        };
        let last = seen.and_then(|seen| seen.last.clone());
        let acts_until = seen.map_or(Timestamp::from_millis(0), |seen| seen.acts_until);
        let lease = Self { tenant: tenant.clone(), fence, last, acts_until };
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
        let update = Update::new().set("lease_until", "lease_until", Value::s(now)).set(
            "acts_until",
            "acts_until",
            Value::s(acts_until),
        );
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
        let alive = Update::new()
            .set("lease_until", "lease_until", Value::s(now.plus(LEASE)))
            .set("last", "last", Value::M(link.item()))
            .add("segments", "one", Value::int(1));
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
        let fenced = Condition::compare("fence", Cmp::Eq, "fence", Value::int(self.fence));
        let mine = Clause { condition: fenced, failure: Failure::StalePlan };
        TransactItem::update(Role::Sealing, keys::sealing(&self.tenant), update, vec![mine])
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
