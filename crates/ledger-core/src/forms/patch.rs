//! Changing a field: "leave it" and "delete it" are different things.

use crate::dynamo::{Update, Value};
use crate::personal::FreeText;

/// What is to become of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It gets a value.
    Set(T),
    /// It is deleted.
    Clear,
}

impl<T> Patch<T> {
    /// Whether nothing is to change.
    #[must_use]
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

/// Adds a text field's change to an update; `Keep` adds nothing.
#[must_use]
pub fn patch_text(update: Update, attribute: &'static str, patch: &Patch<FreeText>) -> Update {
    match patch {
        Patch::Keep => update,
        Patch::Set(text) => update.set(attribute, attribute, Value::s(text.expose())),
        Patch::Clear => update.remove(attribute),
    }
}
