//! Idempotency keys: reading them, and deciding by a key's own text whether it may be executed.

use super::Window;
use crate::canonical::parse_canonical;
use crate::ids::{self, TerminalId};
use crate::personal::is_card_number;
use crate::time::{CLOCK_SKEW, Timestamp};
use std::fmt;
use std::time::Duration;

/// How far ahead of our clock the time of a UUIDv7 key may be.
const AHEAD: Duration = Duration::from_secs(10 * 60);

/// A key: 1 to 255 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Why a key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither the header nor the body field is present.
    #[error("send an Idempotency-Key header, for example a UUID made for this one request")]
    Missing,
    /// Empty, too long, or with other than visible ASCII characters.
    #[error("an idempotency key has 1 to 255 visible ASCII characters")]
    Malformed,
    /// More than one value.
    #[error("send one idempotency key, not several")]
    Several,
    /// Header and body field differ.
    #[error("the Idempotency-Key header and the body's idempotencyKey differ")]
    Differ,
    /// It has a payment card's number, which must not be stored.
    #[error("an idempotency key must not hold a card number")]
    CardNumber,
    /// A UUIDv7 whose time is too far ahead of our clock.
    #[error("this UUIDv7's timestamp is in the future; the server's time is {now}")]
    FromTheFuture {
        /// The server's time.
        now: Timestamp,
    },
    /// A terminal's key that does not name the terminal, its epoch and a sequence.
    #[error("a terminal's idempotency key is <its own terminal id>-<epoch>-<sequence>")]
    NotThisTerminals,
}

/// What a key's own text allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may be executed.
    Execute,
    /// Too old to be executed: a stored response is replayed, any other request gets 410.
    LookUpOnly,
    /// It is refused with this error unless a response is stored under it, which is replayed.
    RefuseUnlessStored(KeyError),
}

impl IdempotencyKey {
    /// Reads a key's text from a body or a path.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] unless it has 1 to 255 visible ASCII characters.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text.to_owned())) } else { Err(KeyError::Malformed) }
    }

    /// Reads a header's value: bare, or a quoted structured-field string (RFC 9651). Parameters are
    /// ignored.
    ///
    /// # Errors
    /// [`KeyError`] if it is malformed or holds several values.
    pub fn from_header(value: &str) -> Result<Self, KeyError> {
        let value = value.trim_matches([' ', '\t']);
        if !value.starts_with('"') {
            let bare = value.split_once(';').map_or(value, |(bare, _)| bare.trim_end());
            if bare.contains(',') {
                return Err(KeyError::Several);
            }
            return Self::parse(bare);
        }
        match sfv::Parser::new(value).parse::<sfv::Item>() {
            Ok(item) => match item.bare_item.as_string() {
                Some(text) => Self::parse(text.as_str()),
                None => Err(KeyError::Malformed),
            },
            Err(_) => match sfv::Parser::new(value).parse::<sfv::List>() {
                Ok(_) => Err(KeyError::Several),
                Err(_) => Err(KeyError::Malformed),
            },
        }
    }

    /// Reads the one key of a request, from its headers and its body field.
    ///
    /// # Errors
    /// [`KeyError`] if there is none, more than one, or one is malformed.
    pub fn from_request<'a>(headers: impl IntoIterator<Item = &'a str>, body: Option<&str>) -> Result<Self, KeyError> {
        let mut headers = headers.into_iter();
        let header = headers.next().map(Self::from_header).transpose()?;
        if headers.next().is_some() {
            return Err(KeyError::Several);
        }
        let body = body.map(Self::parse).transpose()?;
        match (header, body) {
            (Some(header), Some(body)) if header != body => Err(KeyError::Differ),
            (Some(key), _) | (None, Some(key)) => Ok(key),
            (None, None) => Err(KeyError::Missing),
        }
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the key is safe in a path: true for a UUID or a terminal's key. API Gateway decodes a path more than
    /// once and cuts it at an encoded `?`, so any other text may be a part of a different key.
    #[must_use]
    pub fn is_safe_in_path(&self) -> bool {
        ids::parse_uuid(&self.0).is_ok() || TerminalKey::parse(self).is_ok()
    }

    /// The time in the key, if it is a UUIDv7 in any spelling with hyphens.
    #[must_use]
    pub fn born(&self) -> Option<Timestamp> {
        ids::spelled_birth(&self.0)
    }

    /// Whether the key has a payment card's number, in one group or in groups with `-`, `.` and `_` between them. A
    /// UUID anywhere in the key has none, whatever its digits are; of a terminal's key only the sequence is the
    /// terminal's choice.
    fn has_card_number(&self) -> bool {
        if let Ok(key) = TerminalKey::parse(self) {
            return is_card_number(&key.sequence.to_string());
        }
        has_card_number(&self.0)
    }

    /// Decides by the key's text and age whether it may be executed.
    ///
    /// # Errors
    /// Never, at present; the signature is that of every caller's admission.
    pub fn admit(&self, now: Timestamp, window: &Window) -> Result<Admission, KeyError> {
        if self.has_card_number() {
            return Ok(Admission::RefuseUnlessStored(KeyError::CardNumber));
        }
        match self.born() {
            Some(born) if born > now.plus(AHEAD) => Ok(Admission::RefuseUnlessStored(KeyError::FromTheFuture { now })),
            Some(born) if born.plus(window.replay) < now.plus(CLOCK_SKEW) => Ok(Admission::LookUpOnly),
            Some(_) | None => Ok(Admission::Execute),
        }
    }
}

/// Whether a text has a card number before, between or after the UUIDs in it.
fn has_card_number(text: &str) -> bool {
    let beside_uuid = |at: usize| {
        let (before, rest) = text.split_at_checked(at)?;
        let (uuid, after) = rest.split_at_checked(uuid::fmt::Hyphenated::LENGTH)?;
        ids::parse_any_uuid(uuid).map(|_| (before, after))
    };
    if let Some((before, after)) = (0..text.len()).find_map(beside_uuid) {
        return has_card_number(before) || has_card_number(after);
    }
    let is_separator = |c: char| matches!(c, '-' | '.' | '_');
    let mut runs = text.split(|c: char| !c.is_ascii_digit() && !is_separator(c));
    runs.any(|run| is_card_number(&run.replace(is_separator, "")))
}

/// A terminal's key: `terminalId-epoch-sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalKey {
    /// The terminal.
    pub terminal: TerminalId,
    /// The enrolment's epoch.
    pub epoch: u32,
    /// The number of the operation within the enrolment.
    pub sequence: u64,
}

impl TerminalKey {
    /// Reads a key from its canonical text. No other spelling is accepted, because a payment and the reversal that
    /// must find it use the same text.
    ///
    /// # Errors
    /// [`KeyError::NotThisTerminals`] if it does not have that form.
    pub fn parse(key: &IdempotencyKey) -> Result<Self, KeyError> {
        let wrong = KeyError::NotThisTerminals;
        let (terminal, rest) = key.as_str().split_at_checked(36).ok_or(wrong)?;
        let (epoch, sequence) = rest.strip_prefix('-').and_then(|rest| rest.split_once('-')).ok_or(wrong)?;
        Ok(Self {
            terminal: TerminalId::parse(terminal).map_err(|_| wrong)?,
            epoch: parse_canonical(epoch).ok_or(wrong)?,
            sequence: parse_canonical(sequence).ok_or(wrong)?,
        })
    }

    /// Decides whether a terminal in its enrolment `epoch` may execute the key. A key of an earlier enrolment is only
    /// looked up, so tombstones need not outlive the enrolment.
    ///
    /// # Errors
    /// [`KeyError::NotThisTerminals`] if it names another terminal or a later enrolment.
    pub fn admit(key: &IdempotencyKey, terminal: TerminalId, epoch: u32) -> Result<Admission, KeyError> {
        let parsed = Self::parse(key)?;
        if parsed.terminal != terminal || parsed.epoch > epoch {
            return Err(KeyError::NotThisTerminals);
        }
        Ok(if parsed.epoch == epoch { Admission::Execute } else { Admission::LookUpOnly })
    }
}

impl fmt::Display for TerminalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.terminal, self.epoch, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_value_is_parsed_or_refused() {
        let cases: &[(&str, Result<&str, KeyError>)] = &[
            ("abc", Ok("abc")),
            (" abc ", Ok("abc")),
            ("\"abc\"", Ok("abc")),
            ("\"abc\";v=1", Ok("abc")),
            ("abc;v=1", Ok("abc")),
            ("\"a,b;c\"", Ok("a,b;c")),
            ("a,b", Err(KeyError::Several)),
            ("\"a\", \"b\"", Err(KeyError::Several)),
            ("\"a b\"", Err(KeyError::Malformed)),
            ("a b", Err(KeyError::Malformed)),
            ("", Err(KeyError::Malformed)),
            ("\"\"", Err(KeyError::Malformed)),
            ("\"abc", Err(KeyError::Malformed)),
            ("\u{e9}", Err(KeyError::Malformed)),
        ];
        for (header, want) in cases {
            let got = IdempotencyKey::from_header(header);
            assert_eq!(got.as_ref().map(IdempotencyKey::as_str), want.as_ref().map(|s| *s), "{header}");
        }
        assert!(IdempotencyKey::from_header(&"x".repeat(255)).is_ok());
        assert_eq!(IdempotencyKey::from_header(&"x".repeat(256)), Err(KeyError::Malformed));
    }

    #[test]
    fn one_key_from_two_places() {
        let one = |headers: &[&'static str], body| IdempotencyKey::from_request(headers.iter().copied(), body);
        assert_eq!(one(&[], None), Err(KeyError::Missing));
        assert_eq!(one(&["a"], Some("b")), Err(KeyError::Differ));
        assert_eq!(one(&["a", "a"], None), Err(KeyError::Several));
        assert_eq!(one(&["\"a\""], Some("a")).unwrap().as_str(), "a");
        assert_eq!(one(&[], Some("a")).unwrap().as_str(), "a");
    }

    #[test]
    fn uuidv7_key_has_the_age_of_its_timestamp() {
        let now = Timestamp::parse("2026-11-21T00:00:00Z").unwrap();
        let day = Duration::from_secs(86_400);
        let key = |at: Timestamp| IdempotencyKey::parse(&ids::least_born_at(at).to_string()).unwrap();
        let admit = |at: Timestamp| key(at).admit(now, &Window::WALLET);
        assert_eq!(key(now).born(), Some(now));
        assert_eq!(admit(now), Ok(Admission::Execute));
        assert_eq!(admit(now.plus(Duration::from_secs(599))), Ok(Admission::Execute));
        assert_eq!(
            admit(now.plus(Duration::from_secs(601))),
            Ok(Admission::RefuseUnlessStored(KeyError::FromTheFuture { now }))
        );
        assert_eq!(admit(now.minus(day * 89)), Ok(Admission::Execute));
        assert_eq!(admit(now.minus(day * 90)), Ok(Admission::LookUpOnly));
        let random = IdempotencyKey::parse("8e03978e-40d5-43dd-bc93-6894a57f9324").unwrap();
        assert_eq!((random.born(), random.admit(now, &Window::WALLET)), (None, Ok(Admission::Execute)));
        let plain_hex = IdempotencyKey::parse(&ids::least_born_at(now).simple().to_string()).unwrap();
        assert_eq!(plain_hex.born(), None);
    }

    #[test]
    fn uuidv7_in_another_spelling_is_never_executed_past_the_window() {
        let now = Timestamp::parse("2026-11-21T00:00:00Z").unwrap();
        let old = ids::least_born_at(now.minus(Duration::from_secs(86_400) * 90));
        let lower = old.to_string();
        let upper = lower.to_uppercase();
        for text in [
            upper.clone(),
            format!("{{{lower}}}"),
            format!("{{{upper}}}"),
            format!("urn:uuid:{lower}"),
            format!("URN:UUID:{upper}"),
        ] {
            let key = IdempotencyKey::parse(&text).unwrap();
            assert_eq!(key.as_str(), text, "a key is the text that the client sent");
            assert_eq!(key.admit(now, &Window::WALLET), Ok(Admission::LookUpOnly), "{text}");
        }
        for text in [format!("{{{lower}"), format!("{lower}}}"), format!("{{urn:uuid:{lower}}}"), format!("x{lower}")] {
            assert_eq!(IdempotencyKey::parse(&text).unwrap().born(), None, "{text}");
        }
    }

    #[test]
    fn key_with_card_number_is_refused_unless_the_number_is_within_a_uuid() {
        let now = Timestamp::parse("2026-11-21T00:00:00Z").unwrap();
        let admit = |text: &str| IdempotencyKey::parse(text).unwrap().admit(now, &Window::WALLET).unwrap();
        let refused = Admission::RefuseUnlessStored(KeyError::CardNumber);
        for text in [
            "4242424242424242",
            "card:4242-4242-4242-4242",
            "4242.4242_42424242#1",
            "4242-424242424242a4242424-2424-4242-8bcd-abcdefabcdef",
        ] {
            assert_eq!(admit(text), refused, "{text}");
        }
        // A time in milliseconds, a number that fails the check, and a UUID of digits that pass it.
        let uuid = "a4242424-2424-4242-8bcd-abcdefabcdef";
        let within = [format!("pay-{uuid}"), format!("{{{uuid}}}"), format!("{uuid}-{}-1", uuid.to_uppercase())];
        for text in within.iter().map(String::as_str).chain(["1764028800009", "4242424242424241", uuid]) {
            assert_eq!(admit(text), Admission::Execute, "{text}");
        }
    }

    #[test]
    fn terminals_key_with_digits_of_a_card_is_executed_unless_its_sequence_is_the_card() {
        let now = Timestamp::parse("2026-11-21T00:00:00Z").unwrap();
        let admit = |text: &str| IdempotencyKey::parse(text).unwrap().admit(now, &Window::WALLET).unwrap();
        // The digits of the id's last group, the epoch and the sequence make 4242424242424242.
        assert_eq!(admit("0193a0c4-7c1e-7a52-9c3f-424242424242-4-242"), Admission::Execute);
        let card = "0193a0c4-7c1e-7a52-9c3f-424242424242-1-4242424242424242";
        assert_eq!(admit(card), Admission::RefuseUnlessStored(KeyError::CardNumber));
    }

    #[test]
    fn terminal_key_must_name_its_terminal_and_enrolment() {
        let id = TerminalId::parse("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
        let admit = |text: String| TerminalKey::admit(&IdempotencyKey::parse(&text).unwrap(), id, 3);
        assert_eq!(admit(format!("{id}-3-17")), Ok(Admission::Execute));
        assert_eq!(admit(format!("{id}-2-17")), Ok(Admission::LookUpOnly));
        let upper = id.to_string().to_uppercase();
        for wrong in [
            format!("{id}-4-1"),
            format!("{id}-3"),
            format!("{id}-3-"),
            format!("{id}-03-1"),
            format!("{id}-3-01"),
            format!("{id}-+3-1"),
            format!("{id}-3-+1"),
            format!("{upper}-3-1"),
            "x".into(),
        ] {
            assert_eq!(admit(wrong.clone()), Err(KeyError::NotThisTerminals), "{wrong}");
        }
        let other = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f-3-1";
        assert_eq!(admit(other.to_owned()), Err(KeyError::NotThisTerminals));
    }
}
