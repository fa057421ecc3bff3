//! The key of a notice.

use super::{Key, Partition};
use crate::ids::{AuditId, Tenant};

/// A notice of a changed address. It is named by the audit record of the change. The reconciliation of an earlier release
/// knows items under `JOB#`, and reports items of unknown kinds.
#[must_use]
pub fn notice(tenant: &Tenant, id: AuditId) -> Key {
    Partition::tenant(tenant).item(format!("JOB#notice#{id}"))
}
