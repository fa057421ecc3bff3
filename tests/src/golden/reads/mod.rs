//! Golden vectors of reads: the exact request of each question, and which items of a world answer it, in order.
//! `golden/reads/v1/<question>/<case>.json`; a world is a table with a label for each item, `golden/reads/worlds`.

pub mod cases;
pub mod judge;
pub mod question;
pub mod vector;
