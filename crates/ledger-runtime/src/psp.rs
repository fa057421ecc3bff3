//! The payment provider: the requests to it, its responses, and its events.

mod port;
pub mod signature;
mod stripe;
pub mod wire;

pub use port::{
    Listed, Listing, ListingKind, LookupResult, Outlook, Psp, PspLookup, PspObject, PspRefusal, PspSearch, Sent,
    Unknown,
};
pub use stripe::{Stripe, StripeError};
