//! The ceilings that a merchant begins with.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Asset, Balance};

/// The attributes of `CONFIG`.
pub(super) const REFUND: &str = "refund_ceiling";
pub(super) const CASH: &str = "cash_ceiling";

/// The ceilings that a merchant begins with, in yen, zero or more. The operator sets a merchant's own later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CeilingTerms {
    /// The most that it may refund beyond what its settlements have covered.
    pub refund: Balance,
    /// The most cash that its tills may take that it owes.
    pub cash: Balance,
}

impl CeilingTerms {
    /// A merchant refunds nothing, and its tills take no cash, until the operator has set its own ceilings.
    #[must_use]
    pub fn zero() -> Self {
        Self { refund: Balance::zero(Asset::Ecopay), cash: Balance::zero(Asset::Ecopay) }
    }

    /// Reads the ceilings from the tenant's `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing, malformed or negative.
    pub(super) fn read(config: &Item) -> Result<Self, ItemError> {
        let ceiling = |name: &str| {
            let ceiling = config.balance(name, Asset::Ecopay)?;
            if ceiling.value().is_sign_negative() { Err(ItemError::invalid(name)) } else { Ok(ceiling) }
        };
        Ok(Self { refund: ceiling(REFUND)?, cash: ceiling(CASH)? })
    }

    /// The attributes of `CONFIG`.
    pub(super) fn attributes(&self) -> [(String, Value); 2] {
        [(REFUND.to_owned(), Value::N(self.refund.text())), (CASH.to_owned(), Value::N(self.cash.text()))]
    }
}
