//! What a journal entry takes from the terms that it is planned under.

use crate::keys::Shards;
use crate::records::RecordVersion;
use crate::terms_version::TermsVersion;

/// What a journal entry takes from the terms that it is planned under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryTerms {
    /// The number of shards of the due index entries of the outbox.
    pub due_shards: Shards,
    /// The version of the records that the transaction writes.
    pub records: RecordVersion,
    /// The version of the terms. The entry names it.
    pub version: TermsVersion,
}

impl EntryTerms {
    /// What an entry in the full form takes, under the first version of the terms.
    #[must_use]
    pub const fn first(due_shards: Shards) -> Self {
        Self { due_shards, records: RecordVersion::V4, version: TermsVersion::FIRST }
    }
}
