//! Payments: by the payer, by the merchant with the payer's one-time code, and in two steps with a hold; and refunds.

pub mod authorize;
pub mod by_operator;
pub mod capture;
pub mod charge;
pub mod charge_reverse;
pub mod code;
mod counting;
mod division;
pub mod expire;
mod hold;
pub mod pay;
pub mod payment;
pub mod record;
pub mod refund;
pub(crate) mod refund_room;
mod return_kind;
pub mod reversal;
pub mod void;

pub use payment::{Parts, PaymentReceipt, RequestedParts};
pub use record::PaymentRecord;
pub use return_kind::ReturnKind;
