//! The payment provider: what we ask of it, and what its answers and events do to our books.

mod port;
pub mod signature;
mod stripe;
pub mod wire;

pub use port::{
    Listed, Listing, ListingKind, Lookup, Outlook, Psp, PspObject, PspRefusal, Sent, Sighting, Sought, Unknown,
};
pub use stripe::{Stripe, StripeError};
