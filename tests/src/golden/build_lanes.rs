//! Builds the transactions that seal the audit trail in lanes.

use super::build::Made;
use super::decode::World;
use ledger_core::dynamo::Item;
use ledger_core::keys::{self, Key, Shards};
use ledger_core::sealing::lanes::{Heads, LaneSegment};
use ledger_core::sealing::{Sealable, Sealing};
use ledger_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What is done with the lanes, as their heads were read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum LanesDoes {
    /// Opens the lanes of a trail.
    Open {},
    /// Seals as many of a lane's due records as fit in one transaction.
    Seal {
        /// The lane.
        lane: String,
        /// The time before which every act is sealed by that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acts_until: Option<String>,
    },
    /// Seals a lane's due entries, whose events were not taken.
    SealUnpublished {
        /// The lane.
        lane: String,
    },
    /// Binds the heads of all lanes, if that is due.
    Bind {},
    /// Doubles the number of lanes.
    Raise {},
    /// Finishes the segment after lane 0's head, of whose transaction a restore has left a part.
    FinishRestored {},
    /// Skips sealed acts.
    SkipActs {
        /// The time before which every act is sealed.
        until: String,
    },
}

pub(super) fn make(world: &World, does: &LanesDoes) -> Made {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let days = world.get(&keys::sealing(tenant)).map(|item| Sealing::read(item).unwrap());
    let heads = || {
        let of_heads = |key: &Key| key.sk().starts_with(keys::sk::SEAL_HEAD);
        let items: Vec<Item> =
            world.keys_of(|_| true).iter().filter(|key| of_heads(key)).map(|key| world.must(key).clone()).collect();
        Heads::read(tenant, &items).unwrap().expect("the lanes are opened")
    };
    let lane_of = |lane: &str| heads().lanes[lane.parse::<usize>().unwrap()].clone();
    let built = match does {
        LanesDoes::Open {} => Some(Heads::open(tenant, days.as_ref(), now).unwrap().1),
        LanesDoes::Seal { lane, acts_until } => {
            let head = lane_of(lane);
            let is_here = |record: &Sealable| head.lanes.lane_of(record.key()) == head.link.lane;
            let read = |key: Key| Sealable::read(tenant, world.must(&key)).unwrap();
            let waiting: Vec<Sealable> = world.keys_of(|_| true).into_iter().filter_map(read).filter(is_here).collect();
            let acts_until = acts_until.as_ref().map(|until| Timestamp::parse(until).unwrap());
            head.batch(tenant, &waiting, acts_until, now).unwrap().map(|batch| batch.transaction().clone())
        }
        LanesDoes::SealUnpublished { lane } => {
            let shards = Shards::new(2).unwrap();
            let read = |key: Key| Sealable::read(tenant, world.must(&key)).unwrap();
            let waiting = world.keys_of(|_| true).into_iter().filter_map(read);
            let waiting: Vec<Sealable> = waiting.map(|record| record.unpublished(tenant, shards)).collect();
            lane_of(lane).batch(tenant, &waiting, None, now).unwrap().map(|batch| batch.transaction().clone())
        }
        LanesDoes::FinishRestored {} => {
            let head = lane_of("0");
            let key = keys::lane_segment(tenant, 0, head.link.number + 1);
            let segment = LaneSegment::read(tenant, &key, world.must(&key)).unwrap();
            let items: Vec<Option<Item>> = segment.records.iter().map(|(key, _)| world.get(key).cloned()).collect();
            let batch = head.finish_restored(tenant, world.must(&key), &items).unwrap();
            batch.map(|batch| batch.transaction().clone())
        }
        LanesDoes::Bind {} => {
            let heads = heads();
            heads.is_binding_due(now).then(|| heads.bind(tenant, days.as_ref(), now).unwrap().1)
        }
        LanesDoes::Raise {} => heads().raise(tenant, days.as_ref(), now).unwrap().map(|(_, transaction)| transaction),
        LanesDoes::SkipActs { until } => {
            Some(lane_of("0").acts_sealed_until(tenant, Timestamp::parse(until).unwrap()).unwrap())
        }
    };
    built.map_or(Made::Nothing, Made::Whole)
}
