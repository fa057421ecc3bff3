//! Payout destinations of merchants.

use crate::bank::BankAccount;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::personal::Masked;
use crate::psp::PspId;

/// The payout destination of a merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The merchant's bank account, paid by a file for the tenant's bank.
    Bank(BankAccount),
    /// An external account that is registered at the tenant's account of the payment provider.
    Stripe {
        /// The provider's id of it, such as `ba_1Nv...`.
        external_account: PspId,
    },
}

impl Destination {
    /// Reads a stored destination.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by [`Destination::item`].
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

    /// The attributes that are stored.
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

    /// All its texts in one line, for the fingerprint of a request.
    #[must_use]
    pub fn text(&self) -> String {
        let item = self.item();
        let parts = item.iter().filter_map(|(name, value)| match value {
            Value::S(text) => Some(format!("{name}={text}")),
            Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        });
        parts.collect::<Vec<_>>().join(";")
    }

    /// The destination in a form that may be shown: a bank account is masked.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Bank(account) => account.shown(),
            Self::Stripe { external_account } => external_account.to_string(),
        }
    }

    /// What its owner recognises it by: the form that may be shown, with the name of the account's holder.
    #[must_use]
    pub fn recognised_by(&self) -> Masked<String> {
        Masked::new(match self {
            Self::Bank(account) => account.recognised_by(),
            Self::Stripe { .. } => self.shown(),
        })
    }
}
