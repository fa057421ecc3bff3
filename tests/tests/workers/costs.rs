//! What becomes of an operation's records costs as listed: for many at once, and for one.
use ledger_tests::costs::{Costs, life};

/// Acts are in four shards, by their ids: each shard's page is rounded up by itself, to half a unit.
const SHARDS_VARY_HALVES: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_life_costs_as_listed() {
    let kept = Costs::read();
    let (mut lives, storage) = life::measure().await;
    for step in &mut lives {
        let listed = kept.lives.iter().find(|of| (&of.operation, &of.step) == (&step.operation, &step.step));
        let Some(listed) = listed else { continue };
        for (measured, listed) in [(&mut step.busy, &listed.busy), (&mut step.thin, &listed.thin)] {
            if measured.read_halves.abs_diff(listed.read_halves) <= SHARDS_VARY_HALVES {
                measured.read_halves = listed.read_halves;
            }
        }
    }
    Costs { lives, storage, ..kept.clone() }.check(&kept);
}
