//! The keys of staff: records of members, in the partition of the tenant or of the merchant, and commands that await
//! approval.

use super::{Key, Partition, sk};
use crate::ids::{ApprovalId, Employer, StaffId, Tenant, millis_of};
use crate::time::{Timestamp, UtcMonth};
use uuid::Uuid;

/// The prefix of commands that another person must approve.
pub const APPROVAL: &str = "APPROVAL#";

impl Partition {
    /// The partition of a staff member's idempotency markers.
    pub(super) fn staff(tenant: &Tenant, id: StaffId) -> Self {
        Self::of(tenant, "staff", id)
    }

    /// The partition that has the records of an employer's staff.
    #[must_use]
    pub fn employer(tenant: &Tenant, employer: Employer) -> Self {
        match employer {
            Employer::Operator => Self::tenant(tenant),
            Employer::Merchant(id) => Self::merchant(tenant, id),
        }
    }
}

/// A staff member's record.
#[must_use]
pub fn staff_member(tenant: &Tenant, employer: Employer, id: StaffId) -> Key {
    Partition::employer(tenant, employer).item(format!("{}{id}", sk::STAFF))
}

/// The prefix of the items that keep a person from having two records with one employer.
pub const PERSON: &str = "PERSON#";

/// The item that keeps a person from having two records with one employer. Its name has a keyed hash of the person's e-mail
/// address, and the id of the key.
#[must_use]
pub fn person(tenant: &Tenant, employer: Employer, (key, hash): (&str, &[u8; 32])) -> Key {
    Partition::employer(tenant, employer).item(format!("{PERSON}{key}#{}", hex::encode(hash)))
}

/// How many active owners and deciders an employer's staff has.
#[must_use]
pub fn staff_counts(tenant: &Tenant, employer: Employer) -> Key {
    Partition::employer(tenant, employer).item("STAFF_COUNTS")
}

/// How many denials of a person are recorded in an hour, which is counted from the epoch.
#[must_use]
pub fn denials(tenant: &Tenant, employer: Employer, id: StaffId, hour: i64) -> Key {
    Partition::employer(tenant, employer).item(format!("DENIED#{id}#{hour}"))
}

/// The last recovery of the tenant's owners.
#[must_use]
pub fn owner_recovery(tenant: &Tenant) -> Key {
    Partition::tenant(tenant).item("OWNER_RECOVERY")
}

impl Partition {
    /// The inbox of a month: the commands whose ids have a time in it.
    #[must_use]
    pub fn approvals(tenant: &Tenant, month: UtcMonth) -> Self {
        Self::of(tenant, "approvals", month)
    }
}

/// The month of the inbox that has a command, by the time in its id.
#[must_use]
pub fn month_of_approval(id: Uuid) -> UtcMonth {
    Timestamp::from_millis(millis_of(id)).utc_month()
}

/// A command that another person must approve.
#[must_use]
pub fn approval(tenant: &Tenant, id: ApprovalId) -> Key {
    Partition::approvals(tenant, month_of_approval(id.uuid())).item(format!("{APPROVAL}{id}"))
}

/// The smallest and the largest sort key of the commands that were requested at `from` or later.
#[must_use]
pub fn approvals_from(from: Timestamp) -> (String, String) {
    (format!("{APPROVAL}{}", crate::ids::least_born_at(from)), format!("{APPROVAL}~"))
}
