//! Posting days: the day that an entry is posted to, and the closing of a day.
//!
//! INVARIANT: a closed day's entries never change. An entry belongs to a day by its place in the sealed chain: to the day
//! of its own time if its segment was written before that day was closed, else to the first day that was open then. The
//! transaction that closes a day is guarded on the last segment of every lane, segments are only appended, and an entry is
//! in one segment. So no guard is needed in the entry's own transaction, and no item that all payments share.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::sealing::lanes::Heads;
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{BuildError, Role, TransactItem, Transaction};
use std::time::Duration;

/// The time after the end of a day before which it is not closed: ten minutes for clocks that differ, and five for the
/// requests that began on it and for their seals.
pub const DAY_MARGIN: Duration = Duration::from_secs(15 * 60);

/// The attribute with the version of an item. Readers refuse any other than 1.
pub(super) const VERSION: &str = "v";
const CLOSED_AT: &str = "closed_at";
const LANES: &str = "lanes";

/// A closed posting day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedDay {
    /// The day.
    pub date: BusinessDate,
    /// When it was closed.
    pub closed_at: Timestamp,
    /// The number of the last segment of each lane that was written before.
    lanes: Vec<u64>,
}

/// The closed days of a tenant, from some day on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostingDays(Vec<ClosedDay>);

/// The place of an entry among days and instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The day that it is posted to.
    pub day: BusinessDate,
    /// The instant from which balances have it: its own, or the beginning of the day if that is later.
    pub at: Timestamp,
}

/// The instants from which balances have some entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
}

impl Span {
    /// The span of this one and an entry.
    #[must_use]
    pub fn with(earlier: Option<Self>, at: Timestamp) -> Self {
        earlier.map_or(Self { first: at, last: at }, |span| Self { first: span.first.min(at), last: span.last.max(at) })
    }
}

/// The first day to be closed at `now` after `last`, if its time has come. Before the first closing, all days before the
/// present one are closed by that of the last of them.
#[must_use]
pub fn next_to_close(last: Option<BusinessDate>, now: Timestamp) -> Option<BusinessDate> {
    let open = now.minus(DAY_MARGIN).business_date();
    let next = last.map_or_else(|| open.days_before(1), BusinessDate::next);
    (next < open).then_some(next)
}

/// Closes a day after the last segments that `heads` name, and names the day in them.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn close(tenant: &Tenant, date: BusinessDate, heads: &Heads, now: Timestamp) -> Result<Transaction, BuildError> {
    let lanes = heads.lanes.iter().map(|lane| Value::N(lane.link.number.to_string()));
    let day = Item::from([
        (VERSION.to_owned(), Value::int(1)),
        (CLOSED_AT.to_owned(), Value::s(now)),
        (LANES.to_owned(), Value::L(lanes.collect())),
    ]);
    let key = keys::closed_day(tenant, date);
    let mut items = vec![TransactItem::put_new(Role::Figures, key, day, Failure::StalePlan)];
    items.extend(heads.lanes.iter().map(|lane| lane.read_unchanged_by(tenant, format!("day {date}"))));
    Transaction::unkeyed(items)
}

impl ClosedDay {
    /// Reads a stored day.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(tenant: &Tenant, item: &Item) -> Result<Self, ItemError> {
        let wrong_key = || ItemError::invalid(attr::SK);
        let date = item.text(attr::SK)?.rsplit_once('#').and_then(|(_, date)| BusinessDate::parse(date).ok());
        let date = date.ok_or_else(wrong_key)?;
        if item.text(attr::SK)? != keys::closed_day(tenant, date).sk() {
            return Err(wrong_key());
        }
        check_version(item)?;
        Ok(Self { date, closed_at: item.timestamp(CLOSED_AT)?, lanes: segments(item, LANES)? })
    }

    /// The number of the last segment of a lane that was written before; 0 if there was none.
    #[must_use]
    pub fn last_of(&self, lane: u32) -> u64 {
        usize::try_from(lane).ok().and_then(|lane| self.lanes.get(lane)).copied().unwrap_or(0)
    }
}

impl ClosedDay {
    /// Whether these segments, the last ones of each lane, have all entries of the day.
    #[must_use]
    pub fn is_within(&self, segments: &[u64]) -> bool {
        let has = |(lane, last): (usize, &u64)| *last == 0 || segments.get(lane).is_some_and(|segment| segment >= last);
        self.lanes.iter().enumerate().all(has)
    }
}

impl PostingDays {
    /// Reads stored days, as [`crate::reads::closed_days`] lists them.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(tenant: &Tenant, items: &[Item]) -> Result<Self, ItemError> {
        items.iter().map(|item| ClosedDay::read(tenant, item)).collect::<Result<_, _>>().map(Self)
    }

    /// All of them, by date.
    pub fn iter(&self) -> impl Iterator<Item = &ClosedDay> {
        self.0.iter()
    }

    /// The first of them.
    #[must_use]
    pub fn first(&self) -> Option<&ClosedDay> {
        self.0.first()
    }

    /// The last of them.
    #[must_use]
    pub fn last(&self) -> Option<&ClosedDay> {
        self.0.last()
    }

    /// The closing of a day.
    #[must_use]
    pub fn of(&self, date: BusinessDate) -> Option<&ClosedDay> {
        self.0.iter().find(|closed| closed.date == date)
    }

    /// Where an entry is posted, whose segment is `number` of `lane`.
    #[must_use]
    pub fn posted(&self, (lane, number): (u32, u64), created_at: Timestamp) -> Posted {
        let closed = self.0.iter().rev().find(|closed| closed.last_of(lane) < number);
        let own = created_at.business_date();
        let day = closed.map_or(own, |closed| own.max(closed.date.next()));
        Posted { day, at: created_at.max(day.bounds().0) }
    }
}

/// Requires that an item has the version that this code reads.
pub(super) fn check_version(item: &Item) -> Result<(), ItemError> {
    item.checked_int(VERSION, |version: i64| (version == 1).then_some(()))
}

/// A list of numbers of segments, by lane.
pub(super) fn segments(item: &Item, name: &str) -> Result<Vec<u64>, ItemError> {
    let number = |value: &Value| match value {
        Value::N(number) => number.parse().ok(),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
    };
    item.list(name)?.iter().map(number).collect::<Option<_>>().ok_or_else(|| ItemError::invalid(name))
}
