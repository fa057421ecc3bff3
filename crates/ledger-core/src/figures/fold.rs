//! How far the sealed entries are folded into the totals of days.
//!
//! The fold goes on in batches of whole segments. A batch is planned in one transaction, its totals are written in any
//! number of others, each of which adds it once, and then it is completed. A worker that stops leaves a plan, which the next
//! one carries out from the beginning: totals that have the batch are left as they are.
//!
//! INVARIANT: each transaction of a batch writes the item of the fold, and the plan the heads of the lanes that it reads. In a
//! copy of the table, which has no order but that of an item's writes, a batch so comes after its segments, and is completed
//! after all its totals.

use super::day::{ClosedDay, VERSION, check_version, segments};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys;
use crate::sealing::lanes::{LaneHead, Lanes};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};

const BATCH: &str = "batch";
const FINISHED: &str = "finished";
const LANES: &str = "lanes";
const PARTS: &str = "parts";
const PLANNED: &str = "planned";
const FINISHES: &str = "finishes";
const FOLDED_AT: &str = "folded_at";
const FROM: &str = "from";
const TO: &str = "to";

/// How far the entries of a tenant are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The last batch; 0 before the first.
    pub batch: u64,
    /// The last day whose totals are final.
    pub finished: Option<BusinessDate>,
    /// The last segment of each lane that is folded.
    lanes: Vec<u64>,
    /// The batch that is being folded.
    pub planned: Option<FoldPlan>,
    /// When the last batch was completed.
    pub folded_at: Option<Timestamp>,
}

/// The segments of a batch, which are kept for balances at an instant within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchSegments {
    from: Vec<u64>,
    to: Vec<u64>,
}

/// A batch of segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldPlan {
    /// The last segment of each lane that is in it.
    to: Vec<u64>,
    /// The day whose last entries are in it.
    pub finishes: Option<BusinessDate>,
}

impl Fold {
    /// The beginning.
    #[must_use]
    pub fn new() -> Self {
        Self { batch: 0, finished: None, lanes: Vec::new(), planned: None, folded_at: None }
    }

    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        check_version(item)?;
        let finishes = item.opt_parsed(FINISHES, BusinessDate::parse)?;
        let planned = item.contains_key(PLANNED).then(|| segments(item, PLANNED)).transpose()?;
        Ok(Self {
            batch: item.int(BATCH)?,
            finished: item.opt_parsed(FINISHED, BusinessDate::parse)?,
            lanes: segments(item, LANES)?,
            planned: planned.map(|to| FoldPlan { to, finishes }),
            folded_at: item.opt_timestamp(FOLDED_AT)?,
        })
    }

    /// The last segment of a lane that is folded.
    #[must_use]
    pub fn last_of(&self, lane: u32) -> u64 {
        at(&self.lanes, lane)
    }

    /// The open day whose entries are folded next; `None` before the first closing, when entries of all days are.
    #[must_use]
    pub fn open_day(&self) -> Option<BusinessDate> {
        self.finished.map(BusinessDate::next)
    }

    /// Plans a batch: up to these segments, in whose lanes' heads it is named. `closed` is the closing of the day whose last
    /// entries are in it.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn plan(
        &self,
        tenant: &Tenant,
        to: Vec<u64>,
        closed: Option<&ClosedDay>,
    ) -> Result<(Self, Transaction), BuildError> {
        let segments = BatchSegments { from: self.lanes.clone(), to: to.clone() };
        let plan = FoldPlan { to, finishes: closed.map(|closed| closed.date) };
        let next = Self { batch: self.batch.saturating_add(1), planned: Some(plan), ..self.clone() };
        let kept = keys::folded_batch(tenant, next.batch);
        let kept = TransactItem::put_new(Role::Figures, kept, segments.item(), Failure::StalePlan);
        let action = if *self == Self::new() {
            TransactItem::put_new(Role::Figures, keys::fold(tenant), next.item(), Failure::StalePlan)
        } else {
            let clauses = vec![self.is_seen(), stale(Condition::absent(PLANNED))];
            TransactItem::put(Role::Figures, keys::fold(tenant), next.item(), clauses)
        };
        let reader = format!("batch {}", next.batch);
        let lanes = segments.ranges().into_iter().map(|(lane, _, _)| LaneHead::read_by(tenant, lane, reader.clone()));
        Ok((next, Transaction::unkeyed([action, kept].into_iter().chain(lanes).collect())?))
    }

    /// The action that every transaction with a part of the planned batch has: it counts the transaction, and fails with
    /// `StalePlan` if the batch is not planned any more.
    #[must_use]
    pub fn part(&self, tenant: &Tenant) -> TransactItem {
        let update = Update::new().add(PARTS, "part", Value::int(1));
        let clauses = vec![self.is_seen(), stale(Condition::exists(PLANNED))];
        TransactItem::update(Role::Figures, keys::fold(tenant), update, clauses)
    }

    /// Completes the planned batch; `None` without one.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn complete(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<(Self, Transaction)>, BuildError> {
        let Some(plan) = &self.planned else { return Ok(None) };
        let next = Self {
            finished: plan.finishes.or(self.finished),
            lanes: plan.to.clone(),
            planned: None,
            folded_at: Some(now),
            ..self.clone()
        };
        let clauses = vec![self.is_seen(), stale(Condition::exists(PLANNED))];
        let action = TransactItem::put(Role::Figures, keys::fold(tenant), next.item(), clauses);
        Ok(Some((next, Transaction::unkeyed(vec![action])?)))
    }

    fn is_seen(&self) -> Clause {
        stale(Condition::compare(BATCH, Cmp::Eq, "seen", Value::N(self.batch.to_string())))
    }

    fn item(&self) -> Item {
        let mut item = Item::from([
            (VERSION.to_owned(), Value::int(1)),
            (BATCH.to_owned(), Value::N(self.batch.to_string())),
            (LANES.to_owned(), numbers(&self.lanes)),
        ]);
        item.extend(self.finished.map(|date| (FINISHED.to_owned(), Value::s(date))));
        item.extend(self.folded_at.map(|at| (FOLDED_AT.to_owned(), Value::s(at))));
        if let Some(plan) = &self.planned {
            item.insert(PLANNED.to_owned(), numbers(&plan.to));
            item.extend(plan.finishes.map(|date| (FINISHES.to_owned(), Value::s(date))));
        }
        item
    }
}

impl Default for Fold {
    fn default() -> Self {
        Self::new()
    }
}

impl FoldPlan {
    /// The last segment of a lane that is in the batch.
    #[must_use]
    pub fn last_of(&self, lane: u32) -> u64 {
        at(&self.to, lane)
    }

    /// The segments of each lane that are in the batch after those that `fold` has.
    #[must_use]
    pub fn segments_after(&self, fold: &Fold) -> Vec<(u32, u64, u64)> {
        ranges(&fold.lanes, &self.to)
    }
}

impl BatchSegments {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        check_version(item)?;
        Ok(Self { from: segments(item, FROM)?, to: segments(item, TO)? })
    }

    /// Each lane, the last segment before the batch, and the last one in it.
    #[must_use]
    pub fn ranges(&self) -> Vec<(u32, u64, u64)> {
        ranges(&self.from, &self.to)
    }

    fn item(&self) -> Item {
        Item::from([
            (VERSION.to_owned(), Value::int(1)),
            (FROM.to_owned(), numbers(&self.from)),
            (TO.to_owned(), numbers(&self.to)),
        ])
    }
}

fn ranges(from: &[u64], to: &[u64]) -> Vec<(u32, u64, u64)> {
    let ranges = (0..Lanes::MAX.count()).map(|lane| (lane, at(from, lane), at(to, lane)));
    ranges.filter(|(_, from, to)| from < to).collect()
}

fn at(lanes: &[u64], lane: u32) -> u64 {
    usize::try_from(lane).ok().and_then(|lane| lanes.get(lane)).copied().unwrap_or(0)
}

fn numbers(lanes: &[u64]) -> Value {
    Value::L(lanes.iter().map(|number| Value::N(number.to_string())).collect())
}

fn stale(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::StalePlan }
}
