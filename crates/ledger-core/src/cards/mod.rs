//! Prepaid cards at terminals: the record, its life, lists of cards, the PIN, top-up, its bonus, payment and reversal.

pub mod batch;
pub mod bonus;
pub mod life;
pub mod listing;
pub mod pay;
pub mod pin;
pub mod record;
pub mod replace;
pub mod reverse;
pub mod reverse_cash;
pub mod topup;
