//! The keys of an audit record, and of the notice of a change that it records.

use super::{Key, Partition, sk};
use crate::ids::{AuditId, Tenant};

/// An audit record.
#[must_use]
pub fn audit(tenant: &Tenant, id: AuditId) -> Key {
    Partition::tenant(tenant).item(format!("{}{id}", sk::AUDIT))
}

/// A notice of a changed address. It is named by the audit record of the change. The reconciliation of an earlier release
/// knows items under `JOB#`, and reports items of unknown kinds.
#[must_use]
pub fn notice(tenant: &Tenant, id: AuditId) -> Key {
    Partition::tenant(tenant).item(format!("JOB#notice#{id}"))
}
