//! The key of the settlement calendar.

use super::{Key, Partition};
use crate::ids::Tenant;

/// Up to which day the tenant's closing days were dealt with, and the schedules of its merchants.
#[must_use]
pub fn settlement_calendar(tenant: &Tenant) -> Key {
    Partition::tenant(tenant).item("CALENDAR")
}
