//! Keys of the jobs that erase texts.

use super::{Key, Partition};
use crate::ids::{JobId, Tenant};

/// A job that erases the texts of a customer.
#[must_use]
pub fn erasure(tenant: &Tenant, id: JobId) -> Key {
    Partition::tenant(tenant).item(format!("JOB#erasure#{id}"))
}
