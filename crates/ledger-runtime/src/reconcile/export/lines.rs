//! Splits a stream of bytes into lines.

use std::io::{self, Write};

/// Passes whole lines to `take`.
pub(super) struct Lines<F> {
    rest: Vec<u8>,
    take: F,
}

impl<F: FnMut(&str) -> io::Result<()>> Lines<F> {
    pub(super) fn new(take: F) -> Self {
        Self { rest: Vec::new(), take }
    }

    /// Passes on what follows the last line break.
    pub(super) fn end(mut self) -> io::Result<()> {
        let last = std::mem::take(&mut self.rest);
        if last.is_empty() { Ok(()) } else { self.read_line(&last) }
    }

    fn read_line(&mut self, line: &[u8]) -> io::Result<()> {
        let text = std::str::from_utf8(line).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no text"))?;
        (self.take)(text.strip_suffix('\r').unwrap_or(text))
    }
}

impl<F: FnMut(&str) -> io::Result<()>> Write for Lines<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(line) if self.rest.is_empty() => self.read_line(line)?,
                Some(end) => {
                    let mut line = std::mem::take(&mut self.rest);
                    line.extend_from_slice(end);
                    self.read_line(&line)?;
                }
                None => self.rest.extend_from_slice(piece),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_for_any_chunk_size() {
        let text = "one\n\ntwo äß\nthree";
        for size in 1..=text.len() {
            let mut seen = Vec::new();
            let mut lines = Lines::new(|line: &str| {
                seen.push(line.to_owned());
                Ok(())
            });
            for some in text.as_bytes().chunks(size) {
                lines.write_all(some).unwrap();
            }
            lines.end().unwrap();
            assert_eq!(seen, ["one", "", "two äß", "three"], "{size}");
        }
        assert!(Lines::new(|_: &str| Ok(())).write_all(b"\xff\n").is_err());
    }
}
