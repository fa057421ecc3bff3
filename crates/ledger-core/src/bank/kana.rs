//! The characters of banks' systems: half-width katakana, capital letters, digits and a few signs. Each is one byte
//! of JIS X 0201, as in Shift_JIS.

use std::fmt;

/// A text in a bank's characters. `Debug` prints `***`, because account holders are people.
#[derive(Clone, PartialEq, Eq)]
pub struct Kana(Vec<u8>);

/// Why a bank's systems do not accept a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KanaError {
    /// Empty, or spaces only.
    #[error("must not be empty")]
    Empty,
    /// Too long: a voiced kana counts as two characters.
    #[error("must have at most {max} half-width characters, where a voiced kana counts as two")]
    TooLong {
        /// The most half-width characters allowed.
        max: usize,
    },
    /// A character that banks do not accept.
    #[error("must be katakana, letters, digits, spaces and ( ) - . only")]
    Character,
}

/// Full-width katakana from `ァ` (U+30A1) to `ヴ` (U+30F4) in JIS X 0201. Small kana become large ones, and a voiced
/// kana is followed by a voicing mark. `ヮ`, `ヰ` and `ヱ` have no half-width form: they are written as `ワ`, `イ` and
/// `エ`.
const FULL_WIDTH_KANA: [&[u8]; 84] = [
    b"\xb1",
    b"\xb1",
    b"\xb2",
    b"\xb2",
    b"\xb3",
    b"\xb3",
    b"\xb4",
    b"\xb4",
    b"\xb5",
    b"\xb5", // ァアィイゥウェエォオ
    b"\xb6",
    b"\xb6\xde",
    b"\xb7",
    b"\xb7\xde",
    b"\xb8",
    b"\xb8\xde", // カガキギクグ
    b"\xb9",
    b"\xb9\xde",
    b"\xba",
    b"\xba\xde", // ケゲコゴ
    b"\xbb",
    b"\xbb\xde",
    b"\xbc",
    b"\xbc\xde",
    b"\xbd",
    b"\xbd\xde", // サザシジスズ
    b"\xbe",
    b"\xbe\xde",
    b"\xbf",
    b"\xbf\xde", // セゼソゾ
    b"\xc0",
    b"\xc0\xde",
    b"\xc1",
    b"\xc1\xde", // タダチヂ
    b"\xc2",
    b"\xc2",
    b"\xc2\xde",
    b"\xc3",
    b"\xc3\xde",
    b"\xc4",
    b"\xc4\xde", // ッツヅテデトド
    b"\xc5",
    b"\xc6",
    b"\xc7",
    b"\xc8",
    b"\xc9", // ナニヌネノ
    b"\xca",
    b"\xca\xde",
    b"\xca\xdf",
    b"\xcb",
    b"\xcb\xde",
    b"\xcb\xdf", // ハバパヒビピ
    b"\xcc",
    b"\xcc\xde",
    b"\xcc\xdf",
    b"\xcd",
    b"\xcd\xde",
    b"\xcd\xdf", // フブプヘベペ
    b"\xce",
    b"\xce\xde",
    b"\xce\xdf", // ホボポ
    b"\xcf",
    b"\xd0",
    b"\xd1",
    b"\xd2",
    b"\xd3", // マミムメモ
    b"\xd4",
    b"\xd4",
    b"\xd5",
    b"\xd5",
    b"\xd6",
    b"\xd6", // ャヤュユョヨ
    b"\xd7",
    b"\xd8",
    b"\xd9",
    b"\xda",
    b"\xdb", // ラリルレロ
    b"\xdc",
    b"\xdc",
    b"\xb2",
    b"\xb4",
    b"\xa6",
    b"\xdd",
    b"\xb3\xde", // ヮワヰヱヲンヴ
];

impl Kana {
    /// Reads a text of at most `max` half-width characters: half-width or full-width katakana, letters, digits and
    /// signs. Normalizes as banks do: to capital letters, large kana, and a hyphen for the long vowel.
    ///
    /// # Errors
    /// [`KanaError`] if it is empty, too long, or has another character.
    pub fn parse(text: &str, max: usize) -> Result<Self, KanaError> {
        let mut bytes = Vec::new();
        for character in text.trim().chars() {
            bytes.extend_from_slice(&half_width(character).ok_or(KanaError::Character)?);
        }
        if bytes.is_empty() {
            return Err(KanaError::Empty);
        }
        if bytes.len() > max {
            return Err(KanaError::TooLong { max });
        }
        Ok(Self(bytes))
    }

    /// The JIS X 0201 bytes, one per character.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The half-width text, for storage or for a response to the account's owner.
    #[must_use]
    pub fn expose(&self) -> String {
        self.0.iter().map(|byte| shown(*byte)).collect()
    }
}

impl fmt::Debug for Kana {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

fn half_width(character: char) -> Option<Vec<u8>> {
    let code = u32::from(character);
    let byte = |from: u32, to: u8| u8::try_from(code.checked_sub(from)?).ok()?.checked_add(to);
    match character {
        'A'..='Z' | '0'..='9' | ' ' | '(' | ')' | '-' | '.' => Some(vec![u8::try_from(code).ok()?]),
        'a'..='z' => Some(vec![u8::try_from(code).ok()?.to_ascii_uppercase()]),
        'Ａ'..='Ｚ' => Some(vec![byte(0xff21, b'A')?]),
        'ａ'..='ｚ' => Some(vec![byte(0xff41, b'A')?]),
        '０'..='９' => Some(vec![byte(0xff10, b'0')?]),
        '　' => Some(vec![b' ']),
        '（' => Some(vec![b'(']),
        '）' => Some(vec![b')']),
        '．' => Some(vec![b'.']),
        'ー' | 'ｰ' | '－' | '‐' => Some(vec![b'-']),
        // Small kana become large ones.
        'ｧ'..='ｫ' => Some(vec![byte(0xff67, 0xb1)?]),
        'ｬ'..='ｮ' => Some(vec![byte(0xff6c, 0xd4)?]),
        'ｯ' => Some(vec![0xc2]),
        'ｦ' | 'ｱ'..='ﾟ' => Some(vec![byte(0xff61, 0xa1)?]),
        'ァ'..='ヴ' => {
            FULL_WIDTH_KANA.get(usize::try_from(code.checked_sub(0x30a1)?).ok()?).map(|bytes| bytes.to_vec())
        }
        _ => None,
    }
}

fn shown(byte: u8) -> char {
    match byte {
        0xa1..=0xdf => char::from_u32(u32::from(byte).saturating_add(0xff61 - 0xa1)).unwrap_or(' '),
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_normalized_as_banks_write_it() {
        let cases = [
            ("ｶ)ﾐﾄﾞﾘｼﾖｳﾃﾝ", "ｶ)ﾐﾄﾞﾘｼﾖｳﾃﾝ"),
            ("カ）ミドリショウテン", "ｶ)ﾐﾄﾞﾘｼﾖｳﾃﾝ"),
            ("パーティーヴァッテン", "ﾊﾟ-ﾃｲ-ｳﾞｱﾂﾃﾝ"),
            ("eco Ｐａｙ（ｶ）", "ECO PAY(ｶ)"),
            ("ヲンワヮ", "ｦﾝﾜﾜ"),
            ("ｧｬｯｮ", "ｱﾔﾂﾖ"),
        ];
        for (given, want) in cases {
            assert_eq!(Kana::parse(given, 30).map(|kana| kana.expose()).as_deref(), Ok(want), "{given}");
        }
        assert_eq!(Kana::parse("ガ", 30).unwrap().bytes(), b"\xb6\xde");
    }

    #[test]
    fn every_full_width_kana_equals_its_half_width_form() {
        let wide = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワンガギグゲゴザジズゼゾダヂヅデドバビブベボパピプペポヴ";
        let half = "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜﾝｶﾞｷﾞｸﾞｹﾞｺﾞｻﾞｼﾞｽﾞｾﾞｿﾞﾀﾞﾁﾞﾂﾞﾃﾞﾄﾞﾊﾞﾋﾞﾌﾞﾍﾞﾎﾞﾊﾟﾋﾟﾌﾟﾍﾟﾎﾟｳﾞ";
        assert_eq!(Kana::parse(wide, 200).unwrap().expose(), half);
        assert_eq!(Kana::parse(half, 200).unwrap().expose(), half);
    }

    #[test]
    fn characters_unknown_to_banks_are_refused() {
        for (given, want) in [
            ("", KanaError::Empty),
            ("  ", KanaError::Empty),
            ("緑商店", KanaError::Character),
            ("みどり", KanaError::Character),
            ("ｶ｡", KanaError::Character),
            ("A\r\nB", KanaError::Character),
            ("ﾊﾞﾊﾞ", KanaError::TooLong { max: 3 }),
        ] {
            assert_eq!(Kana::parse(given, 3), Err(want), "{given}");
        }
    }
}
