//! The end of an entry's publication: its mark becomes that of work to be sealed. The entry itself never
//! changes.

use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, Shards, Work, attr};
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Role, TransactItem, Transaction};

/// How many marks one transaction moves at most.
pub const MARKS_MAX: usize = MAX_ITEMS;

/// Moves the marks of entries that have been sent: from now on they are due to be sealed. What is no entry has
/// nothing more to wait for, and its mark goes. Whoever does it again changes nothing, or puts a mark back on
/// an entry that is sealed, which the sealing worker removes.
///
/// # Errors
/// [`BuildError`] for none, more than [`MARKS_MAX`], or one twice.
pub fn published(tenant: &Tenant, entries: &[Key], shards: Shards) -> Result<Transaction, BuildError> {
    let moved = |key: &Key| {
        // Without the guard an entry that is not there would be made, empty.
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
