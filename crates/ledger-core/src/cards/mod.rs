//! Prepaid cards at terminals: the record, the PIN, top-up, its bonus, payment and reversal.

pub mod bonus;
pub mod pay;
pub mod pin;
pub mod record;
pub mod reverse;
pub mod reverse_cash;
pub mod topup;
