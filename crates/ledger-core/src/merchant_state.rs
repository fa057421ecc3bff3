//! The stored states of merchants.

use crate::dynamo::{Attributes, Item, ItemError};
use crate::words::words;

/// The attribute of a merchant's `PROFILE` with the state.
pub(crate) const STATUS: &str = "status";

words! {
    /// The stored state of a merchant.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MerchantState {
        /// It may take payments.
        Active = "active",
        /// It may not take payments; refunds are still possible.
        Suspended = "suspended",
        /// Its close has begun: it takes no payments, and refunds nothing.
        Closing = "closing",
        /// It is closed. Final.
        Closed = "closed",
    }
}

impl MerchantState {
    /// The state in a merchant's `PROFILE`.
    ///
    /// # Errors
    /// [`ItemError`] if it is missing or unknown.
    pub fn read(profile: &Item) -> Result<Self, ItemError> {
        profile.named(STATUS, Self::parse)
    }

    /// Whether it may take payments.
    #[must_use]
    pub const fn is_open(self) -> bool {
        match self {
            Self::Active => true,
            Self::Suspended | Self::Closing | Self::Closed => false,
        }
    }

    /// Whether it is closed or being closed: then it refunds nothing.
    #[must_use]
    pub const fn is_closing(self) -> bool {
        match self {
            Self::Closing | Self::Closed => true,
            Self::Active | Self::Suspended => false,
        }
    }
}
