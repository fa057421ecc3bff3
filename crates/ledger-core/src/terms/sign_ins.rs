//! Whether a tenant has moved a customer to another sign-in.

use crate::dynamo::{Attributes, Item, ItemError, Update, Value};

/// What says which customer the subject of a token is.
///
/// The first move of a tenant changes it, in its own transaction. Until then no request reads more than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInTerms {
    /// The subject is the customer's id.
    OwnIds,
    /// The subject's item says it; without one, the subject is the customer's id.
    Moved,
}

impl SignInTerms {
    /// The attribute of `CONFIG`; absent for [`SignInTerms::OwnIds`].
    const ATTRIBUTE: &str = "sign_ins";
    const MOVED: &str = "moved";

    /// Reads the attribute of a tenant's `CONFIG`.
    ///
    /// # Errors
    /// [`ItemError`] for an unknown value: a subject must not be taken for another customer.
    pub fn read(config: &Item) -> Result<Self, ItemError> {
        let moved = config.opt_named(Self::ATTRIBUTE, |name| (name == Self::MOVED).then_some(Self::Moved))?;
        Ok(moved.unwrap_or(Self::OwnIds))
    }

    pub(super) fn item(self) -> Option<(String, Value)> {
        match self {
            Self::OwnIds => None,
            Self::Moved => Some((Self::ATTRIBUTE.to_owned(), Value::s(Self::MOVED))),
        }
    }

    /// Sets [`SignInTerms::Moved`] in `CONFIG`.
    pub(crate) fn moved(config: Update) -> Update {
        config.set(Self::ATTRIBUTE, "moved", Value::s(Self::MOVED))
    }
}
