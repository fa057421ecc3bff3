//! What verification of the audit trail finds.

use crate::keys::Key;
use std::fmt;

/// The most missing segments of a lane, and bindings, that are named. A forged head could claim a billion.
pub(super) const GAPS_MAX: usize = 1000;

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The item is not as it was when it was sealed.
    Edited,
    /// The text that a person typed is not the one whose hash was sealed. An erased text is no fault.
    OtherMemo,
    /// The item was sealed, or must have existed, and is missing.
    Missing,
    /// The item does not follow the segment that it names.
    BrokenLink,
    /// The record should have been sealed long before.
    Unsealed,
    /// The chain does not have the expected head.
    OtherHead,
}

/// The kind of item that has the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A record: an entry, an act or a step.
    Record,
    /// A segment.
    Segment,
    /// A binding of the lanes.
    Binding,
    /// The head of a lane, or of all lanes.
    Chain,
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

impl Fault {
    /// The stable name, in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edited => "edited",
            Self::OtherMemo => "other_memo",
            Self::Missing => "missing",
            Self::BrokenLink => "broken_link",
            Self::Unsealed => "unsealed",
            Self::OtherHead => "other_head",
        }
    }
}

impl Kind {
    /// The stable name, in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Segment => "segment",
            Self::Binding => "binding",
            Self::Chain => "chain",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.fault.name(), self.kind.name(), self.key.pk(), self.key.sk())
    }
}
