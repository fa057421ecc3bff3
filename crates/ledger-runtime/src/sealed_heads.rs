//! The heads of a trail's lanes, and the last segments that this process knows to be whole.

use crate::dynamo::{Dynamo, ReadError};
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key};
use ledger_core::sealing::lanes::{Heads, LaneLink, Lanes, TrailHead};
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

/// The heads of a trail's lanes; `None` if they are not opened.
pub(crate) async fn heads(dynamo: &Dynamo, tenant: &Tenant) -> Result<Option<Heads>, ReadError> {
    let Some(head) = dynamo.get(&keys::lanes(tenant)).await? else { return Ok(None) };
    // A head that cannot be read is read again below, where that is an error.
    let count = TrailHead::read(tenant, &head).map_or(0, |head| head.lanes.count());
    let lanes: Vec<Key> = (0..count).map(|lane| keys::lane_head(tenant, lane)).collect();
    let lanes = if lanes.is_empty() { Vec::new() } else { dynamo.get_many(&lanes).await? };
    let items: Vec<Item> = [head].into_iter().chain(lanes.into_iter().flatten()).collect();
    match Heads::read(tenant, &items) {
        Ok(None) => Ok(None),
        Ok(Some(heads)) if heads.is_of_one_number() => Ok(Some(heads)),
        // Their number was raised while they were read, or an item is wrong.
        Ok(Some(_)) | Err(_) => Ok(heads_at_once(dynamo, tenant).await?.0),
    }
}

/// The heads of a trail's lanes as of one moment, and the lanes beyond their number that have a head.
pub(crate) async fn heads_at_once(dynamo: &Dynamo, tenant: &Tenant) -> Result<(Option<Heads>, Vec<u32>), ReadError> {
    let mut keys = vec![keys::lanes(tenant)];
    keys.extend((0..Lanes::MAX.count()).map(|lane| keys::lane_head(tenant, lane)));
    let items = dynamo.get_together(&keys).await?;
    let heads = Heads::read(tenant, &items.iter().flatten().cloned().collect::<Vec<_>>())?;
    let count = heads.as_ref().map_or(0, |heads| heads.trail.lanes.count());
    let beyond = (0..).zip(items.iter().skip(1)).filter(|(lane, item)| *lane >= count && item.is_some());
    Ok((heads, beyond.map(|(lane, _)| lane).collect()))
}
