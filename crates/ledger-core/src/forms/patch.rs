//! Patches of a field: keeping a field and clearing it are different.

use crate::dynamo::{Update, Value};
use crate::personal::FreeText;

/// The change of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Leaves it unchanged.
    #[default]
    Keep,
    /// Sets a value.
    Set(T),
    /// Deletes it.
    Clear,
}

impl<T> Patch<T> {
    /// Whether it leaves the field unchanged.
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
