//! The key of a notice.

use super::{Key, Partition};
use crate::ids::{AuditId, Tenant};

/// A notice of a changed address. It is named by the audit record of the change.
#[must_use]
pub fn notice(tenant: &Tenant, id: AuditId) -> Key {
    Partition::of(tenant, "notice", id).item("NOTICE")
}
