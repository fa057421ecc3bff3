//! The keys of the table and of its indexes, all of which are strings.

use ledger_core::keys::{INDEX_BY_OWNER, INDEX_DUE, attr};

/// The key attributes of the table or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyNames {
    /// The partition key's attribute.
    pub partition: &'static str,
    /// The sort key's attribute.
    pub sort: &'static str,
}

/// The table's key attributes.
pub const TABLE: KeyNames = KeyNames { partition: attr::PK, sort: attr::SK };

/// Each index's key attributes.
pub const INDEXES: [(&str, KeyNames); 2] = [
    (INDEX_BY_OWNER, KeyNames { partition: attr::OWNER_PK, sort: attr::OWNER_SK }),
    (INDEX_DUE, KeyNames { partition: attr::DUE_PK, sort: attr::DUE_SK }),
];

/// The most bytes of a partition key.
pub const PARTITION_BYTES_MAX: usize = 2048;
/// The most bytes of a sort key.
pub const SORT_BYTES_MAX: usize = 1024;

impl KeyNames {
    /// Both attributes.
    #[must_use]
    pub fn both(self) -> [&'static str; 2] {
        [self.partition, self.sort]
    }

    /// The most bytes of the attribute of this name.
    #[must_use]
    pub fn bytes_max(self, name: &str) -> usize {
        if name == self.partition { PARTITION_BYTES_MAX } else { SORT_BYTES_MAX }
    }
}

/// The index that has this attribute in its key.
#[must_use]
pub fn index_of(attribute: &str) -> Option<(&'static str, KeyNames)> {
    INDEXES.into_iter().find(|(_, names)| names.both().contains(&attribute))
}
