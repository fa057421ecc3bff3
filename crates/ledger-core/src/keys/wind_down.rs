//! Keys of winding down a tenant.

use super::{Key, Partition};
use crate::account::Account;
use crate::ids::{JobId, Tenant};

/// The prefix of the jobs.
pub const WIND_DOWN: &str = "JOB#wind_down#";
/// The prefix of the lines of all jobs.
const LINE: &str = "JOB#wind_down_line#";

/// A job that closes every card and customer.
#[must_use]
pub fn wind_down(tenant: &Tenant, id: JobId) -> Key {
    Partition::tenant(tenant).item(format!("{WIND_DOWN}{id}"))
}

/// The prefix of the lines of a job: of all, or of those in one state.
#[must_use]
pub fn wind_down_lines(id: JobId, state: Option<&str>) -> String {
    match state {
        Some(state) => format!("{LINE}{id}#{state}#"),
        None => format!("{LINE}{id}#"),
    }
}

/// The line of an account in a job.
#[must_use]
pub fn wind_down_line(tenant: &Tenant, id: JobId, state: &str, account: Account) -> Key {
    Partition::tenant(tenant).item(format!("{}{account}", wind_down_lines(id, Some(state))))
}
