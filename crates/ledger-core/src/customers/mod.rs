//! Customers: opening and closing a wallet, their profile and status, and transfers between their balances.

pub mod open;
pub mod profile;
pub mod read;
pub mod sign_in;
pub mod transfer;
