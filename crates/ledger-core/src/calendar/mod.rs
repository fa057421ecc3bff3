//! Which days Japan's banks are open, and the schedules of settlements that follow from it.
//!
//! Banks are closed on Saturdays, on Sundays, on national holidays with their substitutes, and from 31 December to 3 January.
//! National holidays are fixed for each year by the Cabinet Office, which publishes them until the end of the next year. The
//! file `holidays.csv` has them in the Cabinet Office's form, for whole years. Nothing is derived for other years.

mod on_time;
mod payment_window;
mod schedule;
#[cfg(test)]
mod tests;

pub(crate) use on_time::CLOSING_MARGIN;
pub use on_time::NeverOnTime;
pub use payment_window::{BankDeadline, FileTimes, PaymentDayError, PaymentWindow};
pub use schedule::{Closing, ClosingDay, DayRule, OwnSchedule, PaymentRule, ScheduleError, SettlementSchedule};

use crate::canonical::parse_canonical;
use crate::time::{BusinessDate, Weekday};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The national holidays as the Cabinet Office publishes them (`syukujitsu.csv`), in UTF-8, from 2023 on.
const PUBLISHED: &str = include_str!("holidays.csv");

/// The error for a day for which it is not known whether banks are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bank holidays of {0} are not known: the table has whole years up to the last one that was published")]
pub struct HolidaysUnknown(pub BusinessDate);

/// The published holidays, and the whole years that they are of.
struct Table {
    holidays: BTreeSet<BusinessDate>,
    first: BusinessDate,
    last: BusinessDate,
}

/// `None` if the file is malformed: then no day is known. A test reads every line.
static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| Table::read(PUBLISHED));

impl Table {
    fn read(file: &str) -> Option<Self> {
        let (_, lines) = file.split_once('\n')?;
        let date = |line: &str| {
            let (date, name) = line.split_once(',')?;
            let [year, month, day] = *date.split('/').collect::<Vec<_>>() else { return None };
            let number = |text: &str| parse_canonical::<u32>(text).map(|number| format!("{number:02}"));
            let (month, day) = (number(month)?, number(day)?);
            BusinessDate::parse(&format!("{year}-{month}-{day}")).ok().filter(|_| !name.trim().is_empty())
        };
        let holidays = lines.lines().map(date).collect::<Option<BTreeSet<_>>>()?;
        let first = holidays.first()?.first_of_year();
        Some(Self { first, last: holidays.last()?.last_of_year(), holidays })
    }

    fn knows(&self, date: BusinessDate) -> bool {
        (self.first..=self.last).contains(&date)
    }
}

/// The last day for which it is known whether banks are open; `None` if no day is known.
#[must_use]
pub fn known_until() -> Option<BusinessDate> {
    TABLE.as_ref().map(|table| table.last)
}

/// Whether Japan's banks are open on a day.
///
/// # Errors
/// [`HolidaysUnknown`] for a day outside the years of the table.
pub fn is_bank_day(date: BusinessDate) -> Result<bool, HolidaysUnknown> {
    let table = TABLE.as_ref().filter(|table| table.knows(date)).ok_or(HolidaysUnknown(date))?;
    let is_weekend = matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday);
    let is_new_year = matches!(date.month_and_day(), (12, 31) | (1, 1..=3));
    Ok(!is_weekend && !is_new_year && !table.holidays.contains(&date))
}

/// The first day on which banks are open, from `date` on.
///
/// # Errors
/// [`HolidaysUnknown`] if that is past the table.
pub fn bank_day_from(mut date: BusinessDate) -> Result<BusinessDate, HolidaysUnknown> {
    while !is_bank_day(date)? {
        date = date.next();
    }
    Ok(date)
}

/// The last day on which banks are open, up to `date`.
///
/// # Errors
/// [`HolidaysUnknown`] if that is before the table.
pub fn bank_day_until(mut date: BusinessDate) -> Result<BusinessDate, HolidaysUnknown> {
    while !is_bank_day(date)? {
        date = date.days_before(1);
    }
    Ok(date)
}

/// The day on which banks are open for the `days`th time after `date`.
///
/// # Errors
/// [`HolidaysUnknown`] if that is past the table.
pub fn bank_days_after(mut date: BusinessDate, days: u8) -> Result<BusinessDate, HolidaysUnknown> {
    for _ in 0..days {
        date = bank_day_from(date.next())?;
    }
    Ok(date)
}
