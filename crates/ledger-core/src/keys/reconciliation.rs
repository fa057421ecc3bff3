//! The keys of reconciliations, all in the tenant's own partition.

use super::{Key, Partition, sk};
use crate::ids::{FindingId, RunId, SettlementId, Tenant};
use crate::operation::Operation;

/// A reconciliation run.
#[must_use]
pub fn reconciliation(tenant: &Tenant, id: RunId) -> Key {
    Partition::tenant(tenant).item(format!("{}{id}", sk::RECONCILIATION))
}

/// A break that a run found.
#[must_use]
pub fn found_break(tenant: &Tenant, run: RunId, id: FindingId) -> Key {
    Partition::tenant(tenant).item(format!("{}{id}", break_prefix(run)))
}

/// The prefix of the sort keys of the breaks of all runs.
pub const BREAK: &str = "BREAK#";

/// The prefix of the sort keys of a run's breaks.
#[must_use]
pub fn break_prefix(run: RunId) -> String {
    format!("{BREAK}{run}#")
}

/// The run of a break, by the break's sort key; `None` for any other sort key.
#[must_use]
pub fn run_of_break(sort_key: &str) -> Option<RunId> {
    let (run, _) = sort_key.strip_prefix(BREAK)?.split_once('#')?;
    RunId::parse(run).ok()
}

/// The prefix of the sort keys of a customer's top-up markers.
#[must_use]
pub fn topup_markers() -> String {
    format!("card_op_idem#{}#", Operation::Topup)
}

/// The prefix of the sort keys of the lists of a settlement's records.
#[must_use]
pub fn settled_prefix(id: SettlementId) -> String {
    format!("{}{id}#", sk::SETTLED)
}
