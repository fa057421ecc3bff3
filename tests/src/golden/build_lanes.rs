//! Builds the transactions that seal the audit trail in lanes.

use super::build::Made;
use super::decode::World;
use ledger_core::crediting::{EntryCredit, LaneCredits, VolumeLimits};
use ledger_core::dynamo::Item;
use ledger_core::keys::{self, Key, Shards};
use ledger_core::sealing::Sealable;
use ledger_core::sealing::lanes::{Binding, Finishing, Heads, LaneHead, LaneSegment, Unbound, WrittenSegment};
use ledger_core::terms::TenantTerms;
use ledger_core::time::Timestamp;
use ledger_core::transaction::Transaction;
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
    /// Finishes the last segment of lane 0, of whose transaction a restore has left a part.
    FinishLast {},
    /// Skips sealed acts.
    SkipActs {
        /// The time before which every act is sealed.
        until: String,
    },
}

pub(super) fn make(world: &World, does: &LanesDoes) -> Made {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let heads = || {
        let of_heads = |key: &Key| [keys::sk::LANES, keys::sk::LANE_HEAD].contains(&key.sk());
        let items: Vec<Item> =
            world.keys_of(|_| true).iter().filter(|key| of_heads(key)).map(|key| world.must(key).clone()).collect();
        Heads::read(tenant, &items).unwrap().expect("the lanes are opened")
    };
    let lane_of = |lane: &str| heads().lanes[lane.parse::<usize>().unwrap()].clone();
    let built = match does {
        LanesDoes::Open {} => Some(Heads::open(tenant, now).unwrap().1),
        LanesDoes::Seal { lane, acts_until } => {
            let head = lane_of(lane);
            let is_here = |record: &Sealable| head.lanes.lane_of(record.key()) == head.link.lane;
            let read = |key: Key| Sealable::read(tenant, world.must(&key)).unwrap();
            let waiting: Vec<Sealable> = world.keys_of(|_| true).into_iter().filter_map(read).filter(is_here).collect();
            let acts_until = acts_until.as_ref().map(|until| Timestamp::parse(until).unwrap());
            let credits = credits(world, head.link.lane, &waiting);
            head.batch(tenant, &waiting, &credits, acts_until, now).unwrap().map(|batch| batch.transaction().clone())
        }
        LanesDoes::SealUnpublished { lane } => {
            let shards = Shards::new(2).unwrap();
            let read = |key: Key| Sealable::read(tenant, world.must(&key)).unwrap();
            let waiting = world.keys_of(|_| true).into_iter().filter_map(read);
            let waiting: Vec<Sealable> = waiting.map(|record| record.unpublished(tenant, shards)).collect();
            let head = lane_of(lane);
            let credits = credits(world, head.link.lane, &waiting);
            head.batch(tenant, &waiting, &credits, None, now).unwrap().map(|batch| batch.transaction().clone())
        }
        LanesDoes::FinishRestored {} => finish(world, &lane_of("0"), 1),
        LanesDoes::FinishLast {} => finish(world, &lane_of("0"), 0),
        LanesDoes::Bind {} => {
            let heads = heads();
            heads.is_binding_due(now).then(|| heads.bind(tenant, &unbound(world, &heads), now).unwrap().1)
        }
        LanesDoes::Raise {} => {
            let heads = heads();
            heads.raise(tenant, &unbound(world, &heads), now).unwrap().map(|(_, transaction)| transaction)
        }
        LanesDoes::SkipActs { until } => {
            Some(lane_of("0").acts_sealed_until(tenant, Timestamp::parse(until).unwrap()).unwrap())
        }
    };
    built.map_or(Made::Nothing, Made::Whole)
}

/// The segments since the last binding.
fn unbound(world: &World, heads: &Heads) -> Unbound {
    let (tenant, last) = (&world.tenant, &heads.trail.last);
    let key = keys::binding(tenant, last.day, last.number);
    let mut unbound = heads.unbound(&Binding::read(tenant, &key, world.must(&key)).unwrap());
    for (lane, range) in (0..).zip(unbound.ranges().to_vec()) {
        for key in (range.first..=range.last).map(|number| keys::lane_segment(tenant, lane, number)) {
            assert!(unbound.add(&LaneSegment::link(tenant, &key, world.must(&key)).unwrap()));
        }
    }
    unbound
}

/// What finishes the segment of this head, or that so many after it.
fn finish(world: &World, head: &LaneHead, after: u64) -> Option<Transaction> {
    let tenant = &world.tenant;
    let key = keys::lane_segment(tenant, head.link.lane, head.link.number + after);
    let segment = LaneSegment::read(tenant, &key, world.must(&key)).unwrap();
    let records: Vec<Option<Item>> = segment.records.iter().map(|(key, _)| world.get(key).cloned()).collect();
    let credited = records.iter().flatten().filter_map(|record| EntryCredit::read(record).unwrap());
    let credits = credits_of(world, head.link.lane, credited);
    let written = WrittenSegment { item: world.must(&key), records: &records, credits: &credits };
    match head.finish(tenant, written, world.cx.now).unwrap() {
        Finishing::Torn(batch) => Some(batch.transaction().clone()),
        Finishing::Whole | Finishing::Unreadable => None,
    }
}

/// The open periods of the merchants that these records credit.
fn credits(world: &World, lane: u32, waiting: &[Sealable]) -> LaneCredits {
    credits_of(world, lane, waiting.iter().filter_map(Sealable::credit).cloned())
}

fn credits_of(world: &World, lane: u32, credited: impl Iterator<Item = EntryCredit>) -> LaneCredits {
    let terms = world.get(&keys::config(&world.tenant)).map(|config| TenantTerms::read(config, world.cx.now).unwrap());
    let volumes = VolumeLimits::of(terms.and_then(|terms| terms.limits).as_ref());
    let mut credits = LaneCredits::new(lane).counting(volumes);
    for (merchant, key) in credits.unread(&world.tenant, credited.map(|credit| credit.merchant)) {
        credits.read(merchant, world.get(&key)).unwrap();
    }
    credits
}
