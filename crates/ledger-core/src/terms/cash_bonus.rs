//! Whether cash that merchants owe earns a bonus.

use crate::dynamo::{Attributes, Item, ItemError, Value};

/// The attribute of `CONFIG`.
pub(super) const CASH_BONUS: &str = "cash_bonus";

/// Whether cash that the terminal's merchant owes earns the bonus of the card's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CashBonusTerms {
    /// It earns none.
    Never,
    /// The bonus is due from the top-up on, and is granted once a settlement that covers the cash is paid.
    WhenCovered,
}

impl CashBonusTerms {
    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WhenCovered => "when_covered",
        }
    }

    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Never, Self::WhenCovered].into_iter().find(|bonus| bonus.name() == name)
    }

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
