//! Opaque cursors of lists: a version and the place of the last item seen. A cursor names no partition, so a forged one
//! only moves within the client's list.

use crate::problem::Problem;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ledger_core::sealing::SealedPlace;
use ledger_core::time::Timestamp;
use std::fmt;
use uuid::Uuid;

/// The version of cursors that hold an id.
const VERSION: u8 = 1;
/// The version of cursors that hold a time and an id.
const TIMED_VERSION: u8 = 2;
/// The version of cursors that hold a sort key.
const PLACED_VERSION: u8 = 3;
/// The version of cursors that hold two ids.
const PAIR_VERSION: u8 = 4;
/// The version of cursors that hold a place among sealed entries.
const SEALED_VERSION: u8 = 5;
/// The longest sort key of a cursor, in bytes: that of an index.
const PLACE_BYTES_MAX: usize = 1024;

/// The place in a list after this id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(Uuid);

impl Cursor {
    /// Creates the cursor after `id`.
    #[must_use]
    pub fn after(id: Uuid) -> Self {
        Self(id)
    }

    /// The last id that was seen.
    #[must_use]
    pub fn id(self) -> Uuid {
        self.0
    }

    /// Parses the wire form.
    ///
    /// # Errors
    /// 400 `invalid_request` naming `cursor` for any text that [`Cursor`] did not print.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        Uuid::from_slice(&content(text, VERSION)?).map(Self).map_err(|_| wrong())
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(VERSION, &[self.0.as_bytes()]))
    }
}

/// The place in a list by time after this time and id. Records of one millisecond are ordered by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimedCursor {
    at: Timestamp,
    id: Uuid,
}

impl TimedCursor {
    /// Creates the cursor after the record `id` of the time `at`.
    #[must_use]
    pub fn after(at: Timestamp, id: Uuid) -> Self {
        Self { at, id }
    }

    /// The time and the id of the last record that was seen.
    #[must_use]
    pub fn place(self) -> (Timestamp, Uuid) {
        (self.at, self.id)
    }

    /// Parses the wire form.
    ///
    /// # Errors
    /// As [`Cursor::parse`], for any text that [`TimedCursor`] did not print.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let content = content(text, TIMED_VERSION)?;
        let (at, id) = content.split_first_chunk::<8>().ok_or_else(wrong)?;
        let millis = i64::from_be_bytes(*at);
        let at = Timestamp::from_millis(millis);
        let id = Uuid::from_slice(id).map_err(|_| wrong())?;
        if at.millis() == millis { Ok(Self { at, id }) } else { Err(wrong()) }
    }
}

impl fmt::Display for TimedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(TIMED_VERSION, &[&self.at.millis().to_be_bytes(), self.id.as_bytes()]))
    }
}

/// The place in a list, or in the result of a search, after this sort key. That of a search may hold a name, so it is sent in
/// bodies only, and the debug form has none.
#[derive(Clone, PartialEq, Eq)]
pub struct PlacedCursor(String);

impl PlacedCursor {
    /// Creates the cursor after a sort key.
    #[must_use]
    pub fn after(place: &str) -> Self {
        Self(place.to_owned())
    }

    /// The sort key of the last result that was seen.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.0
    }

    /// Parses the wire form.
    ///
    /// # Errors
    /// As [`Cursor::parse`], for any text that [`PlacedCursor`] did not print.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let place = String::from_utf8(content(text, PLACED_VERSION)?).map_err(|_| wrong())?;
        if place.is_empty() || place.len() > PLACE_BYTES_MAX { Err(wrong()) } else { Ok(Self(place)) }
    }
}

impl fmt::Debug for PlacedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlacedCursor")
    }
}

impl fmt::Display for PlacedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(PLACED_VERSION, &[self.0.as_bytes()]))
    }
}

/// The place in a list after two ids, for lists that are sorted by one within another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairCursor(Uuid, Uuid);

impl PairCursor {
    /// Creates the cursor after `second` within `first`.
    #[must_use]
    pub fn after(first: Uuid, second: Uuid) -> Self {
        Self(first, second)
    }

    /// The last ids that were seen.
    #[must_use]
    pub fn ids(self) -> (Uuid, Uuid) {
        (self.0, self.1)
    }

    /// Parses the wire form.
    ///
    /// # Errors
    /// 400 `invalid_request` naming `cursor` for any text that [`PairCursor`] did not print.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let ids = content(text, PAIR_VERSION)?;
        let Some((first, second)) = ids.split_at_checked(16) else { return Err(wrong()) };
        let id = |bytes| Uuid::from_slice(bytes).map_err(|_| wrong());
        Ok(Self(id(first)?, id(second)?))
    }
}

impl fmt::Display for PairCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(PAIR_VERSION, &[self.0.as_bytes(), self.1.as_bytes()]))
    }
}

/// The place in a list of sealed entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCursor(SealedPlace);

impl SealedCursor {
    /// Creates the cursor of a place.
    #[must_use]
    pub fn at(place: SealedPlace) -> Self {
        Self(place)
    }

    /// The place.
    #[must_use]
    pub fn place(&self) -> &SealedPlace {
        &self.0
    }

    /// The refusal of a place that the trail does not have.
    #[must_use]
    pub fn refused() -> Problem {
        wrong()
    }

    /// Parses the wire form.
    ///
    /// # Errors
    /// As [`Cursor::parse`], for any text that [`SealedCursor`] did not print.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let content = content(text, SEALED_VERSION)?;
        let cursor = Self::read(&content).ok_or_else(wrong)?;
        // A place has one text.
        if cursor.to_string() == text { Ok(cursor) } else { Err(wrong()) }
    }

    fn read(content: &[u8]) -> Option<Self> {
        let (met, rest) = content.split_at_checked(16)?;
        let met = Uuid::from_slice(met).ok().filter(|met| !met.is_nil());
        let (numbers, []) = rest.as_chunks::<8>() else { return None };
        let next: Vec<u64> = numbers.iter().map(|number| u64::from_be_bytes(*number)).collect();
        (!next.is_empty()).then_some(Self(SealedPlace { next, met }))
    }
}

impl fmt::Display for SealedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SealedPlace { next, met } = &self.0;
        let numbers: Vec<u8> = next.iter().flat_map(|number| number.to_be_bytes()).collect();
        f.write_str(&text(SEALED_VERSION, &[met.unwrap_or_default().as_bytes(), &numbers]))
    }
}

fn wrong() -> Problem {
    Problem::invalid_field("cursor", "is not a cursor of this list: use the `next_cursor` of its last page")
}

/// What a cursor of this version holds.
fn content(text: &str, version: u8) -> Result<Vec<u8>, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
    match bytes.split_first() {
        Some((of, content)) if *of == version => Ok(content.to_vec()),
        Some(_) | None => Err(wrong()),
    }
}

fn text(version: u8, parts: &[&[u8]]) -> String {
    let mut bytes = vec![version];
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_printed_cursors_are_parsed() {
        let id = Uuid::parse_str("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
        let text = Cursor::after(id).to_string();
        assert_eq!(Cursor::parse(&text).unwrap().id(), id);
        let longer = format!("{text}AA");
        let padded = format!("{text}=");
        let tail = text.get(1..).unwrap();
        let other_version = format!("B{tail}");
        for wrong in ["", "x", "demo#customer#1", tail, longer.as_str(), padded.as_str(), other_version.as_str()] {
            assert_eq!(Cursor::parse(wrong).unwrap_err().code(), "invalid_request", "{wrong}");
        }
        assert!(TimedCursor::parse(&text).is_err() && PlacedCursor::parse(&text).is_err());
        // With any one character replaced, a text is rejected or is the canonical form of what it parses to.
        for (at, byte) in (0..text.len()).flat_map(|at| (b' '..=b'~').map(move |byte| (at, byte))) {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            let other = String::from_utf8(bytes).unwrap();
            assert!(
                Cursor::parse(&other).is_ok_and(|cursor| cursor.to_string() == other) || Cursor::parse(&other).is_err()
            );
        }
    }

    #[test]
    fn cursor_of_one_form_is_refused_by_lists_of_the_other() {
        let [first, second] = ["019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e", "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f"]
            .map(|id| Uuid::parse_str(id).unwrap());
        let (one, pair) = (Cursor::after(first).to_string(), PairCursor::after(first, second).to_string());
        assert_eq!(PairCursor::parse(&pair).unwrap().ids(), (first, second));
        let cut = pair.get(1..).unwrap();
        for wrong in ["", one.as_str(), cut, &format!("{pair}AA")] {
            assert_eq!(PairCursor::parse(wrong).unwrap_err().code(), "invalid_request", "{wrong}");
        }
        assert_eq!(Cursor::parse(&pair).unwrap_err().code(), "invalid_request");
    }

    #[test]
    fn cursor_of_a_list_by_time_is_of_no_other_list() {
        let id = Uuid::parse_str("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
        for millis in [0, -1, 1_795_600_000_123] {
            let cursor = TimedCursor::after(Timestamp::from_millis(millis), id);
            assert_eq!(TimedCursor::parse(&cursor.to_string()).unwrap(), cursor);
            assert!(Cursor::parse(&cursor.to_string()).is_err() && PlacedCursor::parse(&cursor.to_string()).is_err());
        }
        // Times outside of the years 0 to 9999 would be another place.
        let mut bytes = vec![TIMED_VERSION];
        bytes.extend_from_slice(&i64::MAX.to_be_bytes());
        bytes.extend_from_slice(id.as_bytes());
        let far = URL_SAFE_NO_PAD.encode(&bytes);
        let short = URL_SAFE_NO_PAD.encode(bytes.get(..20).unwrap());
        for wrong in ["", "x", far.as_str(), short.as_str()] {
            assert!(TimedCursor::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cursor_of_sealed_entries_is_read_as_printed_and_is_of_no_other_list() {
        let met = Some(Uuid::parse_str("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap());
        for place in [SealedPlace { next: vec![7], met: None }, SealedPlace { next: (0..16).collect(), met }] {
            let text = SealedCursor::at(place.clone()).to_string();
            assert_eq!(SealedCursor::parse(&text).unwrap().place(), &place);
            assert!(Cursor::parse(&text).is_err() && PairCursor::parse(&text).is_err());
            for wrong in ["", "BQ", text.get(2..).unwrap(), text.get(..text.len() - 2).unwrap(), &format!("{text}AA")] {
                assert_eq!(SealedCursor::parse(wrong).unwrap_err().code(), "invalid_request", "{wrong}");
            }
        }
    }

    #[test]
    fn cursor_of_a_search_is_read_as_printed_and_its_debug_form_has_no_name() {
        let cursor = PlacedCursor::after("ヤマダ#019389d2");
        assert_eq!(PlacedCursor::parse(&cursor.to_string()).unwrap(), cursor);
        assert_eq!(format!("{cursor:?}"), "PlacedCursor");
        let long = PlacedCursor::after(&"a".repeat(PLACE_BYTES_MAX + 1)).to_string();
        for wrong in ["", "AA", PlacedCursor::after("").to_string().as_str(), long.as_str()] {
            assert!(PlacedCursor::parse(wrong).is_err(), "{wrong}");
        }
    }
}
