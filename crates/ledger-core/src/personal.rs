//! Personal data and free text: types that do not print their content, and rules for text that may be stored.

mod card_number;
mod characters;

use card_number::holds_card_number;
pub use card_number::is_card_number;
use characters::is_hidden;
use icu_normalizer::ComposingNormalizerBorrowed;
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
    /// It has a control, zero-width or bidirectional formatting character.
    #[error("must not hold control characters or hidden characters")]
    Hidden,
    /// It has what looks like a payment card's number.
    #[error("must not hold a card number")]
    CardNumber,
    /// It has a character that is no kana, letter, digit, space or sign of a name.
    #[error("must be kana: katakana or hiragana, letters, digits, spaces and . - ' \u{30fb}")]
    NotKana,
    /// Not an e-mail address.
    #[error("is not an e-mail address of ASCII characters, for example hanako@example.jp: type it in half width")]
    NotAnEmail,
    /// Not a telephone number.
    #[error("is not a telephone number: digits, spaces and hyphens, with an optional leading +")]
    NotAPhone,
}

/// Free text that people write: one line in Unicode's normalization form C, without hidden characters and card numbers.
/// It prints as `***`, because people write names into memos.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FreeText(Masked<String>);

impl FreeText {
    /// Reads a text of at most `max` characters.
    ///
    /// # Errors
    /// [`TextError`] if it is empty, too long, or has a hidden character or a card number.
    pub fn parse(text: &str, max: usize) -> Result<Self, TextError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        let text = ComposingNormalizerBorrowed::new_nfc().normalize(text);
        if text.chars().count() > max {
            return Err(TextError::TooLong { max });
        }
        if text.chars().any(is_hidden) {
            return Err(TextError::Hidden);
        }
        if holds_card_number(&text) {
            return Err(TextError::CardNumber);
        }
        Ok(Self(Masked::new(text.into_owned())))
    }

    /// Reads how a name is read: kana of any width, letters and digits, of at most `max` characters.
    ///
    /// # Errors
    /// As [`FreeText::parse`], and [`TextError::NotKana`] for another character.
    pub fn kana(text: &str, max: usize) -> Result<Self, TextError> {
        let kept = Self::parse(text, max)?;
        let is_kana =
            |c: char| matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a0}'..='\u{30ff}' | '\u{ff65}'..='\u{ff9f}');
        let fits =
            |c: char| is_kana(c) || c.is_ascii_alphanumeric() || matches!(c, ' ' | '\u{3000}' | '.' | '-' | '\'');
        if kept.expose().chars().all(fits) { Ok(kept) } else { Err(TextError::NotKana) }
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
        // Other letters may look like these, and an address must have one spelling.
        if fits && whole.bytes().all(|byte| byte.is_ascii_graphic()) { Ok(kept) } else { Err(TextError::NotAnEmail) }
    }

    /// Reads a telephone number of 6 to 15 digits.
    ///
    /// # Errors
    /// [`TextError::CardNumber`] if its digits are a card number, [`TextError::NotAPhone`] for any other text.
    pub fn phone(text: &str) -> Result<Self, TextError> {
        let text = text.trim();
        let body = text.strip_prefix('+').unwrap_or(text);
        let digits = body.chars().filter(char::is_ascii_digit).count();
        let others = body.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '-' | '(' | ')'));
        if text.chars().count() > 32 || !others || !(6..=15).contains(&digits) {
            return Err(TextError::NotAPhone);
        }
        let digits: String = body.chars().filter(char::is_ascii_digit).collect();
        if is_card_number(&digits) {
            return Err(TextError::CardNumber);
        }
        Ok(Self(Masked::new(text.to_owned())))
    }

    /// The text, for storage or for a response to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_stored_in_normalization_form_c() {
        let decomposed = FreeText::parse("\u{304b}\u{3099}", 140).unwrap();
        assert_eq!(decomposed.expose(), "\u{304c}");
        assert_eq!(FreeText::parse(&"e\u{301}".repeat(140), 140).unwrap().expose().chars().count(), 140);
        assert_eq!(FreeText::parse(&"e".repeat(141), 140), Err(TextError::TooLong { max: 140 }));
    }

    #[test]
    fn hidden_character_is_refused() {
        for hidden in ['\n', '\u{7f}', '\u{ad}', '\u{200b}', '\u{200d}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{feff}']
        {
            let text = format!("lu{hidden}nch");
            assert_eq!(FreeText::parse(&text, 140), Err(TextError::Hidden), "{:x}", u32::from(hidden));
        }
        // Variation selectors choose the form of a name's kanji, and of emoji.
        for text in ["\u{845b}\u{e0100}", "\u{2764}\u{fe0f}", "caf\u{e9}", "\u{5c71}\u{7530} \u{592a}\u{90ce}"] {
            assert!(FreeText::parse(text, 140).is_ok(), "{text}");
        }
    }

    #[test]
    fn personal_data_is_not_printed() {
        let mail = FreeText::email("hanako@example.jp").unwrap();
        assert_eq!(format!("{mail:?} {}", Masked::new("0312345678")), "FreeText(***) ***");
    }

    #[test]
    fn reading_is_kana_of_any_width() {
        for text in ["ヤマダ　タロウ", "やまだ たろう", "ﾔﾏﾀﾞ ﾀﾛｳ", "Yamada Taro", "オー・ブライエン", "O'Brien"]
        {
            assert!(FreeText::kana(text, 80).is_ok(), "{text}");
        }
        for text in ["山田", "ヤマダ#", "ヤマダ\u{2764}", "Ｙａｍａｄａ"] {
            assert_eq!(FreeText::kana(text, 80), Err(TextError::NotKana), "{text}");
        }
        assert_eq!(FreeText::kana("ヤ".repeat(81).as_str(), 80), Err(TextError::TooLong { max: 80 }));
    }

    #[test]
    fn email_and_phone_must_have_their_form() {
        for bad in [
            "a",
            "a@b",
            "@b.c",
            "a@b..c",
            "a b@c.d",
            "a@b@c.d",
            "ａ@b.c",
            "a＠b.c",
            "\u{430}@b.c",
            "a@ｂ.c",
            "a@\u{200b}b.c",
        ] {
            assert!(FreeText::email(bad).is_err(), "{bad}");
        }
        for bad in ["", "12345", "+81 90 1234 5678 x", "1234567890123456"] {
            assert!(FreeText::phone(bad).is_err(), "{bad}");
        }
        assert!(FreeText::phone("+81 90-1234-5678").is_ok());
        // Fifteen digits, as American Express has.
        assert_eq!(FreeText::phone("3782 822463 10005"), Err(TextError::CardNumber));
    }
}
