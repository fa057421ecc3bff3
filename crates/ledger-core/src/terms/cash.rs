//! Who owes the cash that terminals take.

use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::transaction::Clause;

/// Who owes the cash that a terminal takes for a card.
///
/// It is only raised. Cash that a merchant owes is credited to it by the seal of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CashTerms {
    /// It is posted to `cash_clearing`. The books do not say who has it.
    Clearing,
    /// The terminal's merchant owes it, and the next settlements net it.
    OwedByMerchant,
}

impl CashTerms {
    /// The attribute of `CONFIG`.
    pub(super) const ATTRIBUTE: &'static str = "cash";

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clearing => "clearing",
            Self::OwedByMerchant => "owed_by_merchant",
        }
    }

    /// Whether the merchant owes it.
    #[must_use]
    pub const fn is_owed(self) -> bool {
        match self {
            Self::Clearing => false,
            Self::OwedByMerchant => true,
        }
    }

    /// Reads the terms from the tenant's `CONFIG` item, where an absent attribute is [`Self::Clearing`].
    ///
    /// # Errors
    /// [`ItemError`] if this release does not know the value.
    pub(super) fn read(config: &Item) -> Result<Self, ItemError> {
        let cash = config.opt_named(Self::ATTRIBUTE, |name| (name == Self::OwedByMerchant.name()).then_some(()))?;
        Ok(cash.map_or(Self::Clearing, |()| Self::OwedByMerchant))
    }

    /// The attribute of `CONFIG`. The first value has none, as releases before it wrote none.
    pub(super) fn item(self) -> Item {
        match self {
            Self::Clearing => Item::new(),
            Self::OwedByMerchant => Item::from([(Self::ATTRIBUTE.to_owned(), Value::s(self.name()))]),
        }
    }

    /// Makes merchants owe cash in `CONFIG`, with the guards for that.
    pub(crate) fn owed(config: Update) -> (Update, Vec<Clause>) {
        let clauses = vec![Clause { condition: Condition::absent(Self::ATTRIBUTE), failure: Failure::WrongState }];
        (config.set(Self::ATTRIBUTE, Self::ATTRIBUTE, Value::s(Self::OwedByMerchant.name())), clauses)
    }
}
