//! What verification of the audit trail finds.

use crate::keys::Key;
use crate::words::words;
use std::fmt;

/// The most missing segments of a lane, and bindings, that are named. A forged head could claim a billion.
pub(super) const GAPS_MAX: usize = 1000;

words! {
    /// The kinds of faults.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Fault {
        /// The item is not as it was when it was sealed.
        Edited = "edited",
        /// The text that a person typed is not the one whose hash was sealed. An erased text is no fault.
        OtherMemo = "other_memo",
        /// The item was sealed, or must have existed, and is missing.
        Missing = "missing",
        /// The item does not follow the segment that it names.
        BrokenLink = "broken_link",
        /// The record should have been sealed long before.
        Unsealed = "unsealed",
        /// The chain does not have the expected head.
        OtherHead = "other_head",
    }
}

words! {
    /// The kind of item that has the fault.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Kind {
        /// A record: an entry, an act or a step.
        Record = "record",
        /// A segment.
        Segment = "segment",
        /// A binding of the lanes.
        Binding = "binding",
        /// The head of a lane, or of all lanes.
        Chain = "chain",
    }
}

/// A fault, and the item that has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The fault.
    pub fault: Fault,
    /// The kind of the item.
    pub kind: Kind,
    /// The item's key.
    pub key: Key,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.fault.name(), self.kind.name(), self.key.pk(), self.key.sk())
    }
}
