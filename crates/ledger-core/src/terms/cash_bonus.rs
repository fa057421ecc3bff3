//! Whether cash that merchants owe earns a bonus.

use super::RoomTerms;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::transaction::Clause;

/// Whether cash that the terminal's merchant owes earns the bonus of the card's terms.
///
/// It is only raised. A bonus is granted once a settlement has covered the cash, and such settlements settle rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CashBonusTerms {
    /// It earns none.
    Never,
    /// The bonus is due from the top-up on, and is granted once a settlement that covers the cash is paid.
    WhenCovered,
}

impl CashBonusTerms {
    /// The attribute of `CONFIG`.
    const ATTRIBUTE: &'static str = "cash_bonus";

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WhenCovered => "when_covered",
        }
    }

    /// Whether cash earns a bonus once it is covered.
    #[must_use]
    pub const fn is_when_covered(self) -> bool {
        match self {
            Self::Never => false,
            Self::WhenCovered => true,
        }
    }

    /// Reads the terms from the tenant's `CONFIG` item, where an absent attribute is [`Self::Never`].
    ///
    /// # Errors
    /// [`ItemError`] if this release does not know the value, or if settlements return no rooms.
    pub(super) fn read(config: &Item, rooms: RoomTerms) -> Result<Self, ItemError> {
        let bonus = config.opt_named(Self::ATTRIBUTE, |name| (name == Self::WhenCovered.name()).then_some(()))?;
        match bonus {
            None => Ok(Self::Never),
            Some(()) if rooms.are_settled() => Ok(Self::WhenCovered),
            Some(()) => Err(ItemError::invalid(Self::ATTRIBUTE)),
        }
    }

    /// The attribute of `CONFIG`. The first value has none, as releases before it wrote none.
    pub(super) fn item(self) -> Item {
        match self {
            Self::Never => Item::new(),
            Self::WhenCovered => Item::from([(Self::ATTRIBUTE.to_owned(), Value::s(self.name()))]),
        }
    }

    /// Lets cash earn bonuses in `CONFIG`, with the guards for that.
    pub(crate) fn when_covered(config: Update) -> (Update, Vec<Clause>) {
        let settled = Value::s(RoomTerms::Settled.name());
        let are_settled = Condition::compare(RoomTerms::ATTRIBUTE, Cmp::Eq, RoomTerms::ATTRIBUTE, settled);
        let clauses = vec![
            Clause { condition: are_settled, failure: Failure::StalePlan },
            Clause { condition: Condition::absent(Self::ATTRIBUTE), failure: Failure::WrongState },
        ];
        (config.set(Self::ATTRIBUTE, Self::ATTRIBUTE, Value::s(Self::WhenCovered.name())), clauses)
    }
}
