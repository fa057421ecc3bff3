//! Prepaid cards at terminals: the record, the PIN, top-up, payment and reversal.

pub mod pay;
pub mod pin;
pub mod record;
pub mod reverse;
pub mod reverse_cash;
pub mod topup;
