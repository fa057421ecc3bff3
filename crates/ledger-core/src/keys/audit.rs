//! The keys of an audit record, and of the notice of a change that it records.

use super::{Key, Partition, sk};
use crate::ids::{AuditId, Tenant};

/// An audit record.
#[must_use]
pub fn audit(tenant: &Tenant, id: AuditId) -> Key {
    Partition::tenant(tenant).item(format!("{}{id}", sk::AUDIT))
}

/// A notice of a changed address, named by the audit record of the change. Its prefix begins with that of jobs.
#[must_use]
pub fn notice(tenant: &Tenant, id: AuditId) -> Key {
    Partition::tenant(tenant).item(format!("JOB#notice#{id}"))
}
