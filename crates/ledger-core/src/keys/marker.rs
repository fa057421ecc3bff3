//! Keys of markers: those that callers chose, and those that the ledger derived.

use super::{Key, Partition};
use crate::ids::{Principal, Tenant};
use crate::operation::Operation;

/// The prefix of the sort keys of markers whose keys callers chose.
pub(crate) const CALLERS_MARKER: &str = "card_op_idem#";

/// The prefix of the sort keys of markers whose keys the ledger derived.
pub(crate) const LEDGERS_MARKER: &str = "ledger_idem#";

/// A key under which a marker is stored.
pub trait MarkedKey {
    /// Whether the ledger derived it.
    fn is_derived(&self) -> bool;

    /// Its text.
    fn text(&self) -> &str;
}

/// The key of a journal entry, and of the marker of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryKey {
    /// Its text.
    pub text: String,
    /// Whether the ledger derived it.
    pub is_derived: bool,
}

impl MarkedKey for EntryKey {
    fn is_derived(&self) -> bool {
        self.is_derived
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// A principal's idempotency marker.
#[must_use]
pub fn marker(tenant: &Tenant, principal: Principal, operation: Operation, key: &impl MarkedKey) -> Key {
    let prefix = if key.is_derived() { LEDGERS_MARKER } else { CALLERS_MARKER };
    Partition::principal(tenant, principal).item(format!("{prefix}{operation}#{}", key.text()))
}
