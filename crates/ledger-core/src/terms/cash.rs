//! Who owes the cash that terminals take.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::records::RecordVersion;
use crate::transaction::Clause;

/// Who owes the cash that a terminal takes for a card.
///
/// It is only raised. Cash that a merchant owes is credited to it by the seal of the entry, so the tenant must write
/// records that do so.
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
    /// [`ItemError`] if this release does not know the value, or if merchants owe cash that no seal would credit.
    pub(super) fn read(config: &Item, records: RecordVersion) -> Result<Self, ItemError> {
        let cash = config.opt_named(Self::ATTRIBUTE, |name| (name == Self::OwedByMerchant.name()).then_some(()))?;
        match cash {
            None => Ok(Self::Clearing),
            Some(()) if records.credits_when_sealed() => Ok(Self::OwedByMerchant),
            Some(()) => Err(ItemError::invalid(Self::ATTRIBUTE)),
        }
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
        let seals = Value::int(RecordVersion::V4.number().into());
        // INVARIANT: the seal of an entry credits the merchant, so records are of a version that does so.
        let are_sealed = Condition::compare(RecordVersion::ATTRIBUTE, Cmp::Ge, RecordVersion::ATTRIBUTE, seals);
        let clauses = vec![
            Clause { condition: are_sealed, failure: Failure::StalePlan },
            Clause { condition: Condition::absent(Self::ATTRIBUTE), failure: Failure::WrongState },
        ];
        (config.set(Self::ATTRIBUTE, Self::ATTRIBUTE, Value::s(Self::OwedByMerchant.name())), clauses)
    }
}
