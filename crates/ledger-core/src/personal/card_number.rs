//! Recognises payment card numbers, which must not be stored.

/// The code points of the zeros of Unicode's decimal digits (category Nd, version 14). The other nine digits follow
/// each.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Whether the text has a number of 13 to 19 digits that passes the Luhn check.
///
/// The digits may be of any script, and in groups with white space, dashes, dots, slashes, underscores or bullets
/// between them.
pub(super) fn holds_card_number(text: &str) -> bool {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut joined = false;
    for c in text.chars() {
        if let Some(digit) = digit_of(c) {
            match groups.last_mut().filter(|_| joined) {
                Some(group) => group.push(digit),
                None => groups.push(vec![digit]),
            }
            joined = true;
        } else if is_separator(c) {
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

/// Whether ASCII digits are a card number by length, first digits and Luhn check.
///
/// Stricter than [`holds_card_number`], for telephone numbers and keys, many of which are long numbers: a tenth of all
/// numbers pass the Luhn check alone. The ranges are those of ISO/IEC 7812 that card networks issue.
#[must_use]
pub fn is_card_number(digits: &str) -> bool {
    let first = |count: usize| digits.get(..count).and_then(|text| text.parse::<u32>().ok()).unwrap_or_default();
    let is_issued = match digits.len() {
        14 => matches!(first(2), 36 | 38 | 39) || matches!(first(3), 300..=305),
        15 => matches!(first(2), 34 | 37),
        16 => {
            matches!(first(1), 4)
                || matches!(first(2), 51..=55 | 62 | 65)
                || matches!(first(3), 644..=649)
                || matches!(first(4), 2221..=2720 | 3528..=3589 | 6011)
        }
        17..=19 => matches!(first(2), 62) || (digits.len() == 19 && matches!(first(1), 4)),
        _ => false,
    };
    let digits: Option<Vec<u32>> = digits.chars().map(|c| c.to_digit(10)).collect();
    is_issued && digits.is_some_and(|digits| has_luhn_check(&digits))
}

/// Whether adjacent groups, joined, make a card number.
fn groups_hold_card_number(groups: &[Vec<u32>]) -> bool {
    (0..groups.len()).any(|from| {
        let mut digits = Vec::new();
        groups.iter().skip(from).any(|group| {
            digits.extend_from_slice(group);
            (13..=19).contains(&digits.len()) && has_luhn_check(&digits)
        })
    })
}

/// Whether people write a character between a card number's groups of digits.
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '-' | '.' | '_' | '/' | '\u{b7}' | '\u{58a}' | '\u{2010}'
                ..='\u{2015}'
                    | '\u{2022}'
                    | '\u{2212}'
                    | '\u{301c}'
                    | '\u{30fb}'
                    | '\u{30fc}'
                    | '\u{fe58}'
                    | '\u{fe63}'
                    | '\u{ff0d}'
                    | '\u{ff0e}'
                    | '\u{ff0f}'
                    | '\u{ff65}'
        )
}

/// The value of a decimal digit of any script.
fn digit_of(c: char) -> Option<u32> {
    let code = u32::from(c);
    let zero = ZEROS.get(ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?)?;
    code.checked_sub(*zero).filter(|digit| *digit < 10)
}

fn has_luhn_check(digits: &[u32]) -> bool {
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
    fn card_number_is_found_in_any_grouping_and_script() {
        for text in [
            "4242424242424242",
            "pay 4242 4242 4242 4242 ok",
            "4242-4242-4242-4242",
            "4242/4242_4242.4242",
            "4242\u{a0}4242\u{2009}4242\u{3000}4242",
            "4242\u{30fb}4242\u{2022}4242\u{2212}4242",
            "378282246310005",
            "order 1 4242424242424242",
            "\u{ff14}\u{ff12}42424242424242",
            "\u{664}\u{662}\u{664}\u{662}\u{664}\u{662}\u{664}\u{662}\u{664}\u{662}\u{664}\u{662}\u{664}\u{662}\u{664}\u{662}",
            "\u{1d7d2}\u{1d7d0}42424242424242",
        ] {
            assert!(holds_card_number(text), "{text}");
        }
        for text in ["4242424242424241", "invoice 2026-11-21", "090-1234-5678", "0000000000000", "42424242, 42424242"] {
            assert!(!holds_card_number(text), "{text}");
        }
    }

    #[test]
    fn number_outside_of_the_networks_ranges_is_no_card_number() {
        for number in [
            "4242424242424242",
            "378282246310005",
            "36227206271667",
            "5555555555554444",
            "2223003122003222",
            "3566002020360505",
            "6011111111111117",
            "6200000000000005",
        ] {
            assert!(is_card_number(number), "{number}");
        }
        // A time in milliseconds, a date with a time, a German telephone number: each passes the Luhn check.
        for number in ["1764028800009", "20261124101533", "4915112345671", "4242424242424241", "", "424242424242424a"] {
            assert!(!is_card_number(number), "{number}");
        }
    }
}
