//! What people call a tenant's programme.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::Tenant;
use crate::personal::{FreeText, TextError};
use std::fmt;

/// The name that people see. The tenant's slug names it in keys, and is never given to another tenant; this name may
/// change, and two tenants may have the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayName(String);

impl DisplayName {
    /// The attribute of `CONFIG`, and of the terms of a version.
    pub(super) const ATTRIBUTE: &str = "display_name";
    /// The most characters.
    pub const CHARS_MAX: usize = 100;

    /// Reads a name of 1 to [`DisplayName::CHARS_MAX`] characters: spaces at its ends are removed, and it is brought to
    /// Unicode's normalization form C.
    ///
    /// # Errors
    /// [`TextError`] if it is empty, too long, or has a hidden character or a card number.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        Ok(Self(FreeText::parse(text, Self::CHARS_MAX)?.expose().to_owned()))
    }

    /// The slug, for a tenant that is opened without a name of its own.
    #[must_use]
    pub fn of_slug(tenant: &Tenant) -> Self {
        Self(tenant.as_str().to_owned())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        item.parsed(Self::ATTRIBUTE, Self::parse)
    }

    pub(super) fn attribute(&self) -> (String, Value) {
        (Self::ATTRIBUTE.to_owned(), Value::s(self))
    }
}

impl fmt::Display for DisplayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
