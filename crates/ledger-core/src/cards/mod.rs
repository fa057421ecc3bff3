//! Prepaid cards at terminals: the record, top-up, payment and reversal.

pub mod pay;
pub mod record;
pub mod reverse;
pub mod topup;
