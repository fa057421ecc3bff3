//! The days on which a settlement can be paid, as of an instant. The tenant's bank takes a file until a time of day, some
//! banking days before the payment day.

use super::{HolidaysUnknown, NeverOnTime, bank_day_from, bank_day_until, bank_days_after, is_bank_day};
use crate::time::{BusinessDate, TimeOfDay, Timestamp};
use std::fmt;
use std::ops::RangeInclusive;

/// When the tenant's bank takes a file of transfers, as the bank publishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankDeadline {
    /// How many banking days before the payment day the bank must have the file.
    pub lead_days: u8,
    /// The time of day in Japan before which the bank takes a file on a banking day.
    pub cut_off: TimeOfDay,
    /// How many calendar days ahead of today a payment day may be that a person states.
    pub ahead_days: u8,
    /// The time of day in Japan at which a file is written; not after the cut-off.
    pub file_cut: TimeOfDay,
}

/// When the file of a payment day is written, and until when the bank takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTimes {
    /// When it is written.
    pub cut_at: Timestamp,
    /// The bank takes it before this instant.
    pub accept_by: Timestamp,
}

/// The days on which a settlement can be paid that is opened at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentWindow {
    /// The first possible day.
    pub first: BusinessDate,
    /// The last day that a person may state; not before the first.
    pub last: BusinessDate,
    needs_banks: bool,
}

/// The error for a payment day, or a rule for payment days, that is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaymentDayError {
    /// The day is before the first possible one.
    #[error("must be {0}")]
    TooEarly(PaymentWindow),
    /// The day is after the last possible one.
    #[error("must be {0}")]
    TooFar(PaymentWindow),
    /// Banks are closed on the day.
    #[error("must be {0}")]
    BanksClosed(PaymentWindow),
    /// It is not known on which days banks are open.
    #[error(transparent)]
    Unknown(#[from] HolidaysUnknown),
    /// A schedule is paid on its own day after no closing day.
    #[error(transparent)]
    Never(#[from] NeverOnTime),
}

impl Default for BankDeadline {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl BankDeadline {
    /// The lead times that banks have, in banking days.
    pub const LEAD_DAYS: RangeInclusive<u8> = 0..=5;
    /// How far ahead a stated payment day may be at most, in calendar days.
    pub const AHEAD_DAYS: RangeInclusive<u8> = 1..=60;
    /// The deadline of a tenant whose terms have none: noon of the banking day before, for a day within 15 days. Files are written at
    /// ten of that day.
    pub const DEFAULT: Self = Self { lead_days: 1, cut_off: TimeOfDay::NOON, ahead_days: 15, file_cut: TimeOfDay::TEN };

    /// Accepts a lead time in banking days; `None` for one outside [`BankDeadline::LEAD_DAYS`].
    #[must_use]
    pub fn lead(days: u8) -> Option<u8> {
        Some(days).filter(|days| Self::LEAD_DAYS.contains(days))
    }

    /// The times of the file of a payment day. If banks are closed on that day, those of the last one before it on which they are open.
    ///
    /// # Errors
    /// [`HolidaysUnknown`] if a day is outside the table of holidays.
    pub fn file_times(&self, pay_on: BusinessDate) -> Result<FileTimes, HolidaysUnknown> {
        let mut day = bank_day_until(pay_on)?;
        for _ in 0..self.lead_days {
            day = bank_day_until(day.days_before(1))?;
        }
        Ok(FileTimes { cut_at: self.file_cut.on(day), accept_by: self.cut_off.on(day) })
    }

    /// Accepts a number of calendar days; `None` for one outside [`BankDeadline::AHEAD_DAYS`].
    #[must_use]
    pub fn ahead(days: u8) -> Option<u8> {
        Some(days).filter(|days| Self::AHEAD_DAYS.contains(days))
    }
}

impl PaymentWindow {
    /// The days on which a file is paid that is for the tenant's bank at an instant. The bank takes it today if banks are open
    /// and the cut-off is later, otherwise on the next day on which banks are open.
    ///
    /// # Errors
    /// [`HolidaysUnknown`] if the first day is past the table of holidays.
    pub fn of_bank(now: Timestamp, deadline: &BankDeadline) -> Result<Self, HolidaysUnknown> {
        let today = now.business_date();
        let is_taken_today = is_bank_day(today)? && now < deadline.cut_off.on(today);
        let taken = if is_taken_today { today } else { bank_day_from(today.next())? };
        let first = bank_days_after(taken, deadline.lead_days)?;
        Ok(Self { first, last: today.days_after(deadline.ahead_days).max(first), needs_banks: true })
    }

    /// The days on which the payment provider pays out: every day from today on.
    #[must_use]
    pub fn of_provider(now: Timestamp, deadline: &BankDeadline) -> Self {
        let first = now.business_date();
        Self { first, last: first.days_after(deadline.ahead_days), needs_banks: false }
    }

    /// Checks a day that a person states.
    ///
    /// # Errors
    /// [`PaymentDayError`], whose text names the first and the last possible day.
    pub fn check(&self, day: BusinessDate) -> Result<(), PaymentDayError> {
        if day < self.first {
            return Err(PaymentDayError::TooEarly(*self));
        }
        if day > self.last {
            return Err(PaymentDayError::TooFar(*self));
        }
        match !self.needs_banks || is_bank_day(day)? {
            true => Ok(()),
            false => Err(PaymentDayError::BanksClosed(*self)),
        }
    }
}

impl fmt::Display for PaymentWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = if self.needs_banks { "a day on which banks are open," } else { "a day" };
        write!(f, "{day} from {} to {}", self.first, self.last)
    }
}

impl PaymentDayError {
    /// Whether no later decision can make the day possible: time only moves on.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::TooEarly(_) | Self::BanksClosed(_) => true,
            Self::TooFar(_) | Self::Unknown(_) | Self::Never(_) => false,
        }
    }
}
