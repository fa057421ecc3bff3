//! Golden vectors of reads: the exact requests of each question, and the items of a world that answer it, in order.
//! `golden/reads/<question>/<case>.json`; a world is a table with a label for each item, in `golden/reads/worlds`.

mod arguments;
pub mod finding;
pub mod judge;
mod page;
pub mod question;
pub mod vector;
