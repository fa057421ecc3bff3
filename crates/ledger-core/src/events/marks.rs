//! The end of an entry's publication: its mark goes. The entry itself never changes.

use crate::dynamo::{Condition, Update};
use crate::failure::Failure;
use crate::keys::{Key, attr};
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Role, TransactItem, Transaction};

/// How many marks one transaction removes at most.
pub const MARKS_MAX: usize = MAX_ITEMS;

/// Removes the marks of entries that have been sent. Whoever does it again changes nothing.
///
/// # Errors
/// [`BuildError`] for none, more than [`MARKS_MAX`], or one twice.
pub fn removal(entries: &[Key]) -> Result<Transaction, BuildError> {
    let removed = |key: &Key| {
        // Without the guard an entry that is not there would be made, empty.
        let clause = Clause { condition: Condition::exists(attr::PK), failure: Failure::StalePlan };
        let update = Update::new().remove(attr::DUE_PK).remove(attr::DUE_SK);
        TransactItem::update(Role::Journal, key.clone(), update, vec![clause])
    };
    Transaction::unkeyed(entries.iter().map(removed).collect())
}
