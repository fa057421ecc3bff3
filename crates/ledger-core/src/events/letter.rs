//! A reference to an entry that could not be told. Its text is also the message that asks a worker to tell
//! it after all.

use crate::ids::Tenant;
use crate::keys::Key;
use serde_json::json;

/// Which entry, and why: nothing of what stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Whose.
    pub tenant: Tenant,
    /// Where it stands.
    pub key: Key,
    /// Why it could not be told.
    pub why: String,
}

impl DeadLetter {
    /// `{"tenant":..,"entry":{"pk":..,"sk":..},"why":..}`
    #[must_use]
    pub fn text(&self) -> String {
        let entry = json!({"pk": self.key.pk(), "sk": self.key.sk()});
        json!({"tenant": self.tenant.as_str(), "entry": entry, "why": self.why}).to_string()
    }
}
