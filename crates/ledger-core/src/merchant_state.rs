//! The stored states of merchants.

use crate::dynamo::{Attributes, Item, ItemError};

/// The attribute of a merchant's `PROFILE` with the state.
pub(crate) const STATUS: &str = "status";

/// The stored state of a merchant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MerchantState {
    /// It may take payments.
    Active,
    /// It may not take payments; refunds are still possible.
    Suspended,
    /// Its close has begun: it takes no payments, and refunds nothing.
    Closing,
    /// It is closed. Final.
    Closed,
}

impl MerchantState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Active, Self::Suspended, Self::Closing, Self::Closed];

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Closing => "closing",
            Self::Closed => "closed",
        }
    }

    /// Parses a stored name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

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
