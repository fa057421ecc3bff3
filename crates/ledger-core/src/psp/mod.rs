//! The payment provider as the core sees it: requests as bytes, objects as they looked at one moment,
//! and events as facts about them. Nothing here knows HTTP or JSON.

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
