//! The PIN of a card: the digits as typed, what is stored of them, and the attempts.
//!
//! A PIN has at most a million values, so a hash of it hides nothing. Stored is a keyed proof, and the keys are not in
//! the table. An attempt is counted in a write of its own before the digits are compared, once per idempotency key.

mod change;
mod check;
mod keys;
mod record;
#[cfg(test)]
mod tests;

pub use change::{plan_reset, plan_set};
pub use check::{CheckError, PinCheck, PinVerdict, Reservation, check};
pub use keys::{Pin, PinFormError, PinKeyAbsent, PinKeys, PinKeysError};
pub use record::{PIN_ATTEMPTS, PinRecord};
