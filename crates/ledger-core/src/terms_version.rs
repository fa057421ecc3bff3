//! The number of a version of a tenant's terms.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use std::fmt;

/// The number of a version of a tenant's terms. A number is given once, also to a version that never took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermsVersion(u32);

impl TermsVersion {
    /// The attribute of `CONFIG`, of an entry and of records whose later steps write entries. An item without it has the
    /// first version.
    pub(crate) const ATTRIBUTE: &str = "terms_version";
    /// What a tenant begins with.
    pub const FIRST: Self = Self(1);

    /// The version of this number; `None` for zero.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The number after it.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Reads the attribute of an item.
    ///
    /// # Errors
    /// [`ItemError`] if it is not a version.
    pub(crate) fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(item.opt_checked_int(Self::ATTRIBUTE, Self::new)?.unwrap_or(Self::FIRST))
    }

    /// The attribute; none for the first version.
    pub(crate) fn attribute(self) -> Option<(String, Value)> {
        (self != Self::FIRST).then(|| (Self::ATTRIBUTE.to_owned(), self.value()))
    }

    pub(crate) fn value(self) -> Value {
        Value::int(self.0.into())
    }
}

impl fmt::Display for TermsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
