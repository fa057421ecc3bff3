use super::*;
use crate::chance::MILLISECOND;
use crate::scenarios::{Preparation, festival, one_wallet};

fn run(design: Design, rate: u64, seconds: u64) -> Outcome {
    Simulation::run(festival(design, rate, seconds, Preparation::AsAdvised, 1))
}

#[test]
fn outcome_follows_from_the_seed() {
    let setup = festival(Design::Credited, 200, 5, Preparation::AsAdvised, 7);
    assert_eq!(Simulation::run(setup), Simulation::run(setup));
    assert_ne!(Simulation::run(setup).offered, Simulation::run(Setup { seed: 8, ..setup }).offered);
}

#[test]
fn different_customers_never_conflict_at_any_rate() {
    for rate in [1, 100, 1_000, 5_000] {
        for preparation in [Preparation::AsAdvised, Preparation::None] {
            let outcome = Simulation::run(festival(Design::Credited, rate, 3, preparation, 1));
            assert_eq!(outcome.conflicts_between_customers, 0, "{outcome:#?}");
            assert_eq!(outcome.conflicts_with_workers, 0, "{outcome:#?}");
        }
    }
}

#[test]
fn payments_of_all_customers_conflict_where_they_write_one_balance() {
    let outcome = run(Design::Synchronous, 100, 5);
    assert!(outcome.conflicts_between_customers > 100 && outcome.refused() > 100, "{outcome:#?}");
    let sharded = run(Design::Sharded(64), 100, 5);
    assert!(sharded.refused() < outcome.refused() / 10, "{sharded:#?}");
}

#[test]
fn money_is_neither_made_nor_lost_and_each_payment_is_answered() {
    for design in Design::ALL {
        for preparation in [Preparation::AsAdvised, Preparation::None] {
            let outcome = Simulation::run(festival(design, 800, 4, preparation, 3));
            assert_eq!(outcome.money_difference, 0, "{outcome:#?}");
            assert_eq!(outcome.offered, outcome.applied + outcome.refused() + outcome.rejected, "{outcome:#?}");
        }
    }
}

#[test]
fn money_is_whole_when_the_run_ends_with_uncredited_payments() {
    let setup = Setup { drain: 0, ..festival(Design::Credited, 3_000, 2, Preparation::AsAdvised, 3) };
    let outcome = Simulation::run(setup);
    assert!(outcome.uncredited > 0, "{outcome:#?}");
    assert_eq!(outcome.money_difference, 0);
}

#[test]
fn every_payment_is_credited_once() {
    let outcome = run(Design::Credited, 300, 10);
    assert_eq!((outcome.uncredited, outcome.money_difference), (0, 0));
    assert_eq!((outcome.sealed, outcome.conflicts_with_workers, outcome.worker_conflicts), (outcome.applied, 0, 0));
    // The first tick is at 20 s, and the last of 3,000 entries is in the 32nd segment.
    assert!((15 * SECOND..26 * SECOND).contains(&outcome.lag_max), "{outcome:#?}");
    let fewest = outcome.applied.div_ceil(95);
    assert!((fewest..fewest + 2).contains(&outcome.crediting_batches), "{outcome:#?}");
}

#[test]
fn payments_that_the_customer_cannot_afford_are_rejected_and_take_nothing() {
    let setup = Setup { customer_balance: 50_000, ..one_wallet(10, 20, Arrivals::Even, 1) };
    let outcome = Simulation::run(setup);
    assert!(outcome.rejected > 100, "{outcome:#?}");
    assert_eq!(outcome.money_difference, 0);
}

#[test]
fn payments_of_one_wallet_conflict_only_if_they_overlap() {
    let slow = Simulation::run(one_wallet(1, 30, Arrivals::Even, 1));
    assert_eq!((slow.conflicts(), slow.refused()), (0, 0), "{slow:#?}");
    let fast = Simulation::run(one_wallet(20, 30, Arrivals::Even, 1));
    assert!(fast.conflicts_same_customer > 10, "{fast:#?}");
}

#[test]
fn request_that_only_conflicts_is_refused_after_three_retries() {
    let mut simulation = Simulation::new(one_wallet(1, 1, Arrivals::Even, 1));
    // A transaction that never ends holds the customer's balance.
    let holder = of_worker(vec![crate::designs::add(balance(0), 0)]);
    simulation.table.prepare(0, &holder).unwrap();
    simulation.after(0, Event::Arrival);
    while simulation.now < 20 * SECOND
        && let Some(Reverse(Scheduled { at, event, .. })) = simulation.queue.pop()
    {
        simulation.now = at;
        simulation.handle(event);
    }
    let counts = &simulation.counts;
    assert_eq!((counts.offered, counts.retries, counts.refused_after_conflicts), (1, 3, 1));
    assert_eq!(counts.conflicts_with_workers, 4);
    // Pauses of 50, 100 and 200 ms with up to half of it more, four attempts and a read.
    assert!(counts.answer_latency_max > (350 + 4 * 5) * MILLISECOND && counts.answer_latency_max < 1_500 * MILLISECOND);
}

#[test]
fn hot_partitions_are_split_during_a_run() {
    let setup = Setup {
        table: TableSetup { split_after: 2 * SECOND, ..festival(Design::Credited, 1, 1, Preparation::None, 1).table },
        ..festival(Design::Credited, 600, 20, Preparation::None, 1)
    };
    let outcome = Simulation::run(setup);
    assert!(outcome.refused_throttled > 0 && outcome.partitions[0] > 4, "{outcome:#?}");
}

#[test]
fn share_of_conflicts_is_that_of_a_loss_system() {
    // Erlang's formula for one server: an arrival finds the item held with probability load / (1 + load). Transactions
    // hold it for 30 ms on average, so at 2 a second the load is 0.060 and the probability 5.7 %; retries add a little.
    let setup = festival(Design::Synchronous, 2, 3_000, Preparation::AsAdvised, 1);
    let outcome = Simulation::run(setup);
    let share = outcome.conflicts() * 1_000 / outcome.offered;
    assert!((50..=72).contains(&share), "{share} of each thousand");
}

#[test]
fn trail_that_falls_behind_doubles_its_lanes() {
    let setup = festival(Design::Credited, 2_000, 60, Preparation::AsAdvised, 1);
    let one = Simulation::run(setup);
    // A run of 58 s seals some 48,000 of 120,000 entries with one lane, and the rest 2 s later with two.
    assert_eq!((one.lanes, one.uncredited), (2, 0), "{one:#?}");
    assert!((75_000..95_000).contains(&one.uncredited_max), "{one:#?}");
    let all = Simulation::run(Setup { lanes: 16, ..setup });
    assert_eq!((all.lanes, all.uncredited), (16, 0), "{all:#?}");
    // 20 s of entries wait at the first tick.
    assert!(all.uncredited_max < 45_000 && all.lag_max < one.lag_max, "{all:#?}");
}

#[test]
fn payment_that_follows_a_run_waits_for_the_next_tick() {
    let outcome = run(Design::Credited, 10, 60);
    assert!((55 * SECOND..=61 * SECOND).contains(&outcome.lag_max), "{outcome:#?}");
}
