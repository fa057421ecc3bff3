//! What merchants are credited with. The seal of an entry credits its merchant.

mod balances;

pub use balances::{MerchantBalance, MerchantBalances};
