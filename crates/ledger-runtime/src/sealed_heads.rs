//! The last segments of lanes that this process knows to be whole.

use ledger_core::ids::Tenant;
use ledger_core::sealing::lanes::LaneLink;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last segment of each lane that this process has written, or found whole. If it is lost, they are read again.
#[derive(Debug, Default)]
pub(crate) struct SealedHeads(Mutex<BTreeMap<Tenant, BTreeMap<u32, LaneLink>>>);

impl SealedHeads {
    /// Whether this segment is the lane's last one that is known.
    pub(crate) fn has(&self, tenant: &Tenant, segment: &LaneLink) -> bool {
        self.locked().get(tenant).and_then(|lanes| lanes.get(&segment.lane)) == Some(segment)
    }

    pub(crate) fn add(&self, tenant: &Tenant, segment: LaneLink) {
        self.locked().entry(tenant.clone()).or_default().insert(segment.lane, segment);
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<Tenant, BTreeMap<u32, LaneLink>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
