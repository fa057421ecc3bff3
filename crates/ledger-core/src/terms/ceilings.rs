//! The ceilings that a merchant begins with.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Amount, Asset};

/// The attributes of `CONFIG`.
pub(super) const REFUND: &str = "refund_ceiling";
pub(super) const CASH: &str = "cash_ceiling";

/// The ceilings that a merchant begins with, in yen. The operator sets a merchant's own later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CeilingTerms {
    /// The most that it may refund beyond what its settlements have covered; `None`: it refunds nothing until it has a
    /// ceiling.
    pub refund: Option<Amount>,
    /// The most cash that its tills may take that it owes; `None`: they take none until it has a ceiling.
    pub cash: Option<Amount>,
}

impl CeilingTerms {
    /// Reads the ceilings from the tenant's `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub(super) fn read(config: &Item) -> Result<Self, ItemError> {
        Ok(Self { refund: config.opt_amount(REFUND, Asset::Ecopay)?, cash: config.opt_amount(CASH, Asset::Ecopay)? })
    }

    /// The attributes of `CONFIG`.
    pub(super) fn item(&self) -> Item {
        let number = |name: &str, ceiling: &Option<Amount>| Some((name.to_owned(), Value::N(ceiling.as_ref()?.text())));
        number(REFUND, &self.refund).into_iter().chain(number(CASH, &self.cash)).collect()
    }
}
