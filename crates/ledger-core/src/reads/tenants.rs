//! Records in the tenant's own partition.

use super::accounts::newest;
use super::query::Query;
use super::range::SortRange;
use crate::ids::{RunId, Tenant};
use crate::keys::{self, Partition, sk};
use crate::time::Timestamp;
use uuid::Uuid;

/// Which acts of the staff are on record, newest first, after the act `after`?
#[must_use]
pub fn audit_records(tenant: &Tenant, after: Option<Uuid>) -> Query {
    newest(&Partition::tenant(tenant), sk::AUDIT, after)
}

/// Which acts of the staff have an id that was born at `from` or later?
#[must_use]
pub fn acts_from(tenant: &Tenant, from: Timestamp) -> Query {
    let (low, high) = Partition::audits_from(from);
    Query::partition(&Partition::tenant(tenant), SortRange::between(low, high))
}

/// Which reconciliations did the tenant have, newest first, after the run `after`?
#[must_use]
pub fn reconciliations(tenant: &Tenant, after: Option<Uuid>) -> Query {
    newest(&Partition::tenant(tenant), sk::RECONCILIATION, after)
}

/// Which breaks did a reconciliation find, after the finding `after`?
#[must_use]
pub fn breaks_of(tenant: &Tenant, run: RunId, after: Option<Uuid>) -> Query {
    let prefix = keys::break_prefix(run);
    let after = after.map(|id| format!("{prefix}{id}"));
    Query::partition(&Partition::tenant(tenant), SortRange::prefix(prefix)).after(after)
}

/// Which passes of a migration does the tenant have?
#[must_use]
pub fn migration_passes(tenant: &Tenant) -> Query {
    Query::partition(&Partition::tenant(tenant), SortRange::prefix(sk::MIGRATION))
}
