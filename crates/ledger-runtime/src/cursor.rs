//! Opaque cursors of lists: a version and the id of the last item seen. A cursor names no partition, so a forged one
//! only moves within the client's list.

use crate::problem::Problem;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;
use uuid::Uuid;

const VERSION: u8 = 1;

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
        let wrong =
            || Problem::invalid_field("cursor", "is not a cursor of this list: use the `next_cursor` of its last page");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
        match bytes.split_first() {
            Some((&VERSION, id)) => Uuid::from_slice(id).map(Self).map_err(|_| wrong()),
            Some(_) | None => Err(wrong()),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(self.0.as_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
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
}
