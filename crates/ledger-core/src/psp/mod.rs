//! The payment provider: requests as bytes, objects as they were at one moment, and events as facts about them. This
//! module has no HTTP and no JSON.

mod event;
mod object;
mod request;

pub use event::{Event, EventId, Fact, Subject};
pub use object::{
    ClientSecret, Dispute, IntentStatus, PaymentIntent, Payout, PayoutStatus, PayoutTags, PspId, PspMoney, PspRefund,
    RefundStatus, Tags,
};
pub use request::{PspKey, PspRequest, PspTerms, Step};

#[cfg(test)]
mod tests;
