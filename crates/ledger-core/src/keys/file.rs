//! Keys of the files that staff ask for.

use super::{Key, Partition};
use crate::ids::{JobId, Tenant};

/// The prefix of the jobs that make files.
pub const FILE: &str = "JOB#file#";

/// A job that makes a file.
#[must_use]
pub fn file(tenant: &Tenant, id: JobId) -> Key {
    Partition::tenant(tenant).item(format!("{FILE}{id}"))
}
