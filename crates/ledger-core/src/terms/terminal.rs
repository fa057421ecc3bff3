//! The terms of a terminal's owner.

use super::MerchantTerms;
use crate::ids::TerminalOwner;

/// Whose terminal it is, with the terms of a till's merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalTerms {
    /// A till of this merchant.
    Till(MerchantTerms),
    /// A counter of the operator.
    Counter,
}

impl TerminalTerms {
    /// The owner.
    #[must_use]
    pub fn owner(&self) -> TerminalOwner {
        match self {
            Self::Till(merchant) => TerminalOwner::Merchant(merchant.id),
            Self::Counter => TerminalOwner::Operator,
        }
    }

    /// Whether the owner takes payments and cash: a suspended merchant does not.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self {
            Self::Till(merchant) => merchant.open,
            Self::Counter => true,
        }
    }

    /// Whether the owner is closed or being closed: then nothing of its terminals is reversed.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        match self {
            Self::Till(merchant) => merchant.closing,
            Self::Counter => false,
        }
    }
}
