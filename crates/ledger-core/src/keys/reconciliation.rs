//! The keys of reconciliations: a partition for each run, with the breaks that it found.

use super::{Key, Partition, sk};
use crate::ids::{FindingId, RunId, SettlementId, Tenant};
use crate::operation::Operation;

/// The kind of the partitions of runs.
const RUN: &str = "reconciliation";
/// The prefix of the sort keys of breaks.
pub const BREAK: &str = "BREAK#";

impl Partition {
    /// A reconciliation run and the breaks that it found.
    #[must_use]
    pub fn reconciliation(tenant: &Tenant, id: RunId) -> Self {
        Self::of(tenant, RUN, id)
    }
}

/// A reconciliation run.
#[must_use]
pub fn reconciliation(tenant: &Tenant, id: RunId) -> Key {
    Partition::reconciliation(tenant, id).item("RECONCILIATION")
}

/// A break that a run found.
#[must_use]
pub fn found_break(tenant: &Tenant, run: RunId, id: FindingId) -> Key {
    Partition::reconciliation(tenant, run).item(format!("{BREAK}{id}"))
}

/// The run of a break, by the break's partition key; `None` for any other partition.
#[must_use]
pub fn run_of_break(partition_key: &str) -> Option<RunId> {
    let (kind, run) = partition_key.split_once('#')?.1.split_once('#')?;
    if kind == RUN { RunId::parse(run).ok() } else { None }
}

/// The partition of the index by owner that lists a tenant's runs by id: one shard, because they are rarely written.
#[must_use]
pub fn reconciliations_partition(tenant: &Tenant) -> String {
    format!("{tenant}#reconciliations#0")
}

/// The partition of the index by owner that lists the breaks of all runs by [`break_place`].
#[must_use]
pub fn breaks_partition(tenant: &Tenant) -> String {
    format!("{tenant}#breaks#0")
}

/// The sort key of a break in the list of all: by run, then by break.
#[must_use]
pub fn break_place(run: RunId, id: FindingId) -> String {
    format!("{run}#{id}")
}

/// The prefix of the sort keys of a customer's top-up markers.
#[must_use]
pub fn topup_markers() -> String {
    format!("{}{}#", super::CALLERS_MARKER, Operation::Topup)
}

/// The prefix of the sort keys of the lists of a settlement's records.
#[must_use]
pub fn settled_prefix(id: SettlementId) -> String {
    format!("{}{id}#", sk::SETTLED)
}
