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
pub mod tasks;
