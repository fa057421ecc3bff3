//! The key of a window of requests.

use super::{Key, Partition};
use crate::ids::Tenant;
use crate::time::Timestamp;

/// The number of a tenant's requests leased in the window that begins at `starts_at`: a partition for each window.
#[must_use]
pub fn rate(tenant: &Tenant, starts_at: Timestamp) -> Key {
    Partition::of(tenant, "rate", starts_at.seconds()).item("RATE")
}
