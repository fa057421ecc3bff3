//! The payment provider: the requests to it, its responses, and its events.

mod port;
pub mod signature;
mod stripe;
pub mod wire;

pub use port::{
    Listed, Listing, ListingKind, Lookup, Outlook, Psp, PspObject, PspRefusal, Sent, Sighting, Sought, Unknown,
};
pub use stripe::{Stripe, StripeError};
