//! The types that the legacy model may give an attribute, and their meaning. Its timestamps are text, or numbers of
//! seconds or milliseconds since 1970.

use super::snapshot::UnsupportedType;
use crate::dynamo::Value;
use crate::money::stored_decimal;
use crate::time::Timestamp;
use rust_decimal::Decimal;

/// A God Record that cannot be adopted unchanged. Nothing is written; it needs review.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the God Record's `{attribute}` {why}")]
pub struct Unadoptable {
    /// The name of the attribute.
    pub attribute: String,
    /// What is wrong with it, as the end of a sentence.
    pub why: &'static str,
}

pub(super) const NO_NUMBER: &str = "is not a number";
pub(super) const NO_TEXT: &str = "is not text";
pub(super) const NO_MAP: &str = "is not a map";
pub(super) const NO_TIME: &str = "is not a time: use RFC 3339 text, or seconds or milliseconds since 1970, from 2000 \
     to 2100";
pub(super) const NULL: &str = "is null: remove it, or set it to a number";
pub(super) const KIND: &str = "has a type that the ledger does not read";

/// 2000-01-01T00:00:00Z, in seconds.
const SECONDS_MIN: i64 = 946_684_800;
/// 2100-01-01T00:00:00Z, in seconds: the first instant that is refused.
const SECONDS_END: i64 = 4_102_444_800;
/// Milliseconds per second.
const MILLIS: i64 = 1_000;

/// The unit of a numeric timestamp. The ranges of the two units do not overlap, so the magnitude decides the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochUnit {
    /// Seconds since 1970, with or without decimals.
    Seconds,
    /// Milliseconds since 1970.
    Millis,
}

/// What type a legacy attribute must have for the ledger to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegacyKind {
    /// A string; null means absent.
    Text,
    /// A number that amounts are added to.
    Sum,
    /// A timestamp; null means absent.
    Time,
    /// An attribute of the ledger: the legacy system has none of this name.
    Own,
}

impl EpochUnit {
    /// Reads a number as an instant and its unit; `None` if it is outside both ranges. Fractions of a millisecond are
    /// cut off.
    pub(super) fn read(number: &str) -> Option<(Timestamp, Self)> {
        let number = stored_decimal(number).ok()?;
        let within = |unit: i64| {
            let [least, end] = [SECONDS_MIN, SECONDS_END].map(|seconds| Decimal::from(seconds.saturating_mul(unit)));
            least <= number && number < end
        };
        let (unit, millis) = if within(1) {
            (Self::Seconds, number.checked_mul(Decimal::from(MILLIS))?)
        } else if within(MILLIS) {
            (Self::Millis, number)
        } else {
            return None;
        };
        Some((Timestamp::from_millis(i64::try_from(millis.trunc()).ok()?), unit))
    }

    /// An instant as a number of this unit.
    pub(super) fn value(self, at: Timestamp) -> Value {
        match self {
            Self::Seconds => Value::int(at.seconds()),
            Self::Millis => Value::int(at.millis()),
        }
    }

    /// The unit of a stored timestamp; `None` if it is text or absent.
    pub(super) fn of(stored: Option<&Value>) -> Option<Self> {
        match stored? {
            Value::N(number) => Self::read(number).map(|(_, unit)| unit),
            Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        }
    }
}

impl LegacyKind {
    /// Reads a stored attribute; `None` if it is absent, null or an empty text. A numeric timestamp becomes the text
    /// that split records hold.
    ///
    /// `unsupported` is set if the attribute has a type that the ledger has no value for.
    ///
    /// # Errors
    /// [`Unadoptable`] if it has another type, or is a timestamp outside the accepted ranges.
    pub(super) fn read(
        self,
        name: &str,
        stored: Option<&Value>,
        unsupported: Option<UnsupportedType>,
    ) -> Result<Option<Value>, Unadoptable> {
        match (self, unsupported) {
            (_, Some(UnsupportedType::Other)) => return Err(unadoptable(name, KIND)),
            (Self::Sum, Some(UnsupportedType::Null)) => return Err(unadoptable(name, NULL)),
            (Self::Own, Some(UnsupportedType::Null)) => return Err(unadoptable(name, KIND)),
            (Self::Text | Self::Time, Some(UnsupportedType::Null)) => return Ok(None),
            (_, None) => {}
        }
        // An empty text counts as absent.
        let is_there = |stored: &&Value| **stored != Value::s("") || self == Self::Sum;
        let Some(stored) = stored.filter(is_there) else { return Ok(None) };
        match (self, stored) {
            (Self::Time, Value::N(number)) => {
                let (at, _) = EpochUnit::read(number).ok_or_else(|| unadoptable(name, NO_TIME))?;
                Ok(Some(Value::s(at)))
            }
            (_, Value::N(number)) if self != Self::Text => {
                Ok(Some(Value::N(crate::money::stored_text(number).unwrap_or_else(|_| number.clone()))))
            }
            (Self::Text | Self::Time, Value::S(_)) | (Self::Own, _) => Ok(Some(stored.clone())),
            (Self::Text, _) => Err(unadoptable(name, NO_TEXT)),
            (Self::Time, _) => Err(unadoptable(name, NO_TIME)),
            (Self::Sum, _) => Err(unadoptable(name, NO_NUMBER)),
        }
    }
}

pub(super) fn unadoptable(attribute: &str, why: &'static str) -> Unadoptable {
    Unadoptable { attribute: attribute.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_read_as_seconds_or_milliseconds_by_its_magnitude() {
        for (number, text, unit) in [
            ("946684800", "2000-01-01T00:00:00.000Z", EpochUnit::Seconds),
            ("1617235200", "2021-04-01T00:00:00.000Z", EpochUnit::Seconds),
            ("1617235200.9876", "2021-04-01T00:00:00.987Z", EpochUnit::Seconds),
            ("1.6172352E+9", "2021-04-01T00:00:00.000Z", EpochUnit::Seconds),
            ("4102444799.999", "2099-12-31T23:59:59.999Z", EpochUnit::Seconds),
            ("946684800000", "2000-01-01T00:00:00.000Z", EpochUnit::Millis),
            ("1617235200123", "2021-04-01T00:00:00.123Z", EpochUnit::Millis),
            ("4102444799999", "2099-12-31T23:59:59.999Z", EpochUnit::Millis),
        ] {
            let (at, of) = EpochUnit::read(number).unwrap();
            assert_eq!((at.to_string().as_str(), of), (text, unit), "{number}");
        }
        // Zero, days, a year, microseconds, nanoseconds, and numbers just outside the two ranges.
        for number in [
            "0",
            "-1617235200",
            "18718",
            "2021",
            "946684799",
            "4102444800",
            "946684799999",
            "4102444800000",
            "1617235200123456",
            "1617235200123456789",
            "1e400",
        ] {
            assert_eq!(EpochUnit::read(number), None, "{number}");
        }
    }

    #[test]
    fn number_written_back_has_the_unit_that_was_read() {
        for number in ["1617235200", "1617235200123"] {
            let (at, unit) = EpochUnit::read(number).unwrap();
            assert_eq!(unit.value(at), Value::N(number.to_owned()));
            assert_eq!(EpochUnit::of(Some(&Value::N(number.to_owned()))), Some(unit));
        }
        assert_eq!(EpochUnit::of(Some(&Value::s("2021-04-01T00:00:00Z"))), None);
    }
}
