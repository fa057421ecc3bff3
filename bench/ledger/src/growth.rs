//! What reads, payments and workers cost as the books grow.

pub mod api;
pub mod books;
pub mod counts;
pub mod meter;
pub mod operations;
pub mod plot;
pub mod report;
pub mod series;
pub mod shape;
mod table;
pub mod tasks;
mod year;

use std::io::{self, Write};

/// Writes a line about work that takes long to standard error.
pub fn progress(line: &str) {
    // Progress is for a reader; without one it is lost.
    let _ = writeln!(io::stderr(), "{line}");
}
