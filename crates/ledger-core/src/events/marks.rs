//! The end of an entry's publication: its due index entry says that it is only to be sealed. The journal entry itself
//! never changes.

use crate::dynamo::{Condition, Update};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, DueKeys, Key, Shards, attr};
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Role, TransactItem, Transaction};

/// The most due index entries that one transaction changes.
pub const MARKS_MAX: usize = MAX_ITEMS;

/// Records in the due index entries of published entries that these are only to be sealed. An item that is no journal entry
/// needs no sealing: its due index entry is removed. Running it again changes nothing, except on an entry that is sealed
/// already: there it restores the due index entry, which the sealing worker removes.
///
/// # Errors
/// [`BuildError`] for no entry, more than [`MARKS_MAX`] entries, or an entry given twice.
pub fn published(tenant: &Tenant, entries: &[Key], shards: Shards) -> Result<Transaction, BuildError> {
    let moved = |key: &Key| {
        // Without the guard, the update would create an empty item for an entry that does not exist.
        let clause = Clause { condition: Condition::exists(attr::PK), failure: Failure::StalePlan };
        let update = match key.entry() {
            Some((_, id)) => DueKeys::published((tenant, keys::shard_of(id.uuid(), shards)), id).set(Update::new()),
            None => Update::new().remove(attr::DUE_PK).remove(attr::DUE_SK),
        };
        TransactItem::update(Role::Journal, key.clone(), update, vec![clause])
    };
    Transaction::unkeyed(entries.iter().map(moved).collect())
}
