//! The operator closes a customer's wallet, or a card, for good.

mod card;
mod customer;

pub use card::{CardClose, CardClosing, plan as plan_card};
pub use customer::{ClosingReceipt, CustomerClose, CustomerClosing, plan as plan_customer};
