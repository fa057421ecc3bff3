//! A reference to an entry that could not be published. Its text is also the message that asks a worker to publish
//! the entry later.

use crate::ids::Tenant;
use crate::keys::Key;
use serde_json::json;

/// Which entry was not published, and why. Holds nothing of the entry's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The tenant of the entry.
    pub tenant: Tenant,
    /// The entry's key.
    pub key: Key,
    /// Why it could not be published.
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
