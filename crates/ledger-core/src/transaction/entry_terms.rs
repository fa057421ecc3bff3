//! What a journal entry takes from the terms that it is planned under.

use crate::keys::Shards;
use crate::terms_version::TermsVersion;

/// What a journal entry takes from the terms that it is planned under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryTerms {
    /// The number of shards of the due index entries of the outbox.
    pub due_shards: Shards,
    /// The version of the terms. The entry names it.
    pub version: TermsVersion,
}
