//! Up to which day a tenant's closing days were dealt with. The item is guarded on what was read, so that a closing day has one
//! run, however many workers see that it is over.

use super::record::{self, RunStart};
use crate::calendar::{CLOSING_MARGIN, SettlementSchedule};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::plan::Context;
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};

const UNTIL: &str = "closed_until";
/// The prefix of the attributes with the schedules that merchants have or had of their own.
const OWN: &str = "own_";
/// The most days for which runs are started late, if no worker ran.
const DAYS_LATE_MAX: u16 = 31;

/// The stored item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosingCalendar {
    /// The last day that was dealt with; `None` before the first.
    until: Option<BusinessDate>,
    /// The schedules that merchants have or had of their own.
    own: Vec<SettlementSchedule>,
    /// Why one of these schedules cannot be read, if one cannot.
    unreadable: Option<ItemError>,
}

/// The days that are over and not dealt with, the first one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedDays {
    /// There is none.
    None,
    /// The tenant's first: closing days are counted from then on.
    Begin(BusinessDate),
    /// From the first day to the last.
    Days(BusinessDate, BusinessDate),
}

impl ClosingCalendar {
    /// Reads the item; without an item no day was dealt with. A merchant's schedule that cannot be read is left out, and is
    /// [`ClosingCalendar::unreadable`].
    ///
    /// # Errors
    /// [`ItemError`] if the last day that was dealt with is malformed.
    pub fn read(item: Option<&Item>) -> Result<Self, ItemError> {
        let Some(item) = item else { return Ok(Self::default()) };
        let until = item.opt_parsed(UNTIL, BusinessDate::parse)?;
        let mut calendar = Self { until, ..Self::default() };
        for name in item.keys().filter(|name| name.starts_with(OWN)) {
            match item.parsed(name, str::parse) {
                Ok(schedule) => calendar.own.push(schedule),
                Err(error) => calendar.unreadable = Some(error),
            }
        }
        Ok(calendar)
    }

    /// Why one of the merchants' schedules cannot be read, if one cannot: its days may have no run.
    #[must_use]
    pub fn unreadable(&self) -> Option<&ItemError> {
        self.unreadable.as_ref()
    }

    /// The days that are over at an instant and not dealt with.
    #[must_use]
    pub fn ended(&self, now: Timestamp) -> EndedDays {
        let last = now.minus(CLOSING_MARGIN).business_date().days_before(1);
        match self.until {
            None => EndedDays::Begin(last),
            Some(until) if until >= last => EndedDays::None,
            Some(until) => EndedDays::Days(until.next().max(last.days_before(DAYS_LATE_MAX)), last),
        }
    }

    /// Whether a schedule closes on a day: the tenant's on that day, or one of the merchants'.
    #[must_use]
    pub fn closes_on(&self, date: BusinessDate, tenants: Option<SettlementSchedule>) -> bool {
        tenants.iter().chain(&self.own).any(|schedule| schedule.closes_on(date))
    }

    /// Starts the run of a closing day, and deals with all days up to it.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn run(
        &self,
        tenant: &Tenant,
        closing: BusinessDate,
        schedule: Option<SettlementSchedule>,
        cx: &Context,
    ) -> Result<Transaction, BuildError> {
        let start = RunStart { tenant, closing, schedule, by: None };
        let mut items = record::start(&start, cx).draft.items;
        items.push(self.dealt_with(tenant, closing, cx.now));
        Transaction::unkeyed(items)
    }

    /// Deals with all days up to one, without a run.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn no_run(&self, tenant: &Tenant, until: BusinessDate, now: Timestamp) -> Result<Transaction, BuildError> {
        Transaction::unkeyed(vec![self.dealt_with(tenant, until, now)])
    }

    fn dealt_with(&self, tenant: &Tenant, until: BusinessDate, now: Timestamp) -> TransactItem {
        let condition = match self.until {
            Some(seen) => Condition::compare(UNTIL, Cmp::Eq, "seen_until", Value::s(seen)),
            None => Condition::absent(UNTIL),
        };
        let update = Update::new().set(UNTIL, UNTIL, Value::s(until)).set(attr::UPDATED_AT, "ua", Value::s(now));
        let as_read = vec![Clause { condition, failure: Failure::StalePlan }];
        TransactItem::update(Role::SettlementCalendar, keys::settlement_calendar(tenant), update, as_read)
    }
}

/// Adds the schedule of a merchant. It stays when the merchant has another one: a run that closes none is harmless.
pub(super) fn with_own(tenant: &Tenant, schedule: SettlementSchedule, now: Timestamp) -> TransactItem {
    let text = schedule.to_string();
    let name = format!("{OWN}{}", text.replace([':', ',', ' '], "_"));
    let update = Update::new().set(name, "own", Value::S(text)).set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::SettlementCalendar, keys::settlement_calendar(tenant), update, Vec::new())
}
