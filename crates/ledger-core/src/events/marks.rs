//! The end of an entry's publication: its due index entry moves to the work of sealing. The journal entry itself
//! never changes.

use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, Shards, Work, attr};
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Role, TransactItem, Transaction};

/// The most due index entries that one transaction moves.
pub const MARKS_MAX: usize = MAX_ITEMS;

/// Moves the due index entries of published entries to the work of sealing. An item that is no journal entry needs no
/// sealing: its due index entry is removed. Running it again changes nothing, except on an entry that is sealed
/// already: there it restores the due index entry, which the sealing worker removes.
///
/// # Errors
/// [`BuildError`] for no entry, more than [`MARKS_MAX`] entries, or an entry given twice.
pub fn published(tenant: &Tenant, entries: &[Key], shards: Shards) -> Result<Transaction, BuildError> {
    let moved = |key: &Key| {
        // Without the guard, the update would create an empty item for an entry that does not exist.
        let clause = Clause { condition: Condition::exists(attr::PK), failure: Failure::StalePlan };
        let update = match key.entry() {
            Some((_, id)) => {
                let due = keys::due_partition(tenant, Work::Seal, keys::shard_of(id.uuid(), shards));
                Update::new().set(attr::DUE_PK, "due_pk", Value::S(due)).set(attr::DUE_SK, "due_sk", Value::s(id))
            }
            None => Update::new().remove(attr::DUE_PK).remove(attr::DUE_SK),
        };
        TransactItem::update(Role::Journal, key.clone(), update, vec![clause])
    };
    Transaction::unkeyed(entries.iter().map(moved).collect())
}
