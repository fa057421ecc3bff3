//! Personal data and free text: types that do not print their content, and rules for text that may be stored.

use std::fmt;

/// A value that must not reach a log, an error or a metric: it prints as `***`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Masked<T>(T);

impl<T> Masked<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for storage or for a response to its owner.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Masked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<T> fmt::Display for Masked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Empty, or spaces only.
    #[error("must not be empty")]
    Empty,
    /// Too long.
    #[error("must have at most {max} characters")]
    TooLong {
        /// The most characters allowed.
        max: usize,
    },
    /// It has a control character.
    #[error("must not hold control characters")]
    Control,
    /// It has what looks like a payment card's number.
    #[error("must not hold a card number")]
    CardNumber,
    /// Not an e-mail address.
    #[error("is not an e-mail address")]
    NotAnEmail,
    /// Not a telephone number.
    #[error("is not a telephone number: digits, spaces and hyphens, with an optional leading +")]
    NotAPhone,
}

/// Free text that people write: one line without a card number. It prints as `***`, because people write names into
/// memos.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FreeText(Masked<String>);

impl FreeText {
    /// Reads a text of at most `max` characters.
    ///
    /// # Errors
    /// [`TextError`] if it is empty, too long, or has a control character or a card number.
    pub fn parse(text: &str, max: usize) -> Result<Self, TextError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        if text.chars().count() > max {
            return Err(TextError::TooLong { max });
        }
        if text.chars().any(char::is_control) {
            return Err(TextError::Control);
        }
        if holds_card_number(text) {
            return Err(TextError::CardNumber);
        }
        Ok(Self(Masked::new(text.to_owned())))
    }

    /// Reads an e-mail address: a local part, one `@`, and a domain with a dot.
    ///
    /// # Errors
    /// [`TextError`] if it does not have that form, or may not be stored.
    pub fn email(text: &str) -> Result<Self, TextError> {
        let kept = Self::parse(text, 254)?;
        let whole = kept.expose();
        let fits = whole.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty()
                && !domain.contains('@')
                && domain.split('.').count() > 1
                && domain.split('.').all(|label| !label.is_empty())
        });
        if fits && !whole.contains(char::is_whitespace) { Ok(kept) } else { Err(TextError::NotAnEmail) }
    }

    /// Reads a telephone number of 6 to 15 digits.
    ///
    /// # Errors
    /// [`TextError::NotAPhone`] for any other text.
    pub fn phone(text: &str) -> Result<Self, TextError> {
        let text = text.trim();
        let body = text.strip_prefix('+').unwrap_or(text);
        let digits = body.chars().filter(char::is_ascii_digit).count();
        let others = body.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '-' | '(' | ')'));
        if text.chars().count() <= 32 && others && (6..=15).contains(&digits) {
            Ok(Self(Masked::new(text.to_owned())))
        } else {
            Err(TextError::NotAPhone)
        }
    }

    /// The text, for storage or for a response to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

/// Whether the text has a number of 13 to 19 digits that passes the Luhn check. The digits may be in groups with
/// spaces, hyphens or dots between them, and may be full-width.
fn holds_card_number(text: &str) -> bool {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut joined = false;
    for c in text.chars() {
        if let Some(digit) = digit_of(c) {
            match groups.last_mut().filter(|_| joined) {
                Some(group) => group.push(digit),
                None => groups.push(vec![digit]),
            }
            joined = true;
        } else if matches!(c, ' ' | '-' | '.' | '\u{2010}'..='\u{2015}' | '\u{3000}' | '\u{30fc}') {
            joined = false;
        } else if groups_hold_card_number(&groups) {
            return true;
        } else {
            groups.clear();
            joined = false;
        }
    }
    groups_hold_card_number(&groups)
}

/// Whether adjacent groups, joined, make a card number.
fn groups_hold_card_number(groups: &[Vec<u32>]) -> bool {
    (0..groups.len()).any(|from| {
        let mut digits = Vec::new();
        groups.iter().skip(from).any(|group| {
            digits.extend_from_slice(group);
            (13..=19).contains(&digits.len()) && luhn(&digits)
        })
    })
}

/// The value of an ASCII or full-width digit.
fn digit_of(c: char) -> Option<u32> {
    let full_width = u32::from(c).checked_sub(0xff10).filter(|digit| *digit < 10);
    c.to_digit(10).or(full_width)
}

fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let doubled = digit.saturating_mul(2);
            if at % 2 == 0 {
                *digit
            } else if doubled > 9 {
                doubled.saturating_sub(9)
            } else {
                doubled
            }
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_number_is_refused_in_any_grouping() {
        for text in [
            "4242424242424242",
            "pay 4242 4242 4242 4242 ok",
            "4242-4242-4242-4242",
            "378282246310005",
            "order 1 4242424242424242",
            "４２４２４２４２４２４２４２４２",
        ] {
            assert_eq!(FreeText::parse(text, 140), Err(TextError::CardNumber), "{text}");
        }
        for text in ["4242424242424241", "invoice 2026-11-21", "090-1234-5678", "0000000000000"] {
            assert!(FreeText::parse(text, 140).is_ok(), "{text}");
        }
    }

    #[test]
    fn personal_data_is_not_printed() {
        let mail = FreeText::email("hanako@example.jp").unwrap();
        assert_eq!(format!("{mail:?} {}", Masked::new("0312345678")), "FreeText(***) ***");
    }

    #[test]
    fn email_and_phone_must_have_their_form() {
        for bad in ["a", "a@b", "@b.c", "a@b..c", "a b@c.d", "a@b@c.d"] {
            assert!(FreeText::email(bad).is_err(), "{bad}");
        }
        for bad in ["", "12345", "+81 90 1234 5678 x", "1234567890123456"] {
            assert!(FreeText::phone(bad).is_err(), "{bad}");
        }
        assert!(FreeText::phone("+81 90-1234-5678").is_ok());
    }
}
