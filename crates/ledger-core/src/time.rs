//! Instants in milliseconds. The core has no clock: callers pass the time.

use crate::canonical::parse_canonical;
use crate::words::words;
use jiff::tz::Offset;
use std::fmt;
use std::time::Duration;

mod month;
mod of_day;

pub use month::UtcMonth;
pub use of_day::TimeOfDay;

/// The most by which the clocks of two of our machines, or ours and DynamoDB's, may differ.
pub const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// An instant, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The error for a text that is no RFC 3339 instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time, for example 2026-11-21T09:30:00Z")]
pub struct TimeError;

/// The offset of Japan, where business dates are counted.
const JST_HOURS: i8 = 9;

impl Timestamp {
    /// Builds an instant from milliseconds since the epoch. Values outside the years 0 to 9999 are clamped.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(-62_167_219_200_000, 253_402_207_200_000))
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, as in TTL attributes.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The instant that is later by `by`.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The instant that is earlier by `by`.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self::from_millis(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time since an earlier instant; zero if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC with milliseconds, always of the same length: `2026-11-21T09:30:00.000Z`.
    #[must_use]
    pub fn rfc3339(self) -> String {
        format!("{:.3}", self.instant())
    }

    /// Reads an RFC 3339 instant. Digits beyond milliseconds are cut off.
    ///
    /// # Errors
    /// [`TimeError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| TimeError)?;
        Ok(Self::from_millis(instant.as_millisecond()))
    }

    /// The business date: the calendar day in Japan, `2026-11-21`.
    #[must_use]
    pub fn business_date(self) -> BusinessDate {
        BusinessDate(Offset::constant(JST_HOURS).to_datetime(self.instant()).date())
    }

    /// The calendar month in UTC.
    #[must_use]
    pub fn utc_month(self) -> UtcMonth {
        self.utc_day().month()
    }

    /// The calendar day in UTC, by which the audit trail is sealed.
    #[must_use]
    pub fn utc_day(self) -> UtcDay {
        UtcDay(Offset::UTC.to_datetime(self.instant()).date())
    }

    fn instant(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// A calendar day in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcDay(jiff::civil::Date);

impl UtcDay {
    /// The first supported day.
    pub const MIN: Self = Self(jiff::civil::Date::constant(1, 1, 1));
    /// The last supported day.
    pub const MAX: Self = Self(jiff::civil::Date::constant(9999, 12, 31));

    /// Reads `2026-11-21`.
    ///
    /// # Errors
    /// [`TimeError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        BusinessDate::parse(text).map(|BusinessDate(date)| Self(date))
    }

    /// The day before; `None` before [`UtcDay::MIN`].
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        self.0.yesterday().ok().map(Self).filter(|day| *day >= Self::MIN)
    }

    /// The day after; `None` after [`UtcDay::MAX`].
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.tomorrow().ok().map(Self)
    }

    /// The first instant of the day.
    #[must_use]
    pub fn begin(self) -> Timestamp {
        let instant = Offset::UTC.to_timestamp(self.0.at(0, 0, 0, 0));
        instant.map_or(Timestamp::from_millis(0), |instant| Timestamp::from_millis(instant.as_millisecond()))
    }

    /// The first instant after the day.
    #[must_use]
    pub fn end(self) -> Timestamp {
        let next = self.0.tomorrow().unwrap_or(self.0).at(0, 0, 0, 0);
        let instant = Offset::UTC.to_timestamp(next);
        instant.map_or(Timestamp::from_millis(i64::MAX), |instant| Timestamp::from_millis(instant.as_millisecond()))
    }
}

impl fmt::Display for UtcDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A calendar day in Japan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BusinessDate(jiff::civil::Date);

impl BusinessDate {
    /// Reads `2026-11-21`.
    ///
    /// # Errors
    /// [`TimeError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        parse_canonical(text).filter(|date: &jiff::civil::Date| date.year() > 0).map(Self).ok_or(TimeError)
    }

    /// The first instant of the day, and that of the next day.
    #[must_use]
    pub fn bounds(self) -> (Timestamp, Timestamp) {
        let start = |date: jiff::civil::Date| {
            Offset::constant(JST_HOURS)
                .to_timestamp(date.at(0, 0, 0, 0))
                .map_or(Timestamp::from_millis(0), |t| Timestamp::from_millis(t.as_millisecond()))
        };
        (start(self.0), start(self.0.tomorrow().unwrap_or(self.0)))
    }

    /// The date without hyphens, `20261121`, as attribute names have it.
    #[must_use]
    pub fn digits(self) -> String {
        self.0.strftime("%Y%m%d").to_string()
    }

    /// Reads a date without hyphens; `None` for any other text.
    #[must_use]
    pub fn from_digits(digits: &str) -> Option<Self> {
        let (month, day) = digits.split_at_checked(6)?;
        let (year, month) = month.split_at_checked(4)?;
        Self::parse(&format!("{year}-{month}-{day}")).ok()
    }

    /// The date this many days earlier, or the first supported date.
    #[must_use]
    pub fn days_before(self, days: u16) -> Self {
        let earlier = self.0.checked_sub(jiff::Span::new().days(days));
        Self(earlier.unwrap_or(jiff::civil::Date::MIN))
    }

    /// The date this many days later, or the last supported date.
    #[must_use]
    pub fn days_after(self, days: u8) -> Self {
        let later = self.0.checked_add(jiff::Span::new().days(days));
        Self(later.unwrap_or(jiff::civil::Date::MAX))
    }

    /// The next date, or the last supported one.
    #[must_use]
    pub fn next(self) -> Self {
        self.days_after(1)
    }

    /// The day of the week.
    #[must_use]
    pub fn weekday(self) -> Weekday {
        match self.0.weekday() {
            jiff::civil::Weekday::Monday => Weekday::Monday,
            jiff::civil::Weekday::Tuesday => Weekday::Tuesday,
            jiff::civil::Weekday::Wednesday => Weekday::Wednesday,
            jiff::civil::Weekday::Thursday => Weekday::Thursday,
            jiff::civil::Weekday::Friday => Weekday::Friday,
            jiff::civil::Weekday::Saturday => Weekday::Saturday,
            jiff::civil::Weekday::Sunday => Weekday::Sunday,
        }
    }

    /// The number of the month, from 1, and the day in it.
    #[must_use]
    pub fn month_and_day(self) -> (u8, u8) {
        let unsigned = |number: i8| u8::try_from(number).unwrap_or_default();
        (unsigned(self.0.month()), unsigned(self.0.day()))
    }

    /// The last date of the month.
    #[must_use]
    pub fn last_of_month(self) -> Self {
        Self(self.0.last_of_month())
    }

    /// The first date of the year.
    #[must_use]
    pub fn first_of_year(self) -> Self {
        Self(self.0.first_of_year())
    }

    /// The last date of the year.
    #[must_use]
    pub fn last_of_year(self) -> Self {
        Self(self.0.last_of_year())
    }

    /// The calendar month of the date.
    #[must_use]
    pub fn month(self) -> BusinessMonth {
        BusinessMonth(self.0.first_of_month())
    }
}

words! {
    /// A day of the week.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Weekday {
        /// Monday.
        Monday = "monday",
        /// Tuesday.
        Tuesday = "tuesday",
        /// Wednesday.
        Wednesday = "wednesday",
        /// Thursday.
        Thursday = "thursday",
        /// Friday.
        Friday = "friday",
        /// Saturday.
        Saturday = "saturday",
        /// Sunday.
        Sunday = "sunday",
    }
}

/// A calendar month in Japan, by its first day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BusinessMonth(jiff::civil::Date);

impl BusinessMonth {
    /// The month without a hyphen, `202611`, as attribute names have it.
    #[must_use]
    pub fn digits(self) -> String {
        self.0.strftime("%Y%m").to_string()
    }

    /// Reads a month without a hyphen; `None` for any other text.
    #[must_use]
    pub fn from_digits(digits: &str) -> Option<Self> {
        (digits.len() == 6).then(|| BusinessDate::from_digits(&format!("{digits}01")).map(BusinessDate::month))?
    }

    /// The month this many months earlier, or the first supported month.
    #[must_use]
    pub fn months_before(self, months: u8) -> Self {
        let earlier = self.0.checked_sub(jiff::Span::new().months(months));
        Self(earlier.unwrap_or(jiff::civil::Date::MIN))
    }

    /// Reads `2026-11`.
    ///
    /// # Errors
    /// [`TimeError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        BusinessDate::parse(&format!("{text}-01")).map(BusinessDate::month)
    }

    /// The first date.
    #[must_use]
    pub fn first(self) -> BusinessDate {
        BusinessDate(self.0)
    }

    /// The last date.
    #[must_use]
    pub fn last(self) -> BusinessDate {
        BusinessDate(self.0.last_of_month())
    }

    /// The first instant after the month.
    #[must_use]
    pub fn end(self) -> Timestamp {
        self.last().bounds().1
    }
}

impl fmt::Display for BusinessMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m"))
    }
}

impl fmt::Display for BusinessDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn business_day_begins_at_midnight_in_japan() {
        let evening = Timestamp::parse("2026-11-21T14:59:59.999Z").unwrap();
        let midnight = Timestamp::parse("2026-11-21T15:00:00Z").unwrap();
        assert_eq!(evening.business_date().to_string(), "2026-11-21");
        assert_eq!(midnight.business_date().to_string(), "2026-11-22");
        assert_eq!(midnight.business_date().bounds().0, midnight);
        assert_eq!(midnight.rfc3339(), "2026-11-21T15:00:00.000Z");
    }

    #[test]
    fn dates_and_months_have_digits_and_predecessors() {
        let date = BusinessDate::parse("2026-03-01").unwrap();
        assert_eq!((date.digits().as_str(), date.days_before(2).digits().as_str()), ("20260301", "20260227"));
        assert_eq!(BusinessDate::from_digits("20260301"), Some(date));
        assert_eq!(BusinessMonth::from_digits("202603"), Some(date.month()));
        let january = BusinessMonth::from_digits("202601").unwrap();
        assert_eq!((january.digits().as_str(), january.months_before(2).digits().as_str()), ("202601", "202511"));
        assert_eq!(january.end().rfc3339(), "2026-01-31T15:00:00.000Z");
        for wrong in ["2026", "20261301", "2026030", "x"] {
            assert_eq!((BusinessDate::from_digits(wrong), BusinessMonth::from_digits(wrong)), (None, None), "{wrong}");
        }
    }

    #[test]
    fn year_of_a_date_has_four_digits_and_is_after_the_first() {
        for wrong in ["0000-12-31", "-0001-01-01", "-000001-01-01", "+002026-01-01", "12026-01-01"] {
            assert!(BusinessDate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
