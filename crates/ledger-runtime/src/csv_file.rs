//! Files of comma-separated values, as spreadsheets open them: RFC 4180, in UTF-8 with a byte order mark.
//!
//! INVARIANT: no text of a person begins a formula. A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a
//! line break, so such a text is stored after an apostrophe, which spreadsheets do not show. Numbers are ours, and stay as
//! they are. Source: OWASP, CSV Injection.

use crate::problem::Problem;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use csv::{Terminator, WriterBuilder};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What begins a formula, in the half-width and the full-width form.
const FORMULA: &[char] = &['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A text, which may be of a person.
    Text(String),
    /// A number, date or id that the ledger wrote.
    Plain(String),
}

/// A file that is written row by row.
#[derive(Debug)]
pub struct CsvWriter {
    writer: csv::Writer<Vec<u8>>,
    rows: u64,
}

/// A file, as a response.
#[derive(Clone, Debug)]
pub struct CsvFile {
    /// Its name, of letters, digits, `-` and `.` alone.
    name: String,
    bytes: Vec<u8>,
}

impl Cell {
    /// A number, date or id that the ledger wrote.
    pub fn plain(value: impl std::fmt::Display) -> Self {
        Self::Plain(value.to_string())
    }

    fn stored(&self) -> String {
        match self {
            Self::Text(text) if text.starts_with(FORMULA) => format!("'{text}"),
            Self::Text(text) | Self::Plain(text) => text.clone(),
        }
    }
}

impl CsvWriter {
    /// Begins a file with the names of its columns.
    ///
    /// # Errors
    /// 500 if they cannot be written.
    pub fn begin(columns: &[&str]) -> Result<Self, Problem> {
        let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(BYTE_ORDER_MARK.to_vec());
        writer.write_record(columns).map_err(broken)?;
        Ok(Self { writer, rows: 0 })
    }

    /// Writes a row.
    ///
    /// # Errors
    /// 500 if it has another number of cells than there are columns.
    pub fn row(&mut self, cells: &[Cell]) -> Result<(), Problem> {
        self.rows = self.rows.saturating_add(1);
        self.writer.write_record(cells.iter().map(Cell::stored)).map_err(broken)
    }

    /// The number of rows, without the names of the columns.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the file.
    ///
    /// # Errors
    /// 500 if it cannot be written.
    pub fn finish(self, name: &str) -> Result<CsvFile, Problem> {
        Ok(CsvFile { name: format!("{name}.csv"), bytes: self.writer.into_inner().map_err(broken)? })
    }
}

impl CsvFile {
    /// The media type.
    pub const MEDIA_TYPE: &str = "text/csv; charset=utf-8; header=present";

    /// Writes a file of rows under the names of the columns.
    ///
    /// # Errors
    /// 500 if a row has another number of cells than there are columns.
    pub fn new(name: &str, columns: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>) -> Result<Self, Problem> {
        let mut writer = CsvWriter::begin(columns)?;
        for row in rows {
            writer.row(&row)?;
        }
        writer.finish(name)
    }

    /// The content.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl IntoResponse for CsvFile {
    fn into_response(self) -> Response {
        let name = HeaderValue::from_str(&format!("attachment; filename=\"{}\"", self.name));
        let mut response = self.bytes.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(Self::MEDIA_TYPE));
        if let Ok(name) = name {
            headers.insert(header::CONTENT_DISPOSITION, name);
        }
        response
    }
}

fn broken(error: impl std::fmt::Display) -> Problem {
    tracing::error!(%error, "a file of comma-separated values cannot be written");
    Problem::internal()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: Vec<Vec<Cell>>) -> String {
        let file = CsvFile::new("test", &["name", "amount"], rows).unwrap();
        String::from_utf8(file.into_bytes()).unwrap()
    }

    #[test]
    fn file_has_a_byte_order_mark_and_rows_that_end_with_cr_lf() {
        let rows = vec![vec![Cell::Text("青葉珈琲".to_owned()), Cell::plain(-5)]];
        assert_eq!(text(rows), "\u{feff}name,amount\r\n青葉珈琲,-5\r\n");
    }

    #[test]
    fn cell_with_a_separator_a_quote_or_a_line_break_is_quoted() {
        let rows = vec![vec![Cell::Text("a \"b\", c\r\nd".to_owned()), Cell::plain(1)]];
        assert_eq!(text(rows), "\u{feff}name,amount\r\n\"a \"\"b\"\", c\r\nd\",1\r\n");
    }

    #[test]
    fn text_that_would_begin_a_formula_is_stored_after_an_apostrophe() {
        for begin in FORMULA {
            let cell = Cell::Text(format!("{begin}HYPERLINK(1)"));
            assert_eq!(cell.stored(), format!("'{begin}HYPERLINK(1)"));
        }
        assert_eq!(Cell::Text("1-2".to_owned()).stored(), "1-2");
    }

    #[test]
    fn row_with_too_few_cells_is_refused() {
        assert!(CsvFile::new("test", &["name", "amount"], vec![vec![Cell::plain(1)]]).is_err());
    }

    #[test]
    fn response_names_the_file_and_its_media_type() {
        let response = CsvFile::new("days-2026", &["day"], vec![]).unwrap().into_response();
        assert_eq!(response.headers()[header::CONTENT_DISPOSITION], "attachment; filename=\"days-2026.csv\"");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/csv; charset=utf-8; header=present");
    }
}
