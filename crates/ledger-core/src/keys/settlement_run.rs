//! Keys of the runs that close merchants' periods.

use super::{Key, Partition};
use crate::ids::{JobId, MerchantId, Tenant};

/// The prefix of the runs.
pub const SETTLEMENT_RUN: &str = "JOB#settlement_run#";
/// The prefix of the lines of all runs.
const LINE: &str = "JOB#settlement_run_line#";

/// A run that closes the periods of all merchants whose schedule closes on a day.
#[must_use]
pub fn settlement_run(tenant: &Tenant, id: JobId) -> Key {
    Partition::tenant(tenant).item(format!("{SETTLEMENT_RUN}{id}"))
}

/// The prefix of the lines of a run.
#[must_use]
pub fn settlement_run_lines(id: JobId) -> String {
    format!("{LINE}{id}#")
}

/// The line of a merchant in a run.
#[must_use]
pub fn settlement_run_line(tenant: &Tenant, id: JobId, merchant: MerchantId) -> Key {
    Partition::tenant(tenant).item(format!("{}{merchant}", settlement_run_lines(id)))
}

/// Up to which day the tenant's closing days were dealt with, and the schedules of its merchants.
#[must_use]
pub fn settlement_calendar(tenant: &Tenant) -> Key {
    Partition::tenant(tenant).item("CALENDAR")
}
