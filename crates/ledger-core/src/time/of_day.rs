//! Times of day in Japan.

use super::{BusinessDate, Timestamp};
use crate::canonical::parse_canonical;
use std::fmt;
use std::time::Duration;

const MINUTES_OF_HOUR: u16 = 60;

/// A time of day in Japan, to the minute: from `00:00` to `23:59`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay {
    /// Minutes since midnight.
    minutes: u16,
}

impl TimeOfDay {
    /// 10:00.
    pub const TEN: Self = Self { minutes: 10 * MINUTES_OF_HOUR };
    /// 12:00.
    pub const NOON: Self = Self { minutes: 12 * MINUTES_OF_HOUR };

    /// Reads `09:30`; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let number = |text: &str, end: u16| {
            let digits = if text.len() == 2 { text.strip_prefix('0').unwrap_or(text) } else { "" };
            parse_canonical::<u16>(digits).filter(|number| *number < end)
        };
        let (hours, minutes) = (number(hours, 24)?, number(minutes, MINUTES_OF_HOUR)?);
        Some(Self { minutes: hours.saturating_mul(MINUTES_OF_HOUR).saturating_add(minutes) })
    }

    /// The instant at which a day in Japan has this time.
    #[must_use]
    pub fn on(self, date: BusinessDate) -> Timestamp {
        date.bounds().0.plus(Duration::from_secs(u64::from(self.minutes).saturating_mul(60)))
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hours, minutes) = (self.minutes.div_euclid(MINUTES_OF_HOUR), self.minutes.rem_euclid(MINUTES_OF_HOUR));
        write!(f, "{hours:02}:{minutes:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_day_is_written_with_two_digits_each() {
        for text in ["00:00", "00:01", "09:30", "10:00", "12:00", "23:59"] {
            assert_eq!(TimeOfDay::parse(text).unwrap().to_string(), text);
        }
        for wrong in
            ["", ":", "12", "24:00", "12:60", "9:30", "09:3", "+9:30", "-1:00", "009:30", "09:30:00", "12.00", "０9:00"]
        {
            assert_eq!(TimeOfDay::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn time_of_day_is_counted_in_japan() {
        let date = BusinessDate::parse("2026-11-30").unwrap();
        assert_eq!(TimeOfDay::NOON.on(date).rfc3339(), "2026-11-30T03:00:00.000Z");
        assert_eq!(TimeOfDay::parse("00:10").unwrap().on(date).rfc3339(), "2026-11-29T15:10:00.000Z");
        assert_eq!(TimeOfDay::parse("23:59").unwrap().on(date).rfc3339(), "2026-11-30T14:59:00.000Z");
    }
}
