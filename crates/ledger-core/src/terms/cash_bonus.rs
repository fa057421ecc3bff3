//! Whether cash that merchants owe earns a bonus.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::words::words;

/// The attribute of `CONFIG`.
pub(super) const CASH_BONUS: &str = "cash_bonus";

words! {
    /// Whether cash that the terminal's merchant owes earns the bonus of the card's terms.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CashBonusTerms {
        /// It earns none.
        Never = "never",
        /// The bonus is due from the top-up on, and is granted once a settlement that covers the cash is paid.
        WhenCovered = "when_covered",
    }
}

impl CashBonusTerms {
    /// Reads the terms from the tenant's `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if the attribute is missing or has another value.
    pub(super) fn read(config: &Item) -> Result<Self, ItemError> {
        config.named(CASH_BONUS, Self::parse)
    }

    /// The attribute of `CONFIG`.
    pub(super) fn attribute(self) -> (String, Value) {
        (CASH_BONUS.to_owned(), Value::s(self.name()))
    }
}
