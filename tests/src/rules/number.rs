//! DynamoDB's numbers: form, size and order.

use super::{Refusal, Rule};
use std::cmp::Ordering;

/// The most significant digits.
const DIGITS_MAX: usize = 38;
/// The largest and the smallest exponent of the first digit.
const EXPONENT_MAX: i64 = 125;
const EXPONENT_MIN: i64 = -130;

/// A number in the form `d.ddd` times ten to the exponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    /// The digits without leading and trailing zeros; empty for zero.
    digits: String,
    exponent: i64,
}

impl Number {
    /// Reads a number as DynamoDB does.
    ///
    /// # Errors
    /// A refusal if it is malformed, has more than 38 significant digits or is out of range.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let malformed = || Rule::NumberMalformed.refusal(&[text]);
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (coefficient, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((coefficient, exponent)) => (coefficient, exponent.parse::<i64>().map_err(|_| malformed())?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = coefficient.split_once('.').unwrap_or((coefficient, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(malformed());
        }
        let significant = all.trim_start_matches('0');
        let zeros = all.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Ok(Self { negative: false, digits, exponent: 0 });
        }
        let place = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let exponent = exponent.saturating_add(place(whole.len()) - place(zeros) - 1);
        if digits.len() > DIGITS_MAX {
            return Err(Rule::NumberTooLong.refusal(&[]));
        }
        match exponent {
            ..EXPONENT_MIN => Err(Rule::NumberUnderflow.refusal(&[])),
            EXPONENT_MIN..=EXPONENT_MAX => Ok(Self { negative, digits, exponent }),
            _ => Err(Rule::NumberOverflow.refusal(&[])),
        }
    }

    /// Its bytes in an item: one for each two digits on either side of the point, one more, and one for a minus sign.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let whole = usize::try_from(self.exponent + 1).unwrap_or(0).min(self.digits.len());
        let fraction = self.digits.len() - whole;
        whole.div_ceil(2) + fraction.div_ceil(2) + 1 + usize::from(self.negative)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let magnitude = |number: &Self| (!number.digits.is_empty(), number.exponent, number.digits.clone());
        match (self.negative, other.negative) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => magnitude(self).cmp(&magnitude(other)),
            (true, true) => magnitude(other).cmp(&magnitude(self)),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
