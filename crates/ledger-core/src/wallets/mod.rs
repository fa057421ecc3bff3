//! What a wallet owes, and the points that a purchase or a top-up earned.

pub(crate) mod debt;
pub(crate) mod earned;

pub use debt::{SeenBalance, SeenWallet};
