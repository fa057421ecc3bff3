//! On which days merchants' periods are closed, and when each is paid. A schedule is written as one text, which is also what
//! is stored: `monthly:month_end next_month:10:next`.

use super::{HolidaysUnknown, bank_day_from, bank_day_until, bank_days_after};
use crate::canonical::parse_canonical;
use crate::time::{BusinessDate, Weekday};
use std::fmt;
use std::str::FromStr;

/// The last day that each month has.
pub(super) const DAY_MAX: u8 = 28;
/// The most days on which banks are open between a closing day and its payment.
pub(super) const BANK_DAYS_MAX: u8 = 60;

/// When periods are closed and paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettlementSchedule {
    pub(super) closing: Closing,
    pub(super) payment: PaymentRule,
}

/// The days at whose end periods are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// One day of each month.
    Monthly(ClosingDay),
    /// Two days of each month, the earlier one first.
    TwiceAMonth(ClosingDay, ClosingDay),
    /// A day of each week.
    Weekly(Weekday),
}

/// A day of each month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClosingDay {
    /// A day from 1 to 28.
    Day(u8),
    /// The last day of the month.
    MonthEnd,
}

/// When a period is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentRule {
    /// When banks are open for the nth time after the closing day.
    BankDays(u8),
    /// On a day of the month after that of the closing day.
    NextMonth(ClosingDay, DayRule),
}

/// The day that is taken if banks are closed on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayRule {
    /// The next one on which they are open.
    Next,
    /// The last one before it on which they are open, but not the closing day or one before it.
    Previous,
}

/// The schedule of one merchant, in place of the tenant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnSchedule {
    /// Its own days.
    Days(SettlementSchedule),
    /// It has none: a person closes its periods.
    ByHand,
}

/// The error for a text that is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be closing days and a payment rule, for example monthly:month_end next_month:10:next, \
     twice_a_month:15,month_end bank_days:3 or weekly:friday bank_days:2, where a day is 1 to 28 or month_end, the \
     earlier one first, and bank_days is 1 to 60"
)]
pub struct ScheduleError;

impl SettlementSchedule {
    /// Whether periods are closed at the end of a day.
    #[must_use]
    pub fn closes_on(&self, date: BusinessDate) -> bool {
        match self.closing {
            Closing::Monthly(day) => day.is(date),
            Closing::TwiceAMonth(one, other) => one.is(date) || other.is(date),
            Closing::Weekly(weekday) => date.weekday() == weekday,
        }
    }

    /// The day on which a period is paid that is closed at the end of a day. It is after the closing day, and banks are open on
    /// it.
    ///
    /// # Errors
    /// [`HolidaysUnknown`] if the table of holidays does not reach it.
    pub fn pays_on(&self, closing: BusinessDate) -> Result<BusinessDate, HolidaysUnknown> {
        match self.payment {
            PaymentRule::BankDays(days) => bank_days_after(closing, days),
            PaymentRule::NextMonth(day, rule) => {
                let date = day.of_month_after(closing);
                match rule {
                    DayRule::Next => bank_day_from(date),
                    DayRule::Previous => Ok(bank_day_until(date)?.max(bank_days_after(closing, 1)?)),
                }
            }
        }
    }
}

impl ClosingDay {
    fn is(self, date: BusinessDate) -> bool {
        match self {
            Self::Day(day) => date.month_and_day().1 == day,
            Self::MonthEnd => date == date.last_of_month(),
        }
    }

    fn of_month_after(self, date: BusinessDate) -> BusinessDate {
        let first = date.last_of_month().next();
        match self {
            Self::Day(day) => first.days_after(day.saturating_sub(1)),
            Self::MonthEnd => first.last_of_month(),
        }
    }
}

impl FromStr for ClosingDay {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        if text == "month_end" {
            return Ok(Self::MonthEnd);
        }
        let day = parse_canonical::<u8>(text).filter(|day| (1..=DAY_MAX).contains(day));
        day.map(Self::Day).ok_or(ScheduleError)
    }
}

impl FromStr for SettlementSchedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (closing, payment) = text.split_once(' ').ok_or(ScheduleError)?;
        let closing = match closing.split_once(':').ok_or(ScheduleError)? {
            ("monthly", day) => Closing::Monthly(day.parse()?),
            ("twice_a_month", days) => {
                let (one, other) = days.split_once(',').ok_or(ScheduleError)?;
                let (one, other) = (one.parse()?, other.parse()?);
                if one >= other {
                    return Err(ScheduleError);
                }
                Closing::TwiceAMonth(one, other)
            }
            ("weekly", day) => Closing::Weekly(Weekday::parse(day).ok_or(ScheduleError)?),
            _ => return Err(ScheduleError),
        };
        let payment = match *payment.split(':').collect::<Vec<_>>() {
            ["bank_days", days] => {
                let days = parse_canonical::<u8>(days).filter(|days| (1..=BANK_DAYS_MAX).contains(days));
                PaymentRule::BankDays(days.ok_or(ScheduleError)?)
            }
            ["next_month", day, "next"] => PaymentRule::NextMonth(day.parse()?, DayRule::Next),
            ["next_month", day, "previous"] => PaymentRule::NextMonth(day.parse()?, DayRule::Previous),
            _ => return Err(ScheduleError),
        };
        Ok(Self { closing, payment })
    }
}

impl OwnSchedule {
    /// The text of [`OwnSchedule::ByHand`].
    const BY_HAND: &'static str = "by_hand";

    /// The days, if it has some.
    #[must_use]
    pub fn days(self) -> Option<SettlementSchedule> {
        match self {
            Self::Days(days) => Some(days),
            Self::ByHand => None,
        }
    }
}

impl FromStr for OwnSchedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        if text == Self::BY_HAND { Ok(Self::ByHand) } else { text.parse().map(Self::Days) }
    }
}

impl fmt::Display for OwnSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Days(days) => days.fmt(f),
            Self::ByHand => f.write_str(Self::BY_HAND),
        }
    }
}

impl fmt::Display for ClosingDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::MonthEnd => f.write_str("month_end"),
        }
    }
}

impl fmt::Display for SettlementSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.closing {
            Closing::Monthly(day) => write!(f, "monthly:{day}")?,
            Closing::TwiceAMonth(one, other) => write!(f, "twice_a_month:{one},{other}")?,
            Closing::Weekly(day) => write!(f, "weekly:{}", day.name())?,
        }
        match self.payment {
            PaymentRule::BankDays(days) => write!(f, " bank_days:{days}"),
            PaymentRule::NextMonth(day, DayRule::Next) => write!(f, " next_month:{day}:next"),
            PaymentRule::NextMonth(day, DayRule::Previous) => write!(f, " next_month:{day}:previous"),
        }
    }
}
