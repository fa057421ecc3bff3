//! Which payments of cards need the card's PIN.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Amount, Asset, Balance};

/// The attribute of `CONFIG`.
const ATTRIBUTE: &str = "card_pin_above";

/// Which payments of cards need the card's PIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardPinTerms {
    /// None. Cards have no PIN.
    NotUsed,
    /// Those above this amount, in yen. Zero: every one.
    Above(Balance),
}

impl CardPinTerms {
    /// Those above an amount in yen that is not negative; `None` for any other quantity.
    #[must_use]
    pub fn above(amount: Balance) -> Option<Self> {
        (*amount.asset() == Asset::Ecopay && (amount.value().is_zero() || amount.value().is_sign_positive()))
            .then_some(Self::Above(amount))
    }

    /// Whether cards have PINs.
    #[must_use]
    pub fn is_used(&self) -> bool {
        match self {
            Self::NotUsed => false,
            Self::Above(_) => true,
        }
    }

    /// Whether a payment of this amount needs the PIN.
    #[must_use]
    pub fn require_for(&self, amount: &Amount) -> bool {
        match self {
            Self::NotUsed => false,
            Self::Above(most) => amount.value() > most.value(),
        }
    }

    /// The amount in words, for records and consoles.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::NotUsed => "none".to_owned(),
            Self::Above(most) => most.text(),
        }
    }

    /// Reads the terms from the tenant's `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if the attribute is wrong.
    pub(super) fn read(config: &Item) -> Result<Self, ItemError> {
        match config.opt_balance(ATTRIBUTE, Asset::Ecopay)? {
            None => Ok(Self::NotUsed),
            Some(amount) => Self::above(amount).ok_or_else(|| ItemError::invalid(ATTRIBUTE)),
        }
    }

    /// The attribute of `CONFIG`; none if it is not used.
    pub(super) fn item(&self) -> Item {
        match self {
            Self::NotUsed => Item::new(),
            Self::Above(most) => Item::from([(ATTRIBUTE.to_owned(), Value::N(most.text()))]),
        }
    }
}
