//! Months of UTC.

use super::{TimeError, Timestamp, UtcDay};
use std::fmt;

/// A calendar month of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcMonth(UtcDay);

impl UtcMonth {
    /// Reads `2026-11`.
    ///
    /// # Errors
    /// [`TimeError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        UtcDay::parse(&format!("{text}-01")).map(Self)
    }

    /// The month before; `None` before the first supported one.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        self.0.previous().map(UtcDay::month)
    }

    /// Its first instant.
    #[must_use]
    pub fn begin(self) -> Timestamp {
        self.0.begin()
    }
}

impl fmt::Display for UtcMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.0.strftime("%Y-%m"))
    }
}

impl UtcDay {
    /// The month of the day.
    #[must_use]
    pub fn month(self) -> UtcMonth {
        UtcMonth(Self(self.0.first_of_month()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn month_of_utc_is_read_as_printed_and_begins_at_its_first_instant() {
        let last = Timestamp::parse("2026-12-31T23:59:59.999Z").unwrap();
        let (month, next) = (last.utc_month(), Timestamp::parse("2027-01-01T00:00:00Z").unwrap().utc_month());
        assert_eq!((month.to_string().as_str(), next.to_string().as_str()), ("2026-12", "2027-01"));
        assert_eq!((UtcMonth::parse("2026-12"), next.previous()), (Ok(month), Some(month)));
        assert_eq!(month.begin().rfc3339(), "2026-12-01T00:00:00.000Z");
        assert!(month < next && UtcDay::MIN.month().previous().is_none());
        for other in ["2026-13", "2026-1", "2026", "2026-12-01", ""] {
            assert!(UtcMonth::parse(other).is_err(), "{other}");
        }
    }
}
