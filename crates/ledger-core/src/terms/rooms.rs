//! Whether refunds are bounded by rooms of their merchants, and whether settlements return rooms.

use super::CashTerms;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::transaction::Clause;

/// What a merchant's rooms are bounded by.
///
/// It is only raised. What takes from a refund room is credited to the merchant by the seal of the entry, so merchants owe
/// cash first, which needs such records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoomTerms {
    /// A refund takes from no room, and the operator raises ceilings of cash as debts are covered.
    ByHand,
    /// A refund takes from its merchant's refund room, and a settlement returns the rooms of what it covers.
    Settled,
}

impl RoomTerms {
    /// The attribute of `CONFIG`.
    pub(super) const ATTRIBUTE: &'static str = "rooms";

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByHand => "by_hand",
            Self::Settled => "settled",
        }
    }

    /// Whether refunds take from rooms, and settlements return rooms.
    #[must_use]
    pub const fn are_settled(self) -> bool {
        match self {
            Self::ByHand => false,
            Self::Settled => true,
        }
    }

    /// Reads the terms from the tenant's `CONFIG` item, where an absent attribute is [`Self::ByHand`].
    ///
    /// # Errors
    /// [`ItemError`] if this release does not know the value, or if merchants do not owe cash.
    pub(super) fn read(config: &Item, cash: CashTerms) -> Result<Self, ItemError> {
        let rooms = config.opt_named(Self::ATTRIBUTE, |name| (name == Self::Settled.name()).then_some(()))?;
        match rooms {
            None => Ok(Self::ByHand),
            Some(()) if cash.is_owed() => Ok(Self::Settled),
            Some(()) => Err(ItemError::invalid(Self::ATTRIBUTE)),
        }
    }

    /// The attribute of `CONFIG`. The first value has none, as releases before it wrote none.
    pub(super) fn item(self) -> Item {
        match self {
            Self::ByHand => Item::new(),
            Self::Settled => Item::from([(Self::ATTRIBUTE.to_owned(), Value::s(self.name()))]),
        }
    }

    /// Settles rooms in `CONFIG`, with the guards for that.
    pub(crate) fn settled(config: Update) -> (Update, Vec<Clause>) {
        let owed = Value::s(CashTerms::OwedByMerchant.name());
        let is_owed = Condition::compare(CashTerms::ATTRIBUTE, Cmp::Eq, CashTerms::ATTRIBUTE, owed);
        let clauses = vec![
            Clause { condition: is_owed, failure: Failure::StalePlan },
            Clause { condition: Condition::absent(Self::ATTRIBUTE), failure: Failure::WrongState },
        ];
        (config.set(Self::ATTRIBUTE, Self::ATTRIBUTE, Value::s(Self::Settled.name())), clauses)
    }
}
