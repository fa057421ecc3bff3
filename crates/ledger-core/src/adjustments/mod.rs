//! Adjustments of a balance by an operator: requested by one operator and decided by another.

pub mod decide;
pub mod record;
pub mod request;
