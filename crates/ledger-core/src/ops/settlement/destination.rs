//! Where a merchant is paid.

use crate::bank::BankAccount;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::psp::PspId;

/// Where a merchant is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Its bank account, by a file for the tenant's bank.
    Bank(BankAccount),
    /// An account that is registered at the tenant's account of the payment provider.
    Stripe {
        /// The provider's id of it, such as `ba_1Nv...`.
        external_account: PspId,
    },
}

impl Destination {
    /// Reads a stored destination.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as [`Destination::item`] writes it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        match item.text("kind")? {
            "bank" => BankAccount::read(item).map(Self::Bank),
            "stripe" => {
                let external_account = item.named("external_account", PspId::parse)?;
                Ok(Self::Stripe { external_account })
            }
            _ => Err(ItemError::invalid("kind")),
        }
    }

    /// Its attributes.
    #[must_use]
    pub fn item(&self) -> Item {
        match self {
            Self::Bank(account) => {
                let mut item = account.item();
                item.insert("kind".to_owned(), Value::s("bank"));
                item
            }
            Self::Stripe { external_account } => Item::from([
                ("kind".to_owned(), Value::s("stripe")),
                ("external_account".to_owned(), Value::s(external_account)),
            ]),
        }
    }

    /// All of it in one line, for what a key is bound to.
    #[must_use]
    pub fn text(&self) -> String {
        let item = self.item();
        let parts = item.iter().filter_map(|(name, value)| match value {
            Value::S(text) => Some(format!("{name}={text}")),
            Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        });
        parts.collect::<Vec<_>>().join(";")
    }

    /// It as it may be shown.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Bank(account) => account.shown(),
            Self::Stripe { external_account } => external_account.to_string(),
        }
    }
}
