//! The version of the records that a tenant's transactions write.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};

/// The version of the records that a tenant's transactions write. Every version is read, whatever is written.
///
/// It is only raised, and only once every environment reads the version. Each transaction follows the terms that it was
/// planned with, so for the time that terms are cached, writers of two versions work on one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordVersion {
    /// Journal entries and references to them are in the full form.
    V4,
    /// Journal entries and references to them are in the compact form.
    V5,
    /// Markers are in the keyed form: fingerprints have a key, and responses with a one-time secret are encrypted.
    V6,
    /// Customers, cards, terminals, top-ups and acts have entries in the index by owner, and customers are looked up by what
    /// is known of them.
    V7,
}

impl RecordVersion {
    /// The attribute of `CONFIG`.
    pub(crate) const ATTRIBUTE: &str = "records";
    /// Every version, oldest first.
    pub const ALL: [Self; 4] = [Self::V4, Self::V5, Self::V6, Self::V7];
    /// The newest version that this release reads and writes.
    pub const NEWEST: Self = Self::V7;

    /// The number.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::V4 => 4,
            Self::V5 => 5,
            Self::V6 => 6,
            Self::V7 => 7,
        }
    }

    /// Whether journal entries and references to them are written in the compact form.
    #[must_use]
    pub const fn has_compact_entries(self) -> bool {
        match self {
            Self::V4 => false,
            Self::V5 | Self::V6 | Self::V7 => true,
        }
    }

    /// Whether markers are written in the keyed form.
    #[must_use]
    pub const fn has_keyed_markers(self) -> bool {
        match self {
            Self::V4 | Self::V5 => false,
            Self::V6 | Self::V7 => true,
        }
    }

    /// Whether customers, cards, terminals, top-ups and acts about customers are written with what lists and searches find
    /// them by.
    #[must_use]
    pub const fn has_listings(self) -> bool {
        match self {
            Self::V4 | Self::V5 | Self::V6 => false,
            Self::V7 => true,
        }
    }

    /// The version of this number; `None` if this release does not know it.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// The version of this number, or the newest that this release knows if it is a later one; `None` for one that no tenant
    /// writes.
    pub(crate) fn known(number: u32) -> Option<Self> {
        if number > Self::NEWEST.number() { Some(Self::NEWEST) } else { Self::new(number) }
    }

    /// Reads the version from the tenant's `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if the item has none, or this release does not know the version. It must not be taken for one that it
    /// knows: a later release's records may have to be written together.
    pub(crate) fn read(config: &Item) -> Result<Self, ItemError> {
        config.checked_int(Self::ATTRIBUTE, Self::new)
    }

    /// The attribute of `CONFIG`.
    pub(crate) fn item(self) -> Item {
        Item::from([(Self::ATTRIBUTE.to_owned(), self.value())])
    }

    /// Sets the version in `CONFIG`.
    pub(crate) fn set(self, config: Update) -> Update {
        config.set(Self::ATTRIBUTE, Self::ATTRIBUTE, self.value())
    }

    /// Requires that `CONFIG` has a lower version.
    pub(crate) fn is_above_the_present(self) -> Condition {
        Condition::compare(Self::ATTRIBUTE, Cmp::Lt, Self::ATTRIBUTE, self.value())
    }

    fn value(self) -> Value {
        Value::int(self.number().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(records: Option<Value>) -> Item {
        records.map(|records| (RecordVersion::ATTRIBUTE.to_owned(), records)).into_iter().collect()
    }

    #[test]
    fn version_is_read_as_written_and_an_unknown_one_is_refused() {
        for version in RecordVersion::ALL {
            assert_eq!(RecordVersion::read(&version.item()), Ok(version));
        }
        let unknown = [Value::int(0), Value::int(3), Value::int(8), Value::N("4.5".to_owned()), Value::s("4")];
        for value in unknown.map(Some).into_iter().chain([None]) {
            let error = RecordVersion::read(&config(value.clone())).unwrap_err();
            assert_eq!(error.attribute, "records", "{value:?}");
        }
    }

    #[test]
    fn version_is_above_lower_ones_only() {
        for to in RecordVersion::ALL {
            for present in 4..=8 {
                let config = config(Some(Value::int(present)));
                let is_above = to.is_above_the_present().holds(Some(&config));
                assert_eq!(is_above, i64::from(to.number()) > present, "{to:?} above {present}");
            }
            assert!(!to.is_above_the_present().holds(Some(&config(None))));
        }
    }
}
