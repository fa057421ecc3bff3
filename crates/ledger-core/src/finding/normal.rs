//! The forms in which values are compared: two texts that people take for the same value have one form.

use crate::personal::is_card_number;
use icu_normalizer::ComposingNormalizerBorrowed;

/// The longest normalized name, in bytes. A sort key of an index has at most 1,024, and compatibility forms can be 18 times
/// as long as what was written.
const NAME_BYTES_MAX: usize = 800;
/// The digits of a telephone number.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 6..=15;
/// The country code of Japan, whose numbers are written without one.
const JAPAN: &str = "81";
/// What is dialled in Japan before a country code.
const INTERNATIONAL_PREFIX: &str = "010";

/// A telephone number in the form of E.164, such as `+819012345678`; `None` for any other text.
///
/// A number that begins with `+`, or with 010, has its country's code. One that begins with another 0 is of Japan. Of any
/// other one the country is unknown: its form is its digits.
#[must_use]
pub(super) fn phone(text: &str) -> Option<String> {
    let text = compatible(text);
    let text = text.trim();
    let (is_international, rest) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if !rest.chars().all(|c| c.is_ascii_digit() || is_separator(c)) {
        return None;
    }
    let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
    // No search and no lookup is made of a card's number.
    if !PHONE_DIGITS.contains(&digits.len()) || is_card_number(&digits) {
        return None;
    }
    let with_country = if is_international { Some(digits.as_str()) } else { digits.strip_prefix(INTERNATIONAL_PREFIX) };
    if let Some(number) = with_country {
        // As in +81 (0)90: within Japan the 0 is dialled before the number.
        let national = number.strip_prefix(JAPAN).and_then(|national| national.strip_prefix('0'));
        return Some(national.map_or_else(|| format!("+{number}"), |national| format!("+{JAPAN}{national}")));
    }
    Some(match digits.strip_prefix('0') {
        Some(national) => format!("+{JAPAN}{national}"),
        None => digits,
    })
}

/// An e-mail address: compatibility forms and letters' case are the same address.
#[must_use]
pub(super) fn email(text: &str) -> String {
    compatible(text).trim().to_lowercase()
}

/// A name without spaces, letters' case and the choice of a kanji's form.
#[must_use]
pub(super) fn name(text: &str) -> String {
    let plain = |c: &char| !c.is_whitespace() && !is_variation_selector(*c);
    cut(compatible(text).chars().filter(plain).flat_map(char::to_lowercase))
}

/// How a name is read, as [`name`] and in katakana.
#[must_use]
pub(super) fn kana(text: &str) -> String {
    cut(name(text).chars().filter(|c| *c != '・').map(katakana))
}

/// Unicode's normalization form KC: half-width, full-width and composed characters have one form.
fn compatible(text: &str) -> std::borrow::Cow<'_, str> {
    ComposingNormalizerBorrowed::new_nfkc().normalize(text)
}

fn is_separator(c: char) -> bool {
    // The hyphens, dashes and the long vowel mark that Japanese keyboards give for a hyphen.
    c.is_whitespace() || matches!(c, '-' | '(' | ')' | '\u{2010}'..='\u{2015}' | '\u{2212}' | 'ー')
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// The katakana of a hiragana; other characters stay.
fn katakana(c: char) -> char {
    const FROM_HIRAGANA: u32 = 'ァ' as u32 - 'ぁ' as u32;
    match c {
        'ぁ'..='ゖ' | 'ゝ' | 'ゞ' => char::from_u32(u32::from(c).saturating_add(FROM_HIRAGANA)).unwrap_or(c),
        other => other,
    }
}

fn cut(text: impl Iterator<Item = char>) -> String {
    let mut kept = String::new();
    for c in text {
        if kept.len().saturating_add(c.len_utf8()) > NAME_BYTES_MAX {
            break;
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telephone_numbers_of_one_line_have_one_form() {
        for (form, written) in [
            (
                "+819012345678",
                &[
                    "090-1234-5678",
                    "09012345678",
                    "090 1234 5678",
                    "(090) 1234-5678",
                    "+81 90-1234-5678",
                    "+81-(0)90-1234-5678",
                    "010 81 90 1234 5678",
                    "０９０－１２３４－５６７８",
                    "０９０ー１２３４ー５６７８",
                    "090−1234−5678",
                    "＋81 90 1234 5678",
                ][..],
            ),
            ("+81312345678", &["03-1234-5678", "(03)1234-5678", "+81 3 1234 5678", "０３（１２３４）５６７８"]),
            ("+81120123456", &["0120-123-456", "+81 120 123 456"]),
            ("+12025550123", &["+1 202-555-0123", "010-1-202-555-0123", "+1 (202) 555-0123"]),
            ("+390612345678", &["+39 06 1234 5678"]),
            ("12345678", &["1234-5678"]),
        ] {
            for text in written {
                assert_eq!(phone(text).as_deref(), Some(form), "{text}");
            }
        }
        for other in [
            "",
            "12345",
            "+",
            "1234567890123456",
            "090-1234-567x",
            "tel:09012345678",
            "++819012345678",
            "#9110",
            "3782 822463 10005",
        ] {
            assert_eq!(phone(other), None, "{other}");
        }
    }

    #[test]
    fn addresses_are_compared_without_case_and_width() {
        for text in ["Hanako@Example.JP", " hanako@example.jp ", "ｈａｎａｋｏ＠ｅｘａｍｐｌｅ．ｊｐ"]
        {
            assert_eq!(email(text), "hanako@example.jp", "{text}");
        }
        assert_ne!(email("hana.ko@example.jp"), email("hanako@example.jp"));
    }

    #[test]
    fn names_are_compared_without_spaces_case_and_width() {
        for (form, written) in [
            ("山田太郎", &["山田 太郎", "山田　太郎", "山田太郎", " 山 田 太 郎 "][..]),
            ("hanakoaoba", &["Hanako Aoba", "HANAKO AOBA", "Ｈａｎａｋｏ　Ａｏｂａ"]),
            ("葛城", &["葛城", "葛\u{e0100}城"]),
            ("ガス", &["ｶﾞｽ", "カ\u{3099}ス"]),
            ("㐂久", &["㐂久"]),
            ("株式会社あおば", &["㈱あおば".replace('㈱', "㍿").as_str(), "株式会社 あおば"]),
        ] {
            for text in written {
                assert_eq!(name(text), form, "{text}");
            }
        }
        assert_ne!(name("あおば"), name("アオバ"), "a name is as it is written");
    }

    #[test]
    fn readings_are_compared_in_katakana() {
        for text in ["ヤマダ タロウ", "やまだ　たろう", "ﾔﾏﾀﾞ ﾀﾛｳ", "ヤマダ・タロウ", "やまダたロう"]
        {
            assert_eq!(kana(text), "ヤマダタロウ", "{text}");
        }
        assert_eq!(kana("いすゞ"), "イスヾ");
        assert_eq!(kana("ゔぁん"), "ヴァン");
        assert_eq!(kana("オオノー"), "オオノー");
    }

    #[test]
    fn long_name_is_cut_between_characters() {
        // U+FDFA has a compatibility form of 18 characters.
        let long = name(&"\u{fdfa}".repeat(80));
        assert!(long.len() <= NAME_BYTES_MAX && long.len() > NAME_BYTES_MAX - 4, "{}", long.len());
        assert_eq!(name(&"山".repeat(80)).chars().count(), 80);
    }
}
