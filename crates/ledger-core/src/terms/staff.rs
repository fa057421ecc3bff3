//! What decides which permissions the staff of a tenant has.

use crate::dynamo::{Attributes, Item, ItemError, Value};

/// What decides which permissions the staff of a tenant and of its merchants has.
///
/// It goes from tokens to records only, once, so that releases of both kinds work side by side until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaffSource {
    /// A token of the right API permits everything that the API offers. Tenants of earlier releases begin so.
    Tokens,
    /// The roles on the person's record. A token identifies the person and permits nothing by itself.
    Records,
}

impl StaffSource {
    /// The attribute of `CONFIG`; absent for [`StaffSource::Tokens`].
    pub(crate) const ATTRIBUTE: &str = "staff";

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Records => "records",
        }
    }

    /// Reads the attribute of a tenant's `CONFIG`.
    ///
    /// # Errors
    /// [`ItemError`] for an unknown value: a tenant whose records decide never falls back to tokens.
    pub fn read(config: &Item) -> Result<Self, ItemError> {
        let known = |name: &str| [Self::Tokens, Self::Records].into_iter().find(|source| source.name() == name);
        Ok(config.opt_named(Self::ATTRIBUTE, known)?.unwrap_or(Self::Tokens))
    }

    pub(super) fn item(self) -> Option<(String, Value)> {
        match self {
            Self::Tokens => None,
            Self::Records => Some((Self::ATTRIBUTE.to_owned(), Value::s(self.name()))),
        }
    }
}
